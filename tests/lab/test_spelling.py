import json

import pandas as pd
import pytest

from ciabench.errors import ExperimentError, StoreError
from ciabench.lab.plan.experiment import validate
from ciabench.lab.storage.results import COLUMNS, Results
from ciabench.lab.session import run_experiment
from ciabench.lab.storage.store import Store
from ciabench.world import corpus, spelling

LEARNERS = ["NaiveBayes", {"use": "sklearn.naive_bayes:BernoulliNB", "name": "bayes"}, "hostile:Random"]


@pytest.fixture
def experiment(small_corpus):
    def make(**changes):
        family = {"pair": "passed/past", "corpus": str(small_corpus), **changes}
        table = {"name": "words", "seed": 1, "trials": 3, "sizes": [10, 1000], "learners": LEARNERS}
        return validate({**table, "families": [family]}, "words.toml")

    return make


def test_the_same_lab_serves_pairs(experiment, tmp_path):
    counts = run_experiment(experiment(), tmp_path, progress="silent")
    assert (counts.done, counts.failed) == (18, 0)
    rows = Results(tmp_path / "words.db").rows()
    assert list(rows.columns) == ["task", *COLUMNS]
    assert set(rows["task"]) == {"passed/past"}
    assert (rows[["n", "k", "best"]] == [36, 2, 1.0]).all(axis=None)
    gain = (rows["success"] - rows["constant"]) / (1 - rows["constant"])
    pd.testing.assert_series_equal(rows["t"], gain, check_names=False)
    wide = rows[rows["size"] == 1000].pivot(index="trial", columns="learner", values="success")
    assert (wide["NaiveBayes"] == wide["bayes"]).all()


def test_pairs_are_exported_and_read_back(experiment, tmp_path, exported):
    run_experiment(experiment(), tmp_path, progress="silent")
    text = exported(tmp_path / "words.db")
    assert text.startswith(b"task,n,k,b,trial,size,learner,")
    exact = Results(tmp_path / "words.db").rows().drop(columns="fit_seconds")
    pd.testing.assert_frame_equal(Results(tmp_path / "words.csv").rows(), exact, check_exact=True)
    assert "passed/past" in json.dumps(experiment().spec())
    assert validate(experiment().spec(), "again").spec() == experiment().spec()


def test_a_corpus_that_lies_elsewhere_gives_the_same_rows(experiment, tmp_path, small_corpus, exported):
    run_experiment(experiment(), tmp_path, progress="silent")
    moved = small_corpus.rename(tmp_path / "moved")
    run_experiment(experiment(corpus=str(moved)), tmp_path / "again", progress="silent")
    assert exported(tmp_path / "words.db") == exported(tmp_path / "again" / "words.db")


def test_a_corpus_that_has_changed_is_refused(experiment, tmp_path, small_corpus):
    run_experiment(experiment(), tmp_path, progress="silent")
    (small_corpus / "more").write_text("The past passed.")
    corpus.read_corpus.cache_clear()
    spelling._examples.cache_clear()
    with pytest.raises(StoreError, match="a corpus that has changed since"):
        run_experiment(experiment(), tmp_path, progress="silent")


def test_failures_are_told_by_pair(experiment, tmp_path):
    broken = experiment().spec() | {"learners": ["hostile:Raises"]}
    run_experiment(validate(broken, "words.toml"), tmp_path, progress="silent")
    with Store(tmp_path / "words.db") as store:
        assert next(store.failures()).task == "passed/past"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"pair": []}, r"families\[0\]\.pair = \[\]: "),
        ({"min_count": 0}, r"families\[0\]\.min_count = 0: "),
        ({"mincount": 1}, r"families\[0\]\.mincount = 1: unknown key \(did you mean \"min_count\"\?\)"),
        ({"pair": ["a/b", "a/b"]}, "families holds a/b twice"),
        ({"pair": "cat/dog"}, r"families\[0\]: cat/dog: neither word occurs"),
        ({"pair": ["passed/past", "passed/dog"]}, r"families\[1\]: passed/dog: "),
        ({"pair": ["passed/past", "past/passed"]}, r"two families have n, k, b = \(36, 2, 0.6"),
    ],
)
def test_mistakes_are_told_with_their_place(experiment, changes, told):
    with pytest.raises(ExperimentError, match=told):
        experiment(**changes).plan()
