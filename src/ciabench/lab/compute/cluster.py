"""A Dask cluster as a pool of workers; imported only when it is needed."""

import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import islice
from typing import Any

from ciabench.errors import RunError
from ciabench.lab.compute.workers import Ahead, Batch, Pool, WorkerDied, run_batch
from ciabench.lab.plan.outcome import CellOutcome
from ciabench.lab.plan.plan import Plan

distributed: Any = import_module("distributed")

SCHEDULER_TIMEOUT = "10s"
WORKER_TIMEOUT = 60.0
"""Seconds for which a cluster may have no workers; after one dies, its replacement takes a while to start."""

LOOK_SECONDS = 2.0
"""Seconds after which the workers are counted again."""

GONE = (OSError, RuntimeError, distributed.CancelledError)
"""Exceptions of `distributed` when the scheduler can no longer be reached, or the client was closed for that reason."""


@contextmanager
def connected(jobs: int, scheduler: str | None) -> Iterator[Any]:
    """Client of the cluster at an address, or of a local one started for the duration of the run."""
    if scheduler is None:
        with (
            distributed.LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            yield client
        return
    try:
        client = distributed.Client(scheduler, timeout=SCHEDULER_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise RunError(f"no Dask scheduler answers at {scheduler!r}; {error}.") from error
    with client:
        yield client


def pool_on(client: Any) -> Pool:
    """Pool on the workers of a client: up to two batches per core are in flight; more are sent as results arrive."""

    def compute(plan: Plan, batches: Iterable[Batch], ahead: Ahead) -> Generator[list[CellOutcome], None, None]:
        source, flying, crew = iter(batches), set[Any](), Crew(client)
        try:
            while True:
                cores = max(1, crew.cores())
                room = {"one": 1, "busy": cores, "ahead": 2 * cores}[ahead] - len(flying)
                for batch in islice(source, max(0, room)):
                    with _in_contact():
                        flying.add(client.submit(run_batch, plan, batch, pure=False))
                if not flying:
                    return
                for future, cells in _landed(client, flying):
                    flying.discard(future)
                    yield cells
        finally:
            with suppress(RunError, TimeoutError), _in_contact():
                client.cancel(list(flying), force=True)

    return compute


class Crew:
    """Counts the cores of a cluster from time to time, and gives up when there have been none for too long."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._count = 0
        self._looked = self._alive = time.monotonic()

    def cores(self) -> int:
        """Threads of all workers."""
        now = time.monotonic()
        if self._count == 0 or now - self._looked > LOOK_SECONDS:
            with _in_contact():
                self._count, self._looked = sum(self._client.nthreads().values()), now
        if self._count:
            self._alive = now
        elif now - self._alive > WORKER_TIMEOUT:
            raise RunError(f"the Dask cluster has had no worker for {WORKER_TIMEOUT:g} s.")
        return self._count


def _landed(client: Any, flying: set[Any]) -> Iterator[tuple[Any, list[CellOutcome]]]:
    """Batches that have finished after a short wait, if any, with their results."""
    try:
        with _in_contact(), client.as_current():
            done = distributed.wait(list(flying), timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED").done
    except TimeoutError:
        return
    for future in done:
        try:
            cells = _result(future)
        except TimeoutError:  # the result was lost with its worker, and is being computed again
            continue
        yield future, cells


def _result(future: Any) -> list[CellOutcome]:
    """Result of a finished batch; raises WorkerDied if its workers died."""
    with _in_contact():
        error = future.exception(timeout=LOOK_SECONDS)
        if error is None:
            cells: list[CellOutcome] = future.result(timeout=LOOK_SECONDS)
            return cells
    if isinstance(error, distributed.KilledWorker):
        raise WorkerDied("workers of the cluster died") from error
    raise error


@contextmanager
def _in_contact() -> Iterator[None]:
    """Turn a lost connection to the scheduler into a RunError; a TimeoutError only means that more time is needed."""
    try:
        yield
    except TimeoutError:
        raise
    except GONE as error:
        raise RunError(f"the Dask cluster is gone; {type(error).__name__}.") from error
