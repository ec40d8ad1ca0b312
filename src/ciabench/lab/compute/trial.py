"""One cell of an experiment, as a pure function: (plan, world, trial) → scores of the learners at all sizes."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.lab.compute.fitting import Bench, FitError, FitReport, traceback_text
from ciabench.lab.plan.learner import Learner
from ciabench.lab.plan.outcome import CellOutcome, ScoreOutcome, as_text, failed_cell
from ciabench.lab.plan.plan import Job, Plan, Reference
from ciabench.seeds import Seed
from ciabench.world.base import Task

DEFAULT_TIME_LIMIT = 60.0
"""Seconds for a fit of a learner that is not built in, if the experiment sets no limit."""


class Fitter(Protocol):
    """Fits learners one at a time: a bench or a guard."""

    def fit(self, learner: Learner, random_state: int, X: Any, y: Any, classes: NDArray[Any]) -> FitReport:
        """Fit a fresh classifier."""

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Predictions of the last fit, as positions in `classes`."""

    def predict_proba(self, X: Any) -> Floats:
        """P(class | x) according to the last fit."""


@dataclass(frozen=True)
class FittedRule:
    """A fitted learner as a judge sees it; `predict_proba` is None if the classifier has none."""

    classes_: NDArray[Any]
    predict: Callable[[Any], NDArray[Any]]
    predict_proba: Callable[[Any], Floats] | None


def run_cell(plan: Plan, job: Job, guard: Fitter) -> CellOutcome:
    """Draw the trial's task and score every wanted entrant on it.

    Examples
    --------
    >>> from ciabench import CIAFamily
    >>> from ciabench.lab.compute.guard import Guard
    >>> from ciabench.lab.plan.learner import resolve
    >>> learner = resolve("sklearn.naive_bayes:BernoulliNB", "bayes", {})
    >>> plan = Plan(1997, 1, (100,), (CIAFamily(10, 2, 0.9),), (learner,), guard_foreign=False)
    >>> cell = run_cell(plan, plan.jobs()[0], Guard(time_limit=60))
    >>> 0.5 < cell.constant < cell.scores[0].success < cell.best
    True
    """
    started = time.perf_counter()
    world = plan.worlds[job.world]
    seed = Seed((plan.seed, world.identity, job.trial))
    try:
        task = world.task(seed)
        scores = list(_scores(plan, job, task, seed, guard))
        best, constant, facts = float(task.judge.best), float(task.judge.constant), as_text(task.facts)
    except Exception:
        return failed_cell(job, traceback_text(), time.perf_counter() - started)
    seconds = time.perf_counter() - started
    return CellOutcome(job.world, job.trial, seconds, scores, None, best, constant, facts)


def _scores(plan: Plan, job: Job, task: Task, seed: Seed, guard: Fitter) -> Iterator[ScoreOutcome]:
    """Score the wanted entrants on prefixes of one training sample."""
    bench = Bench()
    for wanted in job.wanted:
        entrant = plan.entrants[wanted.entrant]
        try:
            if isinstance(entrant, Learner):
                rule, report = _fitted(task, seed, entrant, wanted.size, guard if plan.is_guarded(entrant) else bench)
            else:
                rule, report = _made(task, entrant, wanted.size)
            score = task.judge.score(rule)
            measured = float(score.success), float(score.t), float(score.t_error), report.seconds
            facts = as_text({**report.facts, **score.facts})
        except FitError as failure:
            yield ScoreOutcome(wanted.entrant, wanted.size, str(failure))
        except Exception:
            yield ScoreOutcome(wanted.entrant, wanted.size, traceback_text())
        else:
            yield ScoreOutcome(wanted.entrant, wanted.size, None, *measured, facts)


def _fitted(task: Task, seed: Seed, learner: Learner, size: int, fitter: Fitter) -> tuple[FittedRule, FitReport]:
    """Fit a learner to the first `size` rows, as seen through the task's view."""
    view = task.view(size)
    X, y = task.training(size)
    classes = np.unique(y) if task.classes is None else np.asarray(task.classes)
    random_state = int(seed.rng("learner", learner.identity, size).integers(2**31))
    report = fitter.fit(learner, random_state, view(X), y, classes)
    rule = FittedRule(
        classes,
        predict=lambda rows: classes[fitter.predict(view(rows))],
        predict_proba=(lambda rows: fitter.predict_proba(view(rows))) if report.has_probabilities else None,
    )
    return rule, report


def _made(task: Task, reference: Reference, size: int) -> tuple[Any, FitReport]:
    """Make the rule of a reference from the first `size` rows; it may state facts."""
    started = time.perf_counter()
    rule = task.references[reference.name](*task.training(size))
    return rule, FitReport(time.perf_counter() - started, getattr(rule, "facts", {}), False)
