"""What the lab costs by itself: cells a second without learning, rows a second into a store, memory, two cores.

Run it with `python experiments/overhead.py`; it prints one line a figure and takes about three minutes.
Other work on the machine slows the clock figures; those a processor second hardly.
"""

import resource
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from ciabench import CIAFamily
from ciabench.lab.plan.experiment import validate
from ciabench.lab.plan.learner import from_estimator, resolve
from ciabench.lab.compute.runner import JobQueue, run_cells
from ciabench.lab.storage.store import Store
from ciabench.lab.tasks import CIATasks, Task
from ciabench.lab.compute.trial import CellRow, Job, Plan, ScoreRow
from ciabench.lab.compute.workers import pool
from ciabench.world.model import CIAModel
from ciabench.world.scoring import Scorer

SIZES = (10, 30, 100, 300, 1000)
SPEC = {
    "name": "overhead",
    "seed": 1,
    "trials": 100_000,
    "sizes": list(SIZES),
    "learners": [{"use": "sklearn.naive_bayes:BernoulliNB", "name": str(number)} for number in range(5)],
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
class OneTask:
    """A family whose only task is drawn at no cost, so that all that is measured is the lab."""

    @property
    def identity(self):
        """Labels of its rows."""
        return {"n": 5, "k": 2, "b": 0.9}

    def task(self, *seed):
        """Make the one task."""
        model = CIAModel([0.5, 0.5], np.full((6, 2), [0.9, 0.1]))
        X, y = np.zeros((max(SIZES), 5), np.uint8), np.zeros(max(SIZES), np.uint8)
        return Task(lambda size: (X[:size], y[:size]), Scorer(model, 0), 0.9, 1)


def rates(plan, jobs, count):
    """Cells a second by the clock, from the first finished batch on, and by this process's own processor time."""
    with pool(jobs=jobs) as workers:
        done = 0
        for cell in run_cells(plan, (Job(0, trial, plan.wanted()) for trial in range(count)), workers):
            if done == 0:
                clock, processor = time.perf_counter(), time.process_time()
            done += 1
            assert cell.error is None
    return done / (time.perf_counter() - clock), done / (time.process_time() - processor)


def cell(trial):
    scores = [ScoreRow(learner, size, None, 0.75, 0.5, 0.0, 0.01, 3) for size in SIZES for learner in range(5)]
    return CellRow(0, trial, None, 0.0, scores, 0.8, 0.7, 0.9, 5)


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def drive(count):
    """Feed finished cells of 25 scores through queue and store; cells a second by clock and processor, and memory."""
    experiment = validate({**SPEC, "trials": count}, "overhead")
    plan = experiment.plan()
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.continued(Path(folder) / "overhead.db", experiment.spec(), plan, {}) as store,
    ):
        clock, processor = time.perf_counter(), time.process_time()
        queue = JobQueue(store.missing(plan))
        for batch in queue.batches():
            for finished in queue.finished([cell(job.trial) for job in batch]):
                store.add(finished)
        seconds = time.perf_counter() - clock
        return count / seconds, count / (time.process_time() - processor), peak_megabytes()


def main():
    nothing = from_estimator("nothing", Nothing())
    lab = Plan(1, 1, (100,), (OneTask(),), (nothing,), guard_foreign=False)
    for label, plan in {
        "the lab alone": lab,
        "with CIA(10, 2, 0.9) drawn": replace(lab, families=(CIATasks(CIAFamily(10, 2, 0.9)),)),
    }.items():
        clock, processor = rates(plan, 2, 3000)[0] / 2, rates(plan, 1, 1000)[1]
        print(
            f"no-op learner, {label}: {clock:.0f} cells/s a core in two processes, {processor:.0f} a processor second"
        )
    for count in (1_000, 10_000, 100_000):
        clock, processor, peak = drive(count)
        print(
            f"driver: {count} cells of 25 scores into a store at {clock:.0f} cells/s, "
            f"{processor:.0f} a processor second, peak memory {peak:.0f} MB"
        )
    learners = tuple(resolve(name, name, {}) for name in ("EM", "COV", "Winnow", "Perceptron", "NaiveBayes"))
    paper = Plan(1997, 40, SIZES, (CIATasks(CIAFamily(75, 3, 0.9)),), learners)
    one, two = rates(paper, 1, 40)[0], rates(paper, 2, 80)[0]
    print(
        f"CIA(75, 3, 0.9), five learners at five sizes: {one:.2f} cells/s on one core, "
        f"{two / one:.2f} times that on two"
    )


if __name__ == "__main__":
    main()
