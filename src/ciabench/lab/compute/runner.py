"""Missing cells → workers → finished cells, whatever happens to the workers."""

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from itertools import islice

from ciabench.lab.compute.trial import CellRow, Job, Plan, failed_cell
from ciabench.lab.compute.workers import Batch, Pool, WorkerDied

BATCH_SECONDS = 0.3
"""Time that a batch of cells is meant to take: long against the cost of sending it, short against a run."""

MOST_CELLS = 200

SUSPECT_AFTER = 3
"""A cell that was in the hands of the workers at this many deaths is tried alone; dying then, it has failed."""


def run_cells(plan: Plan, jobs: Iterable[Job], pool: Pool) -> Generator[CellRow, None, None]:
    """Compute jobs and yield their cells as they finish; a worker that dies costs a retry.

    Examples
    --------
    >>> from ciabench import CIAFamily
    >>> from ciabench.lab.plan.learner import resolve
    >>> from ciabench.lab.tasks import CIATasks
    >>> from ciabench.lab.compute.workers import pool
    >>> learner = resolve("sklearn.naive_bayes:BernoulliNB", "bayes", {})
    >>> plan = Plan(1997, 3, (100,), (CIATasks(CIAFamily(10, 2, 0.9)),), (learner,), guard_foreign=False)
    >>> jobs = [Job(0, trial, plan.wanted()) for trial in range(3)]
    >>> with pool(jobs=1) as workers:
    ...     sorted(cell.trial for cell in run_cells(plan, jobs, workers))
    [0, 1, 2]
    """
    queue = JobQueue(jobs)
    while True:
        try:
            for cells in pool(plan, queue.batches(), False):
                yield from queue.finished(cells)
            break
        except WorkerDied:
            queue.take_back()
    for job in queue.suspects:
        try:
            for cells in pool(plan, [[job]], True):
                yield from cells
        except WorkerDied:
            yield failed_cell(job, "the worker that computed it died, again and again.")


class JobQueue:
    """Hands out jobs in batches of a suitable length, and remembers those that are out.

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

    def batches(self) -> Iterator[Batch]:
        """Iterate over batches; cells that came back after a death go out first, and alone."""
        while self._returned:
            yield self._hand_out([self._returned.popleft()])
        while batch := list(islice(self._fresh, self._length())):
            yield self._hand_out(batch)

    def finished(self, cells: list[CellRow]) -> Iterator[CellRow]:
        """Check cells in and pass them on."""
        for cell in cells:
            self._out.pop((cell.family, cell.trial), None)
            self._deaths.pop((cell.family, cell.trial), None)
            self._cell_seconds += 0.2 * (cell.seconds - self._cell_seconds)
            yield cell

    def take_back(self) -> None:
        """Queue again what was out when a worker died."""
        for key, job in self._out.items():
            self._deaths[key] = self._deaths.get(key, 0) + 1
            (self.suspects if self._deaths[key] >= SUSPECT_AFTER else self._returned).append(job)
        self._out.clear()

    def _hand_out(self, batch: Batch) -> Batch:
        self._out.update({(job.family, job.trial): job for job in batch})
        return batch

    def _length(self) -> int:
        return max(1, min(MOST_CELLS, int(BATCH_SECONDS / max(self._cell_seconds, 1e-9))))
