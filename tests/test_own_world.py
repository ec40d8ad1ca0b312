"""The world of the guide, in a file on the path: it runs from TOML and Python, and is shown under its own name."""

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ciabench import NaiveBayes, learning_curve, plot_curves
from ciabench.cli import main
from ciabench.findings.regression import compare
from ciabench.lab.storage.rows import read

GUIDE = Path(__file__).parents[1] / "docs" / "guides" / "world.md"
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
SOURCE = next(block for block in BLOCKS if "(World)" in block)
TOML = """
name = "own"
seed = 1
trials = 3
sizes = [30, 300]
learners = ["NaiveBayes", "Perceptron"]
[[worlds]]
use = "my_world:AtLeast"
noise = [0.1, 0.2]
"""
NAMES = ["AtLeast", "AtLeast(noise=0.2)"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the world, in which its experiment has been run."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "my_world.py").write_text(SOURCE)
    (folder / "own.toml").write_text(TOML)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path, str(folder)])
        ran = ciabench("run", "own.toml", "--quiet")
        assert ran.exit_code == 0, ran.output
        yield folder
    sys.modules.pop("my_world", None)


def ciabench(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_the_world_is_short():
    assert len(SOURCE.splitlines()) <= 25


def test_it_runs_from_toml_and_from_python_with_the_same_numbers(folder):
    from my_world import AtLeast

    stored = read("results/own.db").rows
    assert list(stored["world"].unique()) == NAMES
    assert set(stored.columns) >= {"n", "k", "noise"}
    rows = learning_curve(AtLeast(noise=0.2), {"NaiveBayes": NaiveBayes()}, sizes=[30, 300], trials=3, random_state=1)
    compared = compare(rows, stored, exact=True)
    assert compared.verdict == "same", compared.report()
    assert "AtLeast(noise=0.2) NaiveBayes: same" in compared.report()
    assert plot_curves(rows).get_title() == "AtLeast(noise=0.2)"


def test_figures_page_and_comparison_show_it_under_its_name(folder):
    assert ciabench("figures", "results/own.db", "--out", "figures").exit_code == 0
    drawn = (folder / "figures" / "overview.svg").read_text()
    assert (folder / "figures" / "fig2.png").stat().st_size > 1000
    assert ciabench("report", "results/own.db", "--out", "own.html").exit_code == 0
    page = (folder / "own.html").read_text()
    compared = ciabench("compare", "results/own.db", "results/own.db", "--exact").output
    for name in NAMES:
        assert f"<!-- {name} -->" in drawn
        assert f'"{name}"' in page
        assert f"{name} NaiveBayes: same" in compared


def test_claims_say_that_there_is_none_to_test(folder):
    result = ciabench("claims", "results/own.db")
    assert result.exit_code == 0
    assert result.output == "These rows hold none of the paper's worlds, so there is no claim to test.\n"
