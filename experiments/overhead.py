"""What the lab itself costs: cells per second without learning, rows per second into a store, memory, two cores.

Run it with `python experiments/overhead.py`; it prints one line per figure and takes about three minutes. A number
after the script's name divides all counts. Other work on the machine affects the rates by the clock, but hardly those
per second of processor time.
"""

import pickle
import resource
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from ciabench import CIAFamily, CIAModel, Scorer, Task, World
from ciabench.lab.compute.progress import Tally, following
from ciabench.lab.compute.runner import JobQueue, run_cells
from ciabench.lab.compute.workers import pool
from ciabench.lab.plan.experiment import validate
from ciabench.lab.plan.learner import from_estimator, resolve
from ciabench.lab.plan.outcome import CellOutcome, ScoreOutcome, as_text
from ciabench.lab.plan.plan import Job, Plan
from ciabench.lab.storage.store import Store

SIZES = (10, 30, 100, 300, 1000)
LEARNERS = 3
SPEC = {
    "name": "overhead",
    "seed": 1,
    "trials": 100_000,
    "sizes": list(SIZES),
    "learners": [{"use": "sklearn.naive_bayes:BernoulliNB", "name": str(n), "alpha": 2.0 + n} for n in range(LEARNERS)],
    "families": [{"n": 10, "k": 2, "b": 0.9}],
}


class Nothing(ClassifierMixin, BaseEstimator):
    """Learns nothing, at no cost."""

    def fit(self, X, y):
        """Do nothing."""
        return self

    def predict(self, X):
        """Say 0."""
        return np.zeros(len(X), dtype=np.uint8)


@dataclass(frozen=True)
class OneTask(World):
    """A world whose only task is drawn at no cost, so that all that is measured is the lab."""

    def task(self, seed):
        """Make the one task."""
        model = CIAModel([0.5, 0.5], np.full((6, 2), [0.9, 0.1]))
        X, y = np.zeros((max(SIZES), 5), np.uint8), np.zeros(max(SIZES), np.uint8)
        return Task(lambda size: (X[:size], y[:size]), Scorer(model, 0), classes=np.array([0, 1], dtype=np.uint8))


def rates(plan, jobs, count):
    """Cells per second by the clock, from the first finished batch on, and of this process's own processor time."""
    with pool(jobs=jobs) as workers:
        done = 0
        for cells in run_cells(plan, (Job(0, trial, plan.wanted(0)) for trial in range(count)), workers):
            if done == 0:
                clock, processor = time.perf_counter(), time.process_time()
            done += len(cells)
            assert all(cell.error is None for cell in cells)
    return done / (time.perf_counter() - clock), done / (time.process_time() - processor)


def cell(trial, seconds):
    """A finished cell of 15 scores, as a worker sends it."""
    measured = {"success": 0.75, "t": 0.5, "t_error": 0.0, "fit_seconds": 0.01, "facts": as_text({"n_iter": 3})}
    scores = [ScoreOutcome(learner, size, **measured) for size in SIZES for learner in range(LEARNERS)]
    facts = as_text({"difficulty": 0.9, "draws": 5})
    return CellOutcome(0, trial, seconds, scores, best=0.8, constant=0.7, facts=facts)


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@contextmanager
def measured(spent):
    """Add the seconds of a block, by clock and processor, to `spent`."""
    clock, processor = time.perf_counter(), time.process_time()
    yield
    spent += time.perf_counter() - clock, time.process_time() - processor


class Driven(NamedTuple):
    """Cells per second by the clock and of processor time, cells per batch, peak MB, bytes per cell in the store."""

    clock: float
    processor: float
    length: int
    peak: float
    size: float


def drive(count, seconds):
    """Do what the driver does for cells that take so many seconds each, except for waiting.

    Jobs are looked up and packed, cells are unpacked, written and counted.
    """
    experiment = validate({**SPEC, "trials": count}, "overhead")
    plan, spent, length = experiment.plan(), np.zeros(2), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "overhead.db"
        with (
            Store.continued(path, experiment.spec(), plan, {}) as store,
            following("bar", Tally(plan, 0, count)) as show,
        ):
            queue = JobQueue(store.missing(plan))
            batches = queue.batches()
            while True:
                with measured(spent):
                    batch = next(batches, None)
                    sent = pickle.dumps((plan, batch))
                if batch is None:
                    break
                length = len(batch)
                sent = pickle.dumps([cell(job.trial, seconds) for job in batch])
                with measured(spent):
                    cells = pickle.loads(sent)
                    queue.finished(cells)
                    store.add(*cells)
                    for one in cells:
                        show(one)
        clock, processor = count / spent
        return Driven(clock, processor, length, peak_megabytes(), path.stat().st_size / count)


def main(divisor):
    nothing = from_estimator("nothing", Nothing())
    lab = Plan(1, 1, (100,), (OneTask(),), (nothing,), guard_foreign=False)
    for label, plan in {
        "the lab alone": lab,
        "with CIA(10, 2, 0.9) drawn": replace(lab, worlds=(CIAFamily(10, 2, 0.9),)),
    }.items():
        clock, processor = rates(plan, 2, 3000 // divisor)[0] / 2, rates(plan, 1, 1000 // divisor)[1]
        print(
            f"no-op learner, {label}: {clock:.0f} cells/s per core in two processes, "
            f"{processor:.0f} per second of processor time"
        )
    for count, slow in ((10_000, 0.0), (100_000, 0.0), (1_000_000, 0.0), (100_000, 0.07)):
        found = drive(count // divisor, slow)
        print(
            f"driver: {count // divisor:,} cells of 15 scores in batches of {found.length} at {found.clock:,.0f} "
            f"cells/s, {found.processor:,.0f} per second of processor time; peak memory {found.peak:.0f} MB, "
            f"{found.size:,.0f} bytes per cell"
        )
    learners = tuple(resolve(name, name, {}) for name in ("EM", "COV", "Winnow", "Perceptron", "NaiveBayes"))
    count = max(40 // divisor, 4)
    paper = Plan(1997, count, SIZES, (CIAFamily(75, 3, 0.9),), learners)
    one, two = rates(paper, 1, count)[0], rates(paper, 2, 2 * count)[0]
    print(
        f"CIA(75, 3, 0.9), five learners at five sizes: {one:.2f} cells/s on one core, "
        f"{two / one:.2f} times that on two"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
