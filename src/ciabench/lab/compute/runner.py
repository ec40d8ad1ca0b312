"""Missing cells → workers → finished cells, even if workers die."""

import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from itertools import chain, islice, takewhile

from ciabench.lab.compute.workers import Batch, Pool, WorkerDied
from ciabench.lab.plan.outcome import CellOutcome, failed_cell
from ciabench.lab.plan.plan import Job, Plan

BATCH_SECONDS = 0.3
"""Time that a batch of cells should take: long compared with sending it, short compared with a run."""

MOST_BATCHES, LONGEST_SECONDS = 100, 3.0
"""Batches that should come back per second: where there are many workers, they are given longer ones, up to a limit."""

MOST_CELLS = 200

SUSPECT_AFTER = 3
"""A cell that was out at this many deaths of workers is computed alone; if the worker dies again, it has failed."""


def run_cells(
    plan: Plan, jobs: Iterable[Job], pool: Pool, deadline: float | None = None
) -> Generator[list[CellOutcome], None, None]:
    """Compute jobs and yield their cells batch by batch as they finish; those lost with a worker are computed again.

    After the deadline, in seconds of `time.monotonic`, no further cell is begun, except for the first.

    Examples
    --------
    >>> from ciabench import CIAFamily
    >>> from ciabench.lab.plan.learner import resolve
    >>> from ciabench.lab.compute.workers import pool
    >>> learner = resolve("sklearn.naive_bayes:BernoulliNB", "bayes", {})
    >>> plan = Plan(1997, 3, (100,), (CIAFamily(10, 2, 0.9),), (learner,), guard_foreign=False)
    >>> with pool(jobs=1) as workers:
    ...     sorted(cell.trial for cells in run_cells(plan, plan.jobs(), workers) for cell in cells)
    [0, 1, 2]
    """
    queue = JobQueue(jobs if deadline is None else begun_before(deadline, jobs))
    while True:
        try:
            for cells in pool(plan, queue.batches(), "ahead" if deadline is None else "busy"):
                queue.finished(cells)
                yield cells
            break
        except WorkerDied:
            queue.take_back()
    for job in queue.suspects:
        try:
            for cells in pool(plan, [[job]], "one"):
                yield cells
        except WorkerDied:
            yield [failed_cell(job, "its worker died every time it was computed.")]


def begun_before(deadline: float, jobs: Iterable[Job]) -> Iterator[Job]:
    """The first job, and all that are asked for before the deadline."""
    remaining = iter(jobs)
    return chain(islice(remaining, 1), takewhile(lambda job: time.monotonic() < deadline, remaining))


class JobQueue:
    """Hands out jobs in batches of a suitable length, and keeps track of those that are out.

    Parameters
    ----------
    jobs : iterable of Job
        Consumed as workers ask for more, so that memory does not grow with the number of cells.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.suspects: list[Job] = []
        self._fresh = iter(jobs)
        self._returned: deque[Job] = deque()
        self._out: dict[tuple[int, int], Job] = {}
        self._deaths: dict[tuple[int, int], int] = {}
        self._cell_seconds = BATCH_SECONDS
        self._n_out = 0

    def batches(self) -> Iterator[Batch]:
        """Iterate over batches; cells taken back after a death go out first, one at a time."""
        while self._returned:
            yield self._hand_out([self._returned.popleft()])
        while batch := list(islice(self._fresh, self._length())):
            yield self._hand_out(batch)

    def finished(self, cells: list[CellOutcome]) -> None:
        """Record the cells of a batch as finished."""
        self._n_out -= 1
        for cell in cells:
            self._out.pop((cell.world, cell.trial), None)
            self._deaths.pop((cell.world, cell.trial), None)
            self._cell_seconds += 0.2 * (cell.seconds - self._cell_seconds)

    def take_back(self) -> None:
        """Queue again the jobs that were out when a worker died."""
        for key, job in self._out.items():
            self._deaths[key] = self._deaths.get(key, 0) + 1
            (self.suspects if self._deaths[key] >= SUSPECT_AFTER else self._returned).append(job)
        self._out.clear()
        self._n_out = 0

    def _hand_out(self, batch: Batch) -> Batch:
        self._out.update({(job.world, job.trial): job for job in batch})
        self._n_out += 1
        return batch

    def _length(self) -> int:
        seconds = min(max(BATCH_SECONDS, self._n_out / 2 / MOST_BATCHES), LONGEST_SECONDS)  # a worker has two at a time
        return max(1, min(MOST_CELLS, int(seconds / max(self._cell_seconds, 1e-9))))
