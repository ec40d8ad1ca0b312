"""What one user can receive from another runs no code when it is opened."""

import ast
import pickle
import re
import sys
from pathlib import Path

import pandas as pd
import pytest
from harness import TOML, asked, experiment, refusal

from ciabench import CIAFamily, NaiveBayes, Table, kernels, learning_curve
from ciabench.errors import ExperimentError
from ciabench.lab.plan import registry
from ciabench.lab.plan.outcome import CellOutcome, ScoreOutcome
from ciabench.lab.session import run_experiment
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.store import Store

SOURCE = Path(__file__).parents[2] / "src" / "ciabench"
NAMED_WORLD = """
from dataclasses import dataclass
from ciabench import World

@dataclass(frozen=True)
class Named(World):
    called: str

    @property
    def name(self):
        return self.called

    def task(self, seed): ...
"""
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
    registry._find.cache_clear()


def test_a_file_from_elsewhere_imports_nothing_unless_that_is_allowed(here):
    elsewhere = here / "elsewhere" / "faults.toml"
    message = refusal(asked("run", elsewhere))
    assert message == f"Error: {elsewhere}: imports trap:Majority; give --allow-imports if you trust them."
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
    assert importers("pickle", "multiprocessing") == {"guard.py"}
    assert importers("_pickle", "cloudpickle", "copyreg", "dill", "marshal", "shelve") == set()
    guard = (SOURCE / "lab" / "compute" / "guard.py").read_text(encoding="utf-8")
    assert not re.search(r"\b(open|Path|read_bytes|write_bytes)\b", guard)
    for source in SOURCE.rglob("*.py"):
        assert not re.search(
            r"read_pickle|to_pickle|allow_pickle|joblib\.(load|dump)", source.read_text(encoding="utf-8")
        )


def importers(*modules):
    """Names of the source files that import any of some modules."""
    return {path.name for path in SOURCE.rglob("*.py") if not imported(path).isdisjoint(modules)}


def imported(path):
    """Packages that a source file imports, anywhere in it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def test_compiled_kernels_on_disk_are_parsed_without_running_what_they_hold(tmp_path):
    class Trap:
        def __reduce__(self):
            return Path.touch, (tmp_path / "sprung",)

    assert importers("pickletools") == {"kernels.py"}
    index = tmp_path / "kernel.nbi"
    index.write_bytes(pickle.dumps("version") + pickle.dumps(Trap()))
    kernels.drop_damaged_kernels([tmp_path])
    assert [path.name for path in tmp_path.iterdir()] == ["kernel.nbi"]
    pickle.loads(index.read_bytes()[len(pickle.dumps("version")) :])
    assert (tmp_path / "sprung").exists()


def test_a_store_trusts_no_schema_and_names_are_values(tmp_path):
    name = "'); DROP TABLE score; --"
    run_experiment(experiment(learners=[{"use": "NaiveBayes", "name": name}], trials=1), tmp_path, progress="silent")
    assert set(read(tmp_path / "faults.db").rows["learner"]) == {name}
    with Store(tmp_path / "faults.db") as store:
        assert store._all("PRAGMA trusted_schema") == [(0,)]


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1", "_hidden"])
def test_no_learner_is_called_what_a_spreadsheet_would_run_or_a_legend_would_drop(name):
    with pytest.raises(ExperimentError, match="cannot be a name"):
        experiment(learners=[{"use": "NaiveBayes", "name": name}]).plan()
    with pytest.raises(ExperimentError, match="cannot be a name"):
        learning_curve(CIAFamily(10, 2, 0.9), {name: NaiveBayes()}, sizes=[10], trials=1)


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+1", "_hidden"])
def test_no_world_is_called_so_either(tmp_path, monkeypatch, name):
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    (tmp_path / "named_world.py").write_text(NAMED_WORLD)
    with pytest.raises(ExperimentError, match="cannot be a name"):
        experiment(worlds=[{"use": "named_world:Named", "called": name}]).plan()
    with pytest.raises(ExperimentError, match="cannot be a name"):
        learning_curve(Table([[0], [1]] * 10, [0, 1] * 10, name=name), {"NB": NaiveBayes()}, sizes=[10], trials=1)


def test_nor_has_a_world_such_a_parameter():
    table = pd.DataFrame({"=HYPERLINK(1)": [1, 2, 3, 4] * 5, "a": [0, 1] * 10, "y": [0, 1] * 10})
    world = Table(table, target="y", groups="=HYPERLINK(1)")
    with pytest.raises(ExperimentError, match=r"'=HYPERLINK\(1\)' cannot be a parameter"):
        learning_curve(world, {"NB": NaiveBayes()}, sizes=[10], trials=1)


def test_no_table_is_made_of_a_store_with_such_a_name(tmp_path, monkeypatch):
    with monkeypatch.context() as lenient:
        lenient.setattr("ciabench.lab.plan.learner.NO_FIRST_CHARACTERS", ())
        named = [{"use": "NaiveBayes", "name": "=HYPERLINK(1)"}]
        run_experiment(experiment(learners=named, trials=1), tmp_path, progress="silent")
    assert "'=HYPERLINK(1)' cannot be a name" in refusal(asked("export", tmp_path / "faults.db", "--to", "csv"))


def test_failures_are_listed_without_what_a_terminal_would_obey(tmp_path):
    small = experiment(learners=["NaiveBayes"], sizes=[10], trials=1)
    with Store.continued(tmp_path / "faults.db", small.spec(), small.plan(), {}) as store:
        for world, error in enumerate(["\x1b]0;title\x07", " \n "]):
            store.add(CellOutcome(world, 0, 0.1, [ScoreOutcome(0, 10, error)], best=0.8, constant=0.7))
    shown = asked("status", tmp_path / "faults.db").stdout
    assert "failed  CIA(5, 2, 0.9), trial 0, size 10, NaiveBayes: ?]0;title?\n" in shown
    assert "failed  CIA(8, 2, 0.9), trial 0, size 10, NaiveBayes: unknown\n" in shown
