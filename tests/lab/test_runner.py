import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from itertools import chain

import psutil
import pytest
from joblib import parallel_config

from ciabench.errors import RunError
from ciabench.lab.compute import workers as workers_module
from ciabench.lab.compute.runner import (
    BATCH_SECONDS,
    LONGEST_SECONDS,
    MOST_BATCHES,
    MOST_CELLS,
    SUSPECT_AFTER,
    JobQueue,
    begun_before,
    run_cells,
)
from ciabench.lab.compute.workers import WorkerDied, pool, prepare, run_batch
from ciabench.lab.plan.learner import resolve
from ciabench.lab.plan.outcome import CellOutcome
from ciabench.lab.plan.plan import Job, Plan
from ciabench.world.family import CIAFamily


def jobs(count):
    return [Job(0, trial, ()) for trial in range(count)]


def finished(batch, seconds):
    return [CellOutcome(job.world, job.trial, seconds, []) for job in batch]


def test_batches_grow_for_fast_cells_and_shrink_for_slow_ones():
    queue = JobQueue(jobs(100_000))
    batches = queue.batches()
    assert len(next(batches)) == 1
    for _ in range(30):
        queue.finished(finished(next(batches), BATCH_SECONDS / 50))
    assert 40 <= len(next(batches)) <= 55
    for _ in range(30):
        queue.finished(finished(next(batches), 0.0))
    assert len(next(batches)) == MOST_CELLS
    queue.finished(finished(next(batches), 10 * BATCH_SECONDS))
    assert len(next(batches)) == 1


def test_many_workers_are_given_longer_batches_so_that_fewer_come_back():
    queue = JobQueue(jobs(1_000_000))
    batches = queue.batches()
    for _ in range(50):
        queue.finished(finished(next(batches), BATCH_SECONDS / 10))
    lengths = [len(next(batches)) for _ in range(1000)]
    assert lengths[0] in (9, 10)
    assert lengths[200] == pytest.approx(100 / MOST_BATCHES / (BATCH_SECONDS / 10), abs=1)
    assert lengths[-1] == pytest.approx(LONGEST_SECONDS / (BATCH_SECONDS / 10), abs=1)


def test_jobs_are_taken_from_the_source_only_as_they_are_needed():
    taken = []
    queue = JobQueue(taken.append(job) or job for job in jobs(1000))
    next(queue.batches())
    assert len(taken) == 1


def test_what_was_out_at_a_death_goes_out_again_first_and_at_last_is_suspected():
    queue = JobQueue(jobs(3))
    for _ in range(SUSPECT_AFTER - 1):
        first, second = (batch for batch, _ in zip(queue.batches(), range(2), strict=False))
        queue.finished(finished(second, 0.1))
        queue.take_back()
        assert first == [Job(0, 0, ())]
        assert queue.suspects == []
    next(queue.batches())
    queue.take_back()
    assert queue.suspects == [Job(0, 0, ())]


def test_after_the_deadline_no_job_is_begun_but_the_first(monkeypatch):
    clock = iter([10.0, 11.0, 12.0])
    monkeypatch.setattr("ciabench.lab.compute.runner.time.monotonic", lambda: next(clock))
    assert [job.trial for job in begun_before(11.5, jobs(100))] == [0, 1, 2]
    monkeypatch.setattr("ciabench.lab.compute.runner.time.monotonic", lambda: 1e9)
    assert [job.trial for job in begun_before(11.5, jobs(100))] == [0]


@pytest.fixture
def plan():
    """Eight trials of a learner that needs no guard."""
    learner = resolve("hostile:Random", "random", {})
    return Plan(1997, 8, (10, 30), (CIAFamily(5, 2, 0.9),), (learner,), guard_foreign=False)


def test_a_pool_that_closes_ends_its_guarded_child(plan):
    with pool(jobs=1) as workers:
        assert [cell.error for (cell,) in run_cells(replace(plan, guard_foreign=True), plan.jobs()[:1], workers)] == [
            None
        ]
        children = [child for child in psutil.Process().children() if "ciabench.lab.compute.guard" in child.cmdline()]
        assert len(children) == 1
    assert not children[0].is_running()


def test_a_run_that_is_late_computes_one_cell(plan):
    with pool(jobs=1) as workers:
        cells = [cell.trial for batch in run_cells(plan, plan.jobs(), workers, time.monotonic()) for cell in batch]
    assert cells == [0]


@pytest.mark.parametrize(("ahead", "taken"), [("one", 1), ("busy", 3), ("ahead", 6)])
def test_processes_are_handed_so_many_batches_at_a_time(plan, monkeypatch, ahead, taken):
    handed = []
    monkeypatch.setattr(workers_module, "_loky", lambda jobs: parallel_config("threading", n_jobs=jobs))
    gate = threading.Event()
    monkeypatch.setattr(workers_module, "run_batch", lambda plan, batch: gate.wait() and batch)
    with pool(jobs=3) as workers:
        found = workers(plan, (handed.append(job) or [job] for job in jobs(20)), ahead)
        threading.Timer(0.2, lambda: (seen.append(len(handed)), gate.set())).start()
        seen = []
        assert len(list(found)) == 20
    assert seen == [taken]


@pytest.fixture
def deadly(plan, tmp_path):
    from hostile import Deadly

    return lambda always: replace(plan, worlds=(Deadly(plan.worlds[0], None if always else tmp_path / "killed"),))


@pytest.mark.filterwarnings("default")  # those of Dask's own threads would stop its nannies
@pytest.mark.parametrize(
    ("backend", "always"),
    [
        ("processes", False),
        pytest.param("processes", True, marks=pytest.mark.soak),
        pytest.param("dask", False, marks=pytest.mark.soak),
    ],
)
def test_a_worker_that_dies_costs_a_retry_and_a_deadly_cell_itself(plan, deadly, backend, always):
    with pool(backend, jobs=2) as workers:
        cells = list(chain.from_iterable(run_cells(deadly(always), plan.jobs(), workers)))
    assert sorted(cell.trial for cell in cells) == list(range(8))
    assert [cell.trial for cell in cells if cell.error] == ([3] if always else [])
    with pool(jobs=1) as workers:
        expected = {cell.trial: cell.best for (cell,) in run_cells(plan, plan.jobs()[5:6], workers)}
    assert expected.items() <= {cell.trial: cell.best for cell in cells}.items()


@pytest.fixture
def cluster():
    return pytest.importorskip("ciabench.lab.compute.cluster")


@pytest.fixture
def dask_pool(cluster, monkeypatch):
    """Pool of two Dask workers on which batches are returned as they are."""
    from hostile import sleepy_batch

    monkeypatch.setattr(cluster, "run_batch", sleepy_batch)
    with cluster.connected(2, None) as client:
        yield cluster.pool_on(client)


@pytest.mark.filterwarnings("default")
def test_a_cluster_is_given_batches_as_it_asks_for_them(dask_pool):
    taken = []
    batches = (taken.append(number) or [number] for number in range(40))
    found = []
    for batch in dask_pool(None, batches, "ahead"):
        found += batch
        assert len(taken) <= len(found) + 2 * 2
    assert sorted(found) == list(range(40))
    taken.clear()
    for count, _ in enumerate(dask_pool(None, (taken.append(number) or [number] for number in range(4)), "one"), 1):
        assert len(taken) == count
    taken.clear()
    for count, _ in enumerate(dask_pool(None, (taken.append(number) or [number] for number in range(4)), "busy"), 1):
        assert len(taken) <= count - 1 + 2
    stopped = dask_pool(None, ([number] for number in range(10**9)), "ahead")
    next(stopped)
    stopped.close()
    from hostile import LearnedError

    with pytest.raises(LearnedError):
        list(dask_pool(None, [["raise"]], "ahead"))


@pytest.mark.filterwarnings("default")
def test_a_batch_whose_workers_die_too_often_is_reported(cluster, monkeypatch):
    import dask

    monkeypatch.setattr(cluster, "run_batch", lambda plan, batch: os._exit(1))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster.connected(1, None) as client,
        pytest.raises(WorkerDied),
    ):
        list(cluster.pool_on(client)(None, [[1]], "one"))


SCHEDULER = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--no-show"]


@pytest.fixture
def scheduler(tmp_path):
    """A scheduler without workers, and its address."""
    file = tmp_path / "scheduler.json"
    process = subprocess.Popen(
        [*SCHEDULER, "--host", "127.0.0.1", "--scheduler-file", str(file)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    yield process, json.loads(file.read_text())["address"]
    process.kill()
    process.wait()


@pytest.mark.filterwarnings("default")
def test_a_cluster_without_workers_and_one_that_goes_away_are_reported(cluster, scheduler, monkeypatch):
    process, address = scheduler
    monkeypatch.setattr(cluster, "WORKER_TIMEOUT", 1.0)
    monkeypatch.setattr(cluster, "LOOK_SECONDS", 0.2)
    with cluster.connected(1, address) as client:
        with pytest.raises(RunError, match="the Dask cluster has had no worker for 1 s"):
            list(cluster.pool_on(client)(None, [[1]], "ahead"))
        monkeypatch.setattr(cluster, "WORKER_TIMEOUT", 60.0)
        killer = subprocess.Popen(
            [sys.executable, "-c", f"import os, time; time.sleep(2); os.kill({process.pid}, {int(signal.SIGKILL)})"]
        )
        with pytest.raises(RunError, match="the Dask cluster is gone; "):
            list(cluster.pool_on(client)(None, [[1]], "ahead"))
        assert killer.wait() == 0


def test_built_in_learners_are_prepared_once_and_before_cells(monkeypatch):
    prepared = []
    monkeypatch.setattr(workers_module, "_prepared", set())
    monkeypatch.setattr(workers_module.Bench, "prepare", lambda bench, learner: prepared.append(learner.name))
    learners = (resolve("NaiveBayes", "bayes", {}), resolve("hostile:Random", "random", {}))
    plan = Plan(1997, 2, (10,), (CIAFamily(5, 2, 0.9),), learners, guard_foreign=False)
    prepare(plan)
    assert prepared == ["bayes"]
    run_batch(plan, plan.jobs())
    assert prepared == ["bayes"]
    monkeypatch.setattr(workers_module, "_prepared", set())
    run_batch(plan, plan.jobs())
    assert prepared == ["bayes", "bayes"]
    monkeypatch.setattr(workers_module, "_prepared", set())
    with pool() as workers:
        list(run_cells(replace(plan, time_limit=60.0), plan.jobs(), workers))
    assert prepared == ["bayes", "bayes"]


def test_a_learner_that_cannot_be_prepared_fails_its_scores():
    plan = Plan(1997, 1, (10,), (CIAFamily(5, 2, 0.9),), (resolve("EM", "em", {"n_classes": -1}),))
    prepare(plan)
    (cell,) = run_batch(plan, plan.jobs())
    assert "n_classes" in cell.scores[0].error
