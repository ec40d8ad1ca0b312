import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import BernoulliNB

from ciabench.errors import ExperimentError, RunError
from ciabench.lab.plan.learner import resolve
from ciabench.lab.storage.results import COLUMNS, Results
from ciabench.lab.session import learning_curve, run_experiment
from ciabench.lab.storage.store import Store
from ciabench.world.family import CIAFamily

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
    monkeypatch.setattr(Store, "add", lambda store, cell: (added.append(cell), add(store, cell)))
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
    stored = Results(tmp_path / "small.db").rows()
    rows = learning_curve(
        CIAFamily(5, 2, 0.9), {"bayes": BernoulliNB()}, sizes=[30, 10], trials=4, n_jobs=2, random_state=1997
    )
    assert list(rows.columns) == COLUMNS
    pd.testing.assert_frame_equal(rows.drop(columns="fit_seconds"), stored.drop(columns="fit_seconds"))
    pd.testing.assert_frame_equal(Results(rows).curves(), Results(tmp_path / "small.db").curves())


def test_curves_are_means_with_errors_and_pooled_ratios():
    rows = pd.DataFrame(
        [(5, 2, 0.9, trial, 10, "x", 0.6 + t * r, 0.6 + r, 0.6, t, 0.0, 0.1) for trial, (t, r) in enumerate(
            [(0.5, 0.1), (1.0, 0.3)]
        )],
        columns=COLUMNS,
    )  # fmt: skip
    told = Results(rows).curves().iloc[0]
    assert told["trials"] == 2
    assert told["t"] == pytest.approx(0.75)
    assert told["t_sem"] == pytest.approx(np.std([0.5, 1.0], ddof=1) / np.sqrt(2))
    assert told["pooled"] == pytest.approx(0.35 / 0.4)


def test_learning_curve_warns_of_failures_and_leaves_them_out():
    failing = resolve("hostile:RaisesWhenLong", "x", {}).build(0)
    with pytest.warns(RuntimeWarning, match="2 scores failed and are left out; bad at size 30: ZeroDivisionError"):
        rows = learning_curve(CIAFamily(5, 2, 0.9), {"bad": failing}, sizes=[10, 30], trials=2, random_state=0)
    assert rows["size"].tolist() == [10, 10]


@pytest.mark.parametrize(
    "wrong", [{"sizes": []}, {"sizes": [0]}, {"trials": 0}, {"learners": {}}, {"learners": {"x": BernoulliNB}},
              {"random_state": -1}, {"family": "CIA"}]
)  # fmt: skip
def test_learning_curve_refuses_what_makes_no_sense(wrong):
    right = {"family": CIAFamily(5, 2, 0.9), "learners": {"x": BernoulliNB()}, "sizes": [10], "trials": 1}
    with pytest.raises(ExperimentError):
        learning_curve(**{**right, **wrong})
