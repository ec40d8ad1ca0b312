"""The notebook runs from top to bottom, and is saved with what it shows."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

TOUR = Path(__file__).parents[1] / "experiments" / "tour.ipynb"


def test_tour_runs(tmp_path):
    notebook = nbformat.read(TOUR, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    assert all(cell["execution_count"] for cell in notebook.cells if cell["cell_type"] == "code")


def test_tour_is_saved_with_its_outputs():
    notebook = nbformat.read(TOUR, as_version=4)
    cells = [cell for cell in notebook.cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 5
    assert TOUR.stat().st_size < 400_000
