import sys
from pathlib import Path

import pytest

from ciabench.lab.plan.experiment import validate
from ciabench.lab.session import run_experiment
from ciabench.lab.storage.export import export
from ciabench.lab.storage.store import Store

SMALL = {
    "name": "small",
    "seed": 1997,
    "trials": 4,
    "sizes": [10, 30],
    "learners": [
        {"use": "sklearn.naive_bayes:BernoulliNB", "name": "bayes"},
        {"use": "hostile:Random", "name": "random"},
    ],
    "families": [{"n": [5, 8], "k": 2, "b": 0.9}],
}


@pytest.fixture(autouse=True)
def hostile_on_path(monkeypatch):
    """Learners named "hostile:…" are found here, and by processes that are started."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(__file__).parent)])


@pytest.fixture
def small():
    """Make a small experiment, with changes."""
    return lambda **changes: validate({**SMALL, **changes}, "small.toml")


@pytest.fixture
def exported():
    """Exported rows of a store without timings, as bytes."""

    def read(store_path):
        target = store_path.with_suffix(".csv")
        with Store(store_path) as store:
            export(store, "csv", target, timings=False)
        return target.read_bytes()

    return read


@pytest.fixture
def table(tmp_path, exported):
    """Run an experiment and return its exported rows."""

    def run(experiment, folder="results", **options):
        run_experiment(experiment, tmp_path / folder, **options)
        return exported(tmp_path / folder / f"{experiment.name}.db")

    return run
