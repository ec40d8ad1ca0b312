import json

import pandas as pd
import pytest

from ciabench.errors import ExperimentError
from ciabench.lab.plan.experiment import validate
from ciabench.lab.session import run_experiment
from ciabench.lab.spelling import LEARNERS, answer, measure
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.store import Store
from ciabench.lab.storage.view import LABELS, MEASURES
from ciabench.world import corpus, spelling

pytestmark = pytest.mark.usefixtures("one_guard")

OTHERS = ["NaiveBayes", {"use": "sklearn.naive_bayes:BernoulliNB", "name": "bayes"}, "hostile:Random"]
COLUMNS = ["world", "pair", "corpus", "min_count", "examples", *LABELS[1:], *MEASURES]


@pytest.fixture
def experiment(small_corpus):
    def make(**changes):
        family = {"pair": "passed/past", "corpus": str(small_corpus), **changes}
        table = {"name": "words", "seed": 1, "trials": 3, "sizes": [10, 1000], "learners": OTHERS}
        return validate({**table, "families": [family]}, "words.toml")

    return make


def test_the_same_lab_serves_pairs(experiment, tmp_path):
    counts = run_experiment(experiment(), tmp_path, progress="silent")
    assert (counts.done, counts.failed) == (18, 0)
    rows = read(tmp_path / "words.db").rows
    assert list(rows.columns) == COLUMNS
    assert set(rows["world"]) == {"passed/past (corpus=corpus)"}
    assert (rows[["pair", "corpus", "min_count", "examples", "best"]] == ["passed/past", "corpus", 2, 36, 1.0]).all(
        axis=None
    )
    gain = (rows["success"] - rows["constant"]) / (1 - rows["constant"])
    pd.testing.assert_series_equal(rows["t"], gain, check_names=False)
    wide = rows[rows["size"] == 1000].pivot(index="trial", columns="learner", values="success")
    assert (wide["NaiveBayes"] == wide["bayes"]).all()


def test_pairs_are_exported_and_read_back(experiment, tmp_path, exported):
    run_experiment(experiment(), tmp_path, progress="silent")
    text = exported(tmp_path / "words.db")
    assert text.startswith(b"world,pair,corpus,min_count,examples,trial,size,learner,")
    exact = read(tmp_path / "words.db").rows.drop(columns="fit_seconds")
    pd.testing.assert_frame_equal(read(tmp_path / "words.csv").rows, exact, check_exact=True, check_dtype=False)
    assert "passed/past" in json.dumps(experiment().spec())
    assert validate(experiment().spec(), "again").spec() == experiment().spec()


def test_a_corpus_that_lies_elsewhere_gives_the_same_rows(experiment, tmp_path, small_corpus, exported):
    run_experiment(experiment(), tmp_path, progress="silent")
    moved = small_corpus.rename(tmp_path / "elsewhere")
    (tmp_path / "again").mkdir()
    moved = moved.rename(tmp_path / "again" / "corpus")
    run_experiment(experiment(corpus=str(moved)), tmp_path / "again", progress="silent")
    assert exported(tmp_path / "words.db") == exported(tmp_path / "again" / "words.db")


def test_a_corpus_that_has_changed_is_another_world(experiment, tmp_path, small_corpus):
    run_experiment(experiment(), tmp_path, progress="silent")
    (small_corpus / "more").write_text("The past passed.")
    for kept in (corpus.read_corpus, corpus._index, spelling._occurrences, spelling._examples):
        kept.cache_clear()
    counts = run_experiment(experiment(), tmp_path, progress="silent")
    assert (counts.done, counts.scores_wanted, counts.beyond) == (18, 18, 18)
    assert set(read(tmp_path / "words.db").rows["examples"]) == {38}


def test_failures_are_listed_by_pair(experiment, tmp_path):
    broken = experiment().spec() | {"learners": ["hostile:Raises"]}
    run_experiment(validate(broken, "words.toml"), tmp_path, progress="silent")
    with Store(tmp_path / "words.db") as store:
        assert next(store.failures()).place.startswith("passed/past (corpus=corpus), trial 0, size 10, Raises")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pair": []}, r"families\[0\]\.pair = \[\]: "),
        ({"min_count": 0}, r"families\[0\]: min_count must be"),
        ({"mincount": 1}, r"families\[0\]: .*mincount.* \(did you mean \"min_count\"\?\)"),
        ({"pair": ["passed/past", "passed/past"]}, "two worlds are called passed/past"),
        ({"pair": "cat/dog"}, r"families\[0\]: cat/dog: neither word occurs"),
        ({"pair": ["passed/past", "passed/dog"]}, r"families\[0\]: passed/dog: "),
    ],
)
def test_mistakes_name_their_place(experiment, changes, message):
    with pytest.raises(ExperimentError, match=message):
        experiment(**changes).plan()


def test_measuring_gives_the_rows_of_an_experiment(experiment, small_corpus, tmp_path):
    rows = measure(["passed/past"], str(small_corpus))
    assert list(rows.columns) == [*COLUMNS, "n_best_reproduced"]
    assert set(rows["learner"]) == set(LEARNERS)
    table = {
        "name": "same",
        "seed": 1997,
        "trials": 5,
        "sizes": [1_000_000],
        "families": [{"pair": "passed/past", "corpus": str(small_corpus)}],
        "learners": [{"use": "Winnow", "n_passes": 20, "margin": 0.01}],
    }
    run_experiment(validate(table, "same.toml"), tmp_path, progress="silent")
    winnow = rows[rows["learner"] == "Winnow"].reset_index(drop=True)
    same = read(tmp_path / "same.db").rows
    pd.testing.assert_frame_equal(
        winnow.drop(columns=["fit_seconds", "n_best_reproduced"]), same.drop(columns="fit_seconds")
    )


def test_the_answer_ranks_its_evidence(small_corpus):
    first = answer("They ___ the law", "passed/past", str(small_corpus))
    assert first.word == "passed"
    assert list(map(abs, first.evidence.values())) == sorted(map(abs, first.evidence.values()), reverse=True)
