"""What one user can receive from another runs no code when it is opened."""

import sys
from pathlib import Path

import pytest
from harness import TOML, asked, experiment, refusal

from ciabench import CIAFamily, NaiveBayes, learning_curve
from ciabench.errors import ExperimentError
from ciabench.lab.plan.learner import find_class
from ciabench.lab.storage.results import Results
from ciabench.lab.session import run_experiment
from ciabench.lab.storage.store import Store
from ciabench.lab.compute.trial import CellRow, ScoreRow

SOURCE = Path(__file__).parents[2] / "src" / "ciabench"
TRAP = "from pathlib import Path\nPath('sprung').touch()\nfrom hostile import Majority\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A current folder with a module that leaves a trace when it is imported, and a folder elsewhere."""
    (tmp_path / "here").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "here" / "trap.py").write_text(TRAP)
    toml = TOML.replace('"NaiveBayes"', '"trap:Majority"').replace("60", "1")
    for folder in ("here", "elsewhere"):
        (tmp_path / folder / "faults.toml").write_text(toml)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "here")])
    yield tmp_path
    forget()


def forget():
    """Have the trap imported anew by whoever does."""
    sys.modules.pop("trap", None)
    find_class.cache_clear()


def test_a_file_from_elsewhere_imports_nothing_unless_that_is_allowed(here):
    elsewhere = here / "elsewhere" / "faults.toml"
    told = refusal(asked("run", elsewhere))
    assert told == f"Error: {elsewhere}: imports trap:Majority; give --allow-imports if you trust them."
    assert not Path("sprung").exists()
    allowed = asked("run", elsewhere, "--allow-imports")
    assert allowed.returncode == 0
    assert allowed.stderr.startswith(f"{elsewhere}: imports trap:Majority.\n")
    assert Path("sprung").exists()


def test_a_file_of_the_current_folder_says_what_it_imports(here):
    assert asked("run", "faults.toml").stderr.startswith("faults.toml: imports trap:Majority.\n")
    assert asked("run", "faults.toml", "--quiet").stderr == ""


def test_a_store_counts_as_received_wherever_it_lies(here):
    asked("run", "faults.toml")
    Path("sprung").unlink()
    forget()
    for command in (["status"], ["export", "--to", "csv"], ["report"]):
        assert asked(command[0], "results/faults.db", *command[1:]).returncode == 0
    assert "give --allow-imports" in refusal(asked("run", "--from", "results/faults.db", "--out", "again"))
    assert not Path("sprung").exists()


def test_a_link_does_not_bring_a_file_into_the_current_folder(here):
    Path("faults.toml").unlink()
    Path("faults.toml").symlink_to(here / "elsewhere" / "faults.toml")
    assert "give --allow-imports" in refusal(asked("run", "faults.toml"))


def test_pickles_only_pass_between_a_guard_and_its_child():
    users = {path.name for path in SOURCE.rglob("*.py") if "pickle" in path.read_text(encoding="utf-8")}
    assert users == {"guard.py"}


def test_a_store_trusts_no_schema_and_names_are_values(tmp_path):
    name = "'); DROP TABLE score; --"
    run_experiment(experiment(learners=[{"use": "NaiveBayes", "name": name}], trials=1), tmp_path, progress="silent")
    assert set(Results(tmp_path / "faults.db").rows()["learner"]) == {name}
    with Store(tmp_path / "faults.db") as store:
        assert store._value("PRAGMA trusted_schema") == 0


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", "_hidden"])
def test_no_learner_is_called_what_a_spreadsheet_would_run_or_a_legend_would_drop(name):
    with pytest.raises(ExperimentError, match="can not be called"):
        experiment(learners=[{"use": "NaiveBayes", "name": name}]).plan()
    with pytest.raises(ExperimentError, match="can not be called"):
        learning_curve(CIAFamily(10, 2, 0.9), {name: NaiveBayes()}, sizes=[10], trials=1)


def test_no_table_is_made_of_a_store_with_such_a_name(tmp_path, monkeypatch):
    with monkeypatch.context() as lenient:
        lenient.setattr("ciabench.lab.plan.learner.NO_FIRST_CHARACTERS", ())
        named = [{"use": "NaiveBayes", "name": "=HYPERLINK(1)"}]
        run_experiment(experiment(learners=named, trials=1), tmp_path, progress="silent")
    assert "can not be called '=HYPERLINK(1)'" in refusal(asked("export", tmp_path / "faults.db", "--to", "csv"))


def test_what_failed_is_told_without_what_a_terminal_would_obey(tmp_path):
    small = experiment(learners=["NaiveBayes"], sizes=[10], trials=1)
    with Store.continued(tmp_path / "faults.db", small.spec(), small.plan(), {}) as store:
        store.add(CellRow(0, 0, None, 0.1, [ScoreRow(0, 10, "\x1b]0;title\x07")], 0.8, 0.7, 0.9, 1))
        store.add(CellRow(1, 0, None, 0.1, [ScoreRow(0, 10, " \n ")], 0.8, 0.7, 0.9, 1))
    told = asked("status", tmp_path / "faults.db").stdout
    assert "NaiveBayes: ?]0;title?\n" in told
    assert "NaiveBayes: unknown\n" in told
