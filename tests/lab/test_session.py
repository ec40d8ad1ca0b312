import os
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import BernoulliNB

from ciabench.errors import ExperimentError, RunError, StoreError, TableWarning
from ciabench.lab.plan.learner import resolve
from ciabench.lab.session import learning_curve, run_experiment
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.store import Store
from ciabench.world.base import World
from ciabench.world.family import CIAFamily

pytestmark = pytest.mark.usefixtures("one_guard")

BAYES = {"use": "sklearn.naive_bayes:BernoulliNB", "name": "bayes"}
RANDOM = {"use": "hostile:Random", "name": "random"}
SLOW = {"use": "hostile:Slow", "name": "slow"}
BUILTIN = ["NaiveBayes", {"use": "Winnow", "n_members": 2}]


@pytest.fixture
def reference(small, table):
    """Rows of the small experiment, computed in this process."""
    return table(small(), "reference")


def test_results_do_not_depend_on_workers(small, table, reference):
    assert table(small(), "two", jobs=2) == reference
    assert reference.count(b"\n") == 1 + 2 * 4 * 2 * 2


def test_built_in_learners_give_the_same_in_a_guard(small, table):
    assert table(small(learners=BUILTIN), "free") == table(small(learners=BUILTIN, time_limit=60.0), "guarded")


@pytest.mark.filterwarnings("default")  # those of Dask's own threads would stop its nannies
def test_dask_gives_the_same_also_when_a_worker_is_killed(small, table, reference):
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        start = time.time()
        killer = subprocess.Popen([sys.executable, "-c", f"import os, time; time.sleep(1); os.kill({victim}, 9)"])
        slow = small(learners=[BAYES, RANDOM, SLOW], trials=12)
        rows = table(slow, "dask", backend="dask", scheduler=cluster.scheduler_address)
        assert killer.wait() == 0
        assert time.time() - start > 1
        assert victim not in client.run(os.getpid).values()
    assert rows == table(slow, "undisturbed")


def test_a_cluster_that_does_not_answer_is_told(small, tmp_path, monkeypatch):
    monkeypatch.setattr("ciabench.lab.compute.cluster.SCHEDULER_TIMEOUT", "1s")
    with pytest.raises(RunError, match="no Dask scheduler answers at 'tcp:"):
        run_experiment(small(), tmp_path, backend="dask", scheduler="tcp://127.0.0.1:9")


def test_additions_run_only_what_is_new(small, table, reference, monkeypatch):
    extended = small(
        sizes=[10, 30, 50], trials=5, learners=[BAYES, RANDOM, {"use": "hostile:Majority", "name": "majority"}]
    )
    added = []
    add = Store.add
    monkeypatch.setattr(Store, "add", lambda store, *cells: (added.extend(cells), add(store, *cells)))
    rows = table(extended, "reference")
    computed = sum(len(cell.scores) for cell in added)
    assert computed == 2 * 5 * 3 * 3 - 2 * 4 * 2 * 2
    assert set(reference.splitlines()) < set(rows.splitlines())
    assert rows == table(extended, "at once")
    added.clear()
    table(extended, "reference")
    assert added == []


def test_learning_curve_gives_the_rows_of_a_store(small, tmp_path):
    experiment = small(learners=[BAYES], families=[{"n": 5, "k": 2, "b": 0.9}])
    run_experiment(experiment, tmp_path)
    stored = read(tmp_path / "small.db").rows
    rows = learning_curve(CIAFamily(5, 2, 0.9), {"bayes": BernoulliNB()}, sizes=[30, 10], trials=4, random_state=1997)
    assert list(rows.columns) == [
        "world", "n", "k", "b", "tolerance", "min_headroom", "trial", "size", "learner",
        "success", "best", "constant", "t", "t_error", "fit_seconds",
    ]  # fmt: skip
    pd.testing.assert_frame_equal(rows.drop(columns="fit_seconds"), stored.drop(columns="fit_seconds"))


def test_learning_curve_warns_of_failures_and_leaves_them_out():
    failing = resolve("hostile:RaisesWhenLong", "x", {}).build(0)
    with pytest.warns(RuntimeWarning, match="2 scores failed and are left out; bad at size 30: ZeroDivisionError"):
        rows = learning_curve(CIAFamily(5, 2, 0.9), {"bad": failing}, sizes=[10, 30], trials=2, random_state=0)
    assert rows["size"].tolist() == [10, 10]


class Plain(World):
    """A world that is not a dataclass, so that it has no parameters."""

    def task(self, seed):
        """Nothing to draw."""


@dataclass(frozen=True)
class Odd(World):
    """A world whose parameter cannot be kept."""

    values: object = (1, 2)

    def task(self, seed):
        """Nothing to draw."""


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sizes": []}, "needs at least one size"),
        ({"sizes": [0]}, "every one of sizes must be an integer of at least 1; got 0"),
        ({"sizes": 100}, r"sizes must be a list of integers, such as \[10, 100\]; got 100"),
        ({"trials": 0}, "trials must be an integer of at least 1; got 0"),
        ({"learners": {}}, "and one learner"),
        ({"learners": {"x": 3}}, "learner 'x' must be an unfitted scikit-learn classifier; got 3"),
        (
            {"learners": [BernoulliNB]},
            r"learner 'BernoulliNB' must be .*; got the class BernoulliNB: write BernoulliNB\(\)",
        ),
        ({"learners": 3}, "learners must be a dict of classifiers by name, or a list; got 3"),
        ({"learners": [BernoulliNB(), BernoulliNB()]}, "two learners are called BernoulliNB"),
        ({"random_state": -1}, "random_state must be None or an integer of at least 0"),
        (
            {"world": pd.DataFrame({"x": range(1000)})},
            r"such as CIAFamily or Table, or \(X, y\); got a DataFrame.$",
        ),
        ({"references": "limit"}, r"references must be a list of names, such as \['limit'\]; got 'limit'"),
        ({"references": ["limt"]}, "the reference 'limt'; offered are limit, projection"),
        ({"world": Plain()}, r"the world Plain is not a dataclass: write @dataclass\(frozen=True\) above it"),
        ({"store": "curve.db"}, "needs a random_state"),
        ({"world": Odd()}, "the parameters of the world Odd must be plain values"),
        ({"world": Odd(np.arange(3))}, "the parameters of the world Odd.* must be plain values"),
    ],
)
def test_learning_curve_refuses_what_makes_no_sense(wrong, message):
    right = {"world": CIAFamily(5, 2, 0.9), "learners": {"x": BernoulliNB()}, "sizes": [10], "trials": 1}
    with pytest.raises(ExperimentError, match=message):
        learning_curve(**{**right, **wrong})


def test_learners_without_names_are_called_as_their_classes_are():
    rows = learning_curve(CIAFamily(5, 2, 0.9), [BernoulliNB()], sizes=[10], trials=2, random_state=0)
    assert set(rows["learner"]) == {"BernoulliNB"}


def test_rows_with_labels_are_a_world_of_splits():
    X = np.random.default_rng(0).integers(0, 2, (200, 6))
    y = np.where(X[:, 0] + X[:, 1] > 1, "yes", "no")
    with pytest.warns(TableWarning, match="table: has 160 training rows; larger sizes mean all of them"):
        rows = learning_curve((X, y), {"bayes": BernoulliNB()}, sizes=[20, 1000], trials=4, random_state=0)
    assert rows[["world", "rows", "columns", "best"]].drop_duplicates().to_numpy().tolist() == [["table", 200, 6, 1.0]]
    means = rows.groupby("size")[["success", "constant"]].mean()
    assert means["success"][1000] > 0.9 > means["constant"][1000] > 0.5
    frame = pd.DataFrame(X, columns=list("abcdef"))
    again = learning_curve((frame, pd.Series(y)), [BernoulliNB()], sizes=[20], trials=2, random_state=0)
    assert len(again) == 2


class Counting(BernoulliNB):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y):
        Counting.fits += 1
        return super().fit(X, y)


def test_a_store_keeps_and_resumes_from_python(tmp_path):
    def curve(**changes):
        return learning_curve(
            CIAFamily(5, 2, 0.9), {"counting": Counting()}, store=tmp_path / "mine.db",
            **{"sizes": [10, 30], "trials": 3, "random_state": 3, **changes},
        )  # fmt: skip

    Counting.fits = 0
    first = curve()
    assert Counting.fits == 6
    pd.testing.assert_frame_equal(curve(), first)
    assert len(curve(sizes=[30, 50], trials=2)) == 4
    assert Counting.fits == 6 + 2
    pd.testing.assert_frame_equal(curve(), first)
    assert Counting.fits == 8
    with pytest.raises(StoreError, match="holds results of seed 3"):
        learning_curve(
            CIAFamily(5, 2, 0.9), [BernoulliNB()], sizes=[10], trials=1, random_state=4, store=tmp_path / "mine.db"
        )


def test_learners_that_a_store_could_not_tell_apart_are_not_kept_but_told_apart_in_memory(tmp_path):
    learners = {name: FunctionTransformed(function) for name, function in (("as is", np.copy), ("flipped", flipped))}
    rows = learning_curve(CIAFamily(5, 2, 0.9), learners, sizes=[500], trials=2, random_state=0)
    means = rows.groupby("learner")["t"].mean()
    assert means["as is"] > 0 > means["flipped"]
    with pytest.raises(ExperimentError, match="learner 'as is' cannot be kept in a store"):
        learning_curve(CIAFamily(5, 2, 0.9), learners, sizes=[5], trials=1, random_state=0, store=tmp_path / "x.db")


def flipped(y):
    """Labels the wrong way round."""
    return 1 - y


class FunctionTransformed(BernoulliNB):
    """Learns from labels that a function has changed."""

    def __init__(self, function):
        self.function = function
        super().__init__()

    def get_params(self, deep=True):
        return {"function": self.function}

    def fit(self, X, y):
        return super().fit(X, self.function(y))


def test_an_edit_of_the_file_never_loses_a_score_and_never_computes_one_twice(small, tmp_path, monkeypatch):
    computed = []
    add = Store.add

    def counted(store, *cells):
        computed.extend(score for cell in cells for score in cell.scores)
        add(store, *cells)

    monkeypatch.setattr(Store, "add", counted)

    def run(**changes):
        computed.clear()
        counts = run_experiment(small(**changes), tmp_path, progress="silent")
        return len(computed), counts.done, counts.beyond

    majority = {"use": "hostile:Majority", "name": "majority"}
    renamed = {**RANDOM, "name": "renamed"}
    assert run() == (32, 32, 0)
    assert run(learners=[BAYES]) == (0, 16, 16)
    assert run(learners=[majority, renamed]) == (16, 32, 16)
    assert run(sizes=[30]) == (0, 16, 32)
    assert run(sizes=[30, 50], trials=2) == (8, 16, 40)
    assert run(families=[{"n": 8, "k": 2, "b": 0.9}, {"n": 6, "k": 2, "b": 0.9}]) == (16, 32, 40)
    assert run() == (0, 32, 40)


def test_a_raised_version_computes_only_its_own_scores(small, tmp_path, monkeypatch):
    import hostile

    run_experiment(small(), tmp_path, progress="silent")
    before = read(tmp_path / "small.db").rows
    computed = []
    add = Store.add

    def counted(store, *cells):
        computed.extend(score for cell in cells for score in cell.scores)
        add(store, *cells)

    monkeypatch.setattr(Store, "add", counted)
    monkeypatch.setattr(hostile.Random, "version", 2, raising=False)
    counts = run_experiment(small(), tmp_path, progress="silent")
    assert {score.entrant for score in computed} == {1}
    assert (len(computed), counts.done, counts.beyond) == (16, 32, 16)
    after = read(tmp_path / "small.db").rows
    pd.testing.assert_frame_equal(after.drop(columns="fit_seconds"), before.drop(columns="fit_seconds"))


def test_a_scheduler_needs_the_backend_dask(small, tmp_path):
    with pytest.raises(RunError, match="a scheduler is only used with the backend dask"):
        run_experiment(small(), tmp_path, scheduler="tcp://127.0.0.1:9")


def test_worlds_of_every_kind_run_in_one_experiment_and_are_told_apart(small, tmp_path, small_corpus):
    worlds = [
        {"use": "CIA", "n": 5, "k": 2, "b": 0.9, "min_headroom": [0.02, 0.05]},
        {"use": "Spelling", "pair": "passed/past", "corpus": str(small_corpus)},
        {"use": "own_worlds:Coins"},
    ]
    learners = ["NaiveBayes", "own_worlds:ByColour"]
    counts = run_experiment(
        small(families=[], worlds=worlds, learners=learners, sizes=[10, 60]), tmp_path, progress="silent"
    )
    rows = read(tmp_path / "small.db").rows
    names = ["CIA(5, 2, 0.9)", "CIA(5, 2, 0.9, min_headroom=0.05)", "passed/past (corpus=corpus)", "Coins"]
    assert list(rows["world"].unique()) == names
    assert rows[rows["world"] == names[1]]["min_headroom"].unique() == [0.05]
    assert rows[rows["world"] == "Coins"]["min_headroom"].isna().all()
    assert set(rows[rows["learner"] == "ByColour"]["world"]) == {"Coins"}
    assert rows.query("learner == 'ByColour' and size == 60")["success"].min() > 0.7
    assert set(rows[rows["learner"] == "NaiveBayes"]["world"]) == set(names)
    assert counts.failed == 3 * 4 * 2


def test_estimators_in_a_pipeline_are_seeded_by_the_trial():
    from sklearn.pipeline import make_pipeline

    from ciabench import BitEncoder, Winnow

    learner = {"bits": make_pipeline(BitEncoder(), Winnow(n_members=3, subsample=0.5))}
    first, again = (
        learning_curve(CIAFamily(5, 2, 0.9), learner, sizes=[30], trials=4, random_state=1)["success"].tolist()
        for _ in range(2)
    )
    assert first == again
