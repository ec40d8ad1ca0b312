"""A Dask cluster as a joblib backend; only imported when one is asked for."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

from joblib._dask import DaskDistributedBackend

from ciabench.errors import RunError

distributed: Any = import_module("distributed")

SCHEDULER_TIMEOUT = "10s"
WORKER_TIMEOUT = 60


class ClusterBackend(DaskDistributedBackend):
    """Joblib's Dask backend, which by itself waits for ever for a task whose workers have died too often."""

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Count the cores; at least 2, because joblib keeps to itself what a single worker could do."""
        try:
            return max(2, int(super().effective_n_jobs(n_jobs)))
        except TimeoutError:
            raise RunError(f"the Dask cluster has had no worker for {self.wait_for_workers_timeout} s.") from None

    def submit(self, func: Any, callback: Callable[[Any], Any] | None = None) -> Any:
        """Schedule a task, and have its failure reported as well as its result."""
        future = cast("Future[Any]", super().submit(func, callback))
        if callback is not None:
            future.add_done_callback(lambda done: callback(done) if done.exception() else None)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        """Result of a task, or the death of its worker."""
        if isinstance(out, Future):
            raise BrokenProcessPool("workers of the cluster died") from out.exception()
        if isinstance(out, BaseException):
            raise RunError(f"the Dask cluster is gone; {type(out).__name__}.")
        return super().retrieve_result_callback(out)


def backend(client: Any) -> ClusterBackend:
    """Backend on the workers of a client, which may take a while to come back after a death."""
    return ClusterBackend(client=client, wait_for_workers_timeout=WORKER_TIMEOUT)


@contextmanager
def connected(jobs: int, scheduler: str | None) -> Iterator[Any]:
    """Client of the cluster at an address, or of one made here for the time of the run."""
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
