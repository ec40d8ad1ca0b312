"""Every notebook runs from top to bottom, and is saved with what it shows."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
NOTEBOOKS = pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.ipynb")), ids=lambda path: path.stem)
TOUR = EXPERIMENTS / "tour.ipynb"


@NOTEBOOKS
def test_notebook_runs(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    assert all(cell["execution_count"] for cell in notebook.cells if cell["cell_type"] == "code")


@NOTEBOOKS
def test_notebook_is_saved_with_its_outputs(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    found = outputs(path)
    assert not [output for output in found if output["output_type"] == "error" or output.get("name") == "stderr"]


def test_tour_shows_pictures_and_is_small():
    assert sum("image/png" in output.get("data", {}) for output in outputs(TOUR)) >= 5
    assert TOUR.stat().st_size < 700_000


def outputs(path):
    """Outputs of all cells of a notebook."""
    return [output for cell in nbformat.read(path, as_version=4).cells for output in cell.get("outputs", [])]
