"""One cell of an experiment, pure: (plan, family, trial index) → the scores of all learners at all sizes."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ciabench.arrays import Bits
from ciabench.errors import ExperimentError
from ciabench.lab.compute.fitting import Bench, Fit, FitError, traceback_text
from ciabench.lab.compute.guard import Guard
from ciabench.lab.plan.learner import Learner
from ciabench.lab.tasks import Task, TaskFamily
from ciabench.seeds import generator

DEFAULT_TIME_LIMIT = 60.0
"""Seconds for a fit of a learner that is not built in, where the experiment sets no limit."""


@dataclass(frozen=True)
class Plan:
    """All that a worker must know of an experiment."""

    seed: int
    trials: int
    sizes: tuple[int, ...]
    families: tuple[TaskFamily, ...]
    learners: tuple[Learner, ...]
    time_limit: float | None = None
    guard_foreign: bool = True

    def __post_init__(self) -> None:
        labels = Counter(tuple(family.identity[key] for key in ("n", "k", "b")) for family in self.families)
        if max(labels.values(), default=1) > 1:
            label = labels.most_common(1)[0][0]
            raise ExperimentError(f"two families have n, k, b = {label}, by which rows are told apart; leave one out.")

    def wanted(self) -> list["Wanted"]:
        """Every learner at every size."""
        return [Wanted(learner, size) for size in self.sizes for learner in range(len(self.learners))]

    def is_guarded(self, learner: Learner) -> bool:
        """Whether a learner runs in a process of its own."""
        return self.time_limit is not None or (self.guard_foreign and not learner.builtin)


class Wanted(NamedTuple):
    """One score to compute: position of the learner in the plan, and a size."""

    learner: int
    size: int


class Job(NamedTuple):
    """One cell to compute: position of the family in the plan, trial index, and the scores that are missing."""

    family: int
    trial: int
    wanted: Sequence[Wanted]


class ScoreRow(NamedTuple):
    """Outcome of one learner at one size; without an error it is done."""

    learner: int
    size: int
    error: str | None
    success: float | None = None
    t: float | None = None
    t_error: float | None = None
    fit_seconds: float | None = None
    n_iter: int | None = None


class CellRow(NamedTuple):
    """Outcome of one cell; with an error all its scores have failed."""

    family: int
    trial: int
    error: str | None
    seconds: float
    scores: list[ScoreRow]
    best: float | None = None
    constant: float | None = None
    difficulty: float | None = None
    draws: int | None = None


class Fitter(Protocol):
    """Fits learners one at a time: a bench or a guard."""

    def fit(self, learner: Learner, random_state: int, X: Any, y: Bits) -> Fit:
        """Fit a fresh classifier."""

    def predict(self, X: Any) -> Bits:
        """Labels of the last fit."""


def run_cell(plan: Plan, job: Job, guard: Guard) -> CellRow:
    """Draw the trial's task and score every wanted learner on it.

    Examples
    --------
    >>> from ciabench import CIAFamily
    >>> from ciabench.lab.plan.learner import resolve
    >>> from ciabench.lab.tasks import CIATasks
    >>> learner = resolve("sklearn.naive_bayes:BernoulliNB", "bayes", {})
    >>> plan = Plan(1997, 1, (100,), (CIATasks(CIAFamily(10, 2, 0.9)),), (learner,), guard_foreign=False)
    >>> cell = run_cell(plan, Job(family=0, trial=0, wanted=plan.wanted()), Guard(time_limit=60))
    >>> 0.5 < cell.constant < cell.scores[0].success < cell.best
    True
    """
    started = time.perf_counter()
    family = plan.families[job.family]
    seed = (plan.seed, family.identity, job.trial)
    try:
        task = family.task(*seed)
        scores = list(_scores(plan, job, task, seed, guard))
    except Exception:
        return failed_cell(job, traceback_text(), time.perf_counter() - started)
    judge, seconds = task.judge, time.perf_counter() - started
    return CellRow(
        job.family, job.trial, None, seconds, scores, judge.best, judge.constant, task.difficulty, task.draws
    )


def failed_cell(job: Job, error: str, seconds: float = 0.0) -> CellRow:
    """Outcome of a cell that gave no scores, and why."""
    scores = [ScoreRow(*wanted, error="its trial failed.") for wanted in job.wanted]
    return CellRow(job.family, job.trial, error, seconds, scores)


def _scores(plan: Plan, job: Job, task: Task, seed: tuple[Any, ...], guard: Guard) -> Iterator[ScoreRow]:
    """Score the wanted learners on prefixes of one training sample."""
    X, y = task.training(max(wanted.size for wanted in job.wanted))
    bench = Bench()
    for wanted in job.wanted:
        learner = plan.learners[wanted.learner]
        fitter: Fitter = guard if plan.is_guarded(learner) else bench
        random_state = int(generator(*seed, "learner", learner.identity, wanted.size).integers(2**31))
        columns = task.columns(wanted.size)
        try:
            fit = fitter.fit(learner, random_state, X[: wanted.size][:, columns], y[: wanted.size])
            score = task.judge.score(_seeing(columns, fitter))
        except FitError as failure:
            yield ScoreRow(*wanted, error=str(failure))
        except Exception:
            yield ScoreRow(*wanted, error=traceback_text())
        else:
            yield ScoreRow(*wanted, None, *score, *fit)


def _seeing(columns: Any, fitter: Fitter) -> Callable[[Any], Bits]:
    """Rule of the last fit on rows of which it sees some columns."""
    return lambda rows: fitter.predict(rows[:, columns])
