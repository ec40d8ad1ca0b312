"""The projection as a reference: its departure is a column of all rows of its cell, kept, exported and resumed."""

import numpy as np
import pandas as pd
import pytest

from ciabench import EM, CIAFamily, NaiveBayes, Scorer, TreeFamily, departure, learning_curve
from ciabench.errors import StoreError
from ciabench.lab.plan.experiment import validate
from ciabench.lab.session import run_experiment
from ciabench.lab.storage.export import export
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.store import Store
from ciabench.seeds import Seed

FAMILY = TreeFamily(6, 1, 0.85)
CURVE = {"sizes": [20, 100], "trials": 3, "random_state": 5}


def curve(**changes):
    return learning_curve(FAMILY, [NaiveBayes()], **{**CURVE, **changes})


def test_departure_and_plateau_are_those_of_the_trials_model():
    rows = learning_curve(FAMILY, [EM(n_init=2)], references=["projection"], **CURVE)
    for trial in range(3):
        model = FAMILY.task(Seed((5, FAMILY.identity, trial))).judge.model
        own = rows[rows["trial"] == trial]
        found = departure(model)
        assert own["departure"].to_numpy() == pytest.approx(float(found), abs=1e-9)
        assert set(own["learner"]) == {"EM", "projection"}
        plateau = own.loc[own["learner"] == "projection", "t"].to_numpy()
        assert plateau == pytest.approx(Scorer(model).t(found.projection.predict), abs=1e-9)


def test_asking_for_the_departure_changes_no_other_number():
    rows, plain = curve(references=["projection"]), curve()
    assert "departure" not in plain
    own = rows[rows["learner"] == "NaiveBayes"].drop(columns=["departure", "fit_seconds"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(own, plain.drop(columns="fit_seconds"))


def test_a_store_that_lacks_the_departure_computes_it_alone(tmp_path):
    store = tmp_path / "mine.db"
    first = curve(store=store)
    rows = curve(store=store, references=["projection"])
    again = rows[rows["learner"] == "NaiveBayes"]["fit_seconds"].to_numpy()
    np.testing.assert_array_equal(again, first["fit_seconds"].to_numpy())
    assert rows["departure"].notna().all()
    assert "departure" not in curve(store=store)


EXPERIMENT = {
    "name": "small", "seed": 1, "trials": 2, "sizes": [20], "learners": ["NaiveBayes"], "references": ["projection"],
    "worlds": [
        {"use": "Tree", "n": 5, "d": [0, 1], "b": 0.8},
        {"use": "TwoHidden", "n": 5, "b": 0.7},
        {"use": "Threshold", "n": 5, "r": 3, "noise": 0.1, "b": 0.8},
    ],
}  # fmt: skip


def test_toml_names_run_and_an_exported_table_is_read_back_exactly(tmp_path):
    counts = run_experiment(validate(EXPERIMENT, "small.toml"), tmp_path, progress="silent")
    assert (counts.done, counts.failed) == (4 * 2 * 2, 0)
    with Store(tmp_path / "small.db") as store:
        export(store, "csv", tmp_path / "small.csv", timings=False)
    stored, table = read(tmp_path / "small.db").rows, read(tmp_path / "small.csv").rows
    assert list(stored["world"].unique()) == [
        "Tree(5, 0, 0.8)", "Tree(5, 1, 0.8)", "TwoHidden(5, 0.7)", "Threshold(5, 3, 0.1, 0.8)"
    ]  # fmt: skip
    np.testing.assert_array_equal(stored["departure"], table["departure"])
    assert "fit_seconds" not in table
    assert stored.loc[stored["world"] == "Tree(5, 0, 0.8)", "departure"].max() < 1e-8


def test_departures_that_are_no_numbers_are_refused():
    rows = curve(trials=1, references=["projection"]).assign(departure="far")
    with pytest.raises(StoreError, match="column 'departure' contains invalid values"):
        read(rows)


def test_a_sampled_departure_keeps_its_interval(tmp_path):
    learning_curve(
        CIAFamily(20, 3, 0.9, concentration=2.2, tolerance=0.05), [NaiveBayes()], sizes=[20], trials=1,
        random_state=0, references=["projection"], store=tmp_path / "wide.db",
    )  # fmt: skip
    with Store(tmp_path / "wide.db") as store:
        facts = store._all("SELECT score.facts FROM score JOIN learner ON learner.id = learner WHERE is_reference")
    assert '"departure_high"' in facts[0][0]
