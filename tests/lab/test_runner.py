from dataclasses import replace

import pytest

from ciabench.lab.compute.runner import BATCH_SECONDS, MOST_CELLS, SUSPECT_AFTER, JobQueue, run_cells
from ciabench.lab.compute.trial import CellRow, Job
from ciabench.lab.compute.workers import pool


def jobs(count):
    return [Job(0, trial, ()) for trial in range(count)]


def finished(batch, seconds):
    return [CellRow(job.family, job.trial, None, seconds, []) for job in batch]


def test_batches_grow_for_fast_cells_and_shrink_for_slow_ones():
    queue = JobQueue(jobs(100_000))
    batches = queue.batches()
    assert len(next(batches)) == 1
    for _ in range(30):
        list(queue.finished(finished(next(batches), BATCH_SECONDS / 50)))
    assert 40 <= len(next(batches)) <= 55
    for _ in range(30):
        list(queue.finished(finished(next(batches), 0.0)))
    assert len(next(batches)) == MOST_CELLS
    list(queue.finished(finished(next(batches), 10 * BATCH_SECONDS)))
    assert len(next(batches)) == 1


def test_jobs_are_taken_from_the_source_only_as_they_are_needed():
    taken = []
    queue = JobQueue(taken.append(job) or job for job in jobs(1000))
    next(queue.batches())
    assert len(taken) == 1


def test_what_was_out_at_a_death_goes_out_again_first_and_at_last_is_suspected():
    queue = JobQueue(jobs(3))
    for _ in range(SUSPECT_AFTER - 1):
        first, second = (batch for batch, _ in zip(queue.batches(), range(2), strict=False))
        list(queue.finished(finished(second, 0.1)))
        queue.take_back()
        assert first == [Job(0, 0, ())]
        assert queue.suspects == []
    next(queue.batches())
    queue.take_back()
    assert queue.suspects == [Job(0, 0, ())]


@pytest.fixture
def deadly(small, tmp_path):
    from hostile import Deadly

    def make(always):
        plan = replace(small().plan(), guard_foreign=False, trials=8)
        return replace(plan, families=(Deadly(plan.families[0], None if always else tmp_path / "killed"),))

    return make


@pytest.mark.filterwarnings("default")  # those of Dask's own threads would stop its nannies
@pytest.mark.parametrize(("backend", "always"), [("processes", False), ("processes", True), ("dask", False)])
def test_a_worker_that_dies_costs_a_retry_and_a_deadly_cell_itself(deadly, backend, always):
    plan = deadly(always)
    with pool(backend, jobs=2) as workers:
        cells = list(run_cells(plan, [Job(0, trial, plan.wanted()) for trial in range(8)], workers))
    assert sorted(cell.trial for cell in cells) == list(range(8))
    assert [cell.trial for cell in cells if cell.error] == ([3] if always else [])
    with pool(jobs=1) as workers:
        well = replace(plan, families=(plan.families[0].family,))
        expected = {cell.trial: cell.best for cell in run_cells(well, [Job(0, 5, plan.wanted())], workers)}
    assert expected.items() <= {cell.trial: cell.best for cell in cells}.items()
