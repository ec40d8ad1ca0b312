"""Where cells are computed: in this process, in other processes of this machine (joblib), or on a Dask cluster."""

import importlib
import logging
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import cache
from types import ModuleType
from typing import Any, Literal

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import ThreadpoolController

from ciabench.errors import RunError
from ciabench.kernels import prepare_kernels
from ciabench.lab.compute.fitting import Bench
from ciabench.lab.compute.guard import Guard
from ciabench.lab.compute.trial import DEFAULT_TIME_LIMIT, run_cell
from ciabench.lab.plan.imports import import_without_trial
from ciabench.lab.plan.learner import Learner
from ciabench.lab.plan.outcome import CellOutcome
from ciabench.lab.plan.plan import Job, Plan

Backend = Literal["processes", "dask"]
Batch = list[Job]
Ahead = Literal["one", "busy", "ahead"]
"""Batches that are handed out at a time: one, one per worker, or two per worker, so that none has to wait."""

Pool = Callable[[Plan, Iterable[Batch], Ahead], Iterator[list[CellOutcome]]]

WorkerDied = BrokenProcessPool

_local = threading.local()
_prepared: set[str] = set()


@contextmanager
def pool(backend: Backend = "processes", jobs: int = 1, scheduler: str | None = None) -> Iterator[Pool]:
    """Open a pool of workers: a callable from (plan, batches, ahead) to finished batches in any order."""
    try:
        if backend == "dask":
            cluster = _cluster()
            with cluster.connected(jobs, scheduler) as client:
                yield cluster.pool_on(client)
        else:
            yield _processes(jobs)
    finally:
        close_guard()


def prepare(plan: Plan, jobs: int = 1) -> None:
    """Compile the kernels of a plan's built-in learners, several classes at a time; cells then load them."""
    by_class: dict[str, list[Learner]] = {}
    for learner in plan.learners:
        if learner.builtin:
            by_class.setdefault(learner.use, []).append(learner)
    prepare_kernels()
    with _loky(jobs):
        Parallel(batch_size=1)(delayed(_prepare_learners)(learners) for learners in by_class.values())


def run_batch(plan: Plan, batch: Batch) -> list[CellOutcome]:
    """Compute cells in a worker, with one thread."""
    guard = _guard(plan.time_limit or DEFAULT_TIME_LIMIT)
    _prepare_learners(learner for learner in plan.learners if learner.builtin and not plan.is_guarded(learner))
    with _threads().limit(limits=1):
        return [run_cell(plan, job, guard) for job in batch]


def close_guard() -> None:
    """End the guarded process of this thread, if there is one."""
    if hasattr(_local, "guard"):
        _local.guard.close()


def _cluster() -> ModuleType:
    """Import the module for Dask clusters."""
    try:
        return importlib.import_module("ciabench.lab.compute.cluster")
    except ImportError:
        raise RunError("--backend dask needs an extra: pip install 'ciabench[dask]'.") from None


def _processes(jobs: int) -> Pool:
    """Pool of processes on this machine; with jobs = 1, cells run in this process."""

    def compute(plan: Plan, batches: Iterable[Batch], ahead: Ahead) -> Generator[list[CellOutcome], None, None]:
        dispatched = {"one": "1", "busy": "n_jobs", "ahead": "2*n_jobs"}[ahead]
        with _loky(jobs):
            parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch=dispatched, max_nbytes=None)
        finished: Any = parallel(delayed(run_batch)(plan, batch) for batch in batches)
        try:
            for cells in finished:  # noqa: UP028 - with `yield from` joblib would warn when a run is stopped
                yield cells
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                finished.close()

    return compute


def _loky(jobs: int) -> parallel_config:
    """Processes of this machine, kept between calls; with jobs = 1, this process."""
    return parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1, initializer=_prepare_process)


def _prepare_learners(learners: Iterable[Learner]) -> None:
    """Prepare learners that this process has not prepared yet; their errors will show up in their scores."""
    for learner in learners:
        if learner.identity not in _prepared:
            with suppress(Exception):
                Bench().prepare(learner)
            _prepared.add(learner.identity)


def _guard(time_limit: float) -> Guard:
    """Guard of this thread, whose child is kept between batches."""
    if not hasattr(_local, "guard"):
        _local.guard = Guard(time_limit)
    guard: Guard = _local.guard
    guard.time_limit = time_limit
    return guard


@cache
def _threads() -> ThreadpoolController:
    """Controller of the BLAS and OpenMP libraries; by the first call they are loaded."""
    return ThreadpoolController()


def _prepare_process() -> None:
    """Leave Ctrl-C, trial imports and announcements to the driver, and exit when it does."""
    import_without_trial()
    logging.getLogger("ciabench").setLevel(logging.ERROR)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch_parent, args=(os.getppid(),), daemon=True).start()


def _watch_parent(parent: int) -> None:
    """Exit when the parent process is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
