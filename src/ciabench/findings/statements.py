"""What claims say, as statements about means, and how a statement is judged.

A claim is a list of statements that must all hold. A statement *supports* the claim if it is shown to hold,
*contradicts* it if the opposite is shown, is *on the margin* if many trials show neither, so that the difference hardly
matters, and is *undecided* otherwise. The interval that is printed is the one that decides.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ciabench.findings.evidence import (
    ALWAYS_VALID,
    CONFIDENCE,
    NO_TRIALS,
    Estimate,
    Evidence,
    Level,
    Outcome,
    Point,
    Sample,
    Trials,
)
from ciabench.findings.sequences import FIRST_LOOK

Direction = Literal["above", "below", "within"]

MARGIN, ENOUGH = 0.02, 10_000
"""A mean is on the margin if its interval holds the margin and is narrower than ±0.02, or has 10,000 trials."""


class Statement(NamedTuple):
    """What a claim says about one mean; its level follows from the number of statements of the claim.

    Parameters
    ----------
    text : str
        The statement in words.
    estimate : Estimate or Sample
        The mean that it is about.
    bound : float
    direction : {"above", "below", "within"}
        Whether the mean lies above the bound, below it, or between −bound and bound.
    """

    text: str
    estimate: Estimate | Sample
    bound: float
    direction: Direction = "above"

    @property
    def trials(self) -> Trials:
        """Trials behind the mean."""
        return self.estimate.trials

    @property
    def distance(self) -> float:
        """How far the mean lies on the right side of the bound."""
        return self.inside(self.estimate.mean)

    @property
    def clearness(self) -> float:
        """The distance in standard errors."""
        return self.distance / max(self.estimate.error, np.finfo(float).tiny)

    def open_points(self, level: Level) -> tuple[Point, ...]:
        """Points of which more trials would decide it."""
        return self.estimate.points if isinstance(self.estimate, Estimate) else ()

    def inside(self, value: float) -> float:
        """How far a value lies on the right side of the bound."""
        if self.direction == "above":
            return value - self.bound
        return self.bound - (abs(value) if self.direction == "within" else value)

    def ends(self, level: Level) -> tuple[float, float]:
        """Interval of which the one end may support the statement, and the other one contradict it."""
        if self.direction == "above":
            return self.estimate.low(level.support), self.estimate.high(level.contradict)
        if self.direction == "below":
            return self.estimate.low(level.contradict), self.estimate.high(level.support)
        inner = self.estimate.low(level.support), self.estimate.high(level.support)
        if min(map(self.inside, inner)) > 0:
            return inner
        return self.estimate.low(level.contradict / 2), self.estimate.high(level.contradict / 2)

    def distances(self, level: Level) -> tuple[float, float]:
        """How far the interval lies on the right side of the bound, at least and at most."""
        low, high = self.ends(level)
        if self.direction == "above":
            return self.inside(low), self.inside(high)
        if self.direction == "below":
            return self.inside(high), self.inside(low)
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        return min(self.inside(low), self.inside(high)), self.inside(nearest)

    def after(self, count: int) -> "Statement":
        """The statement with another number of trials, everything else being the same."""
        estimate = self.estimate
        return self._replace(estimate=estimate._replace(n_trials=count)) if isinstance(estimate, Estimate) else self


class Somewhere(NamedTuple):
    """What a claim says about one of several sizes: there is one at which all of a few statements hold.

    Parameters
    ----------
    text : str
    places : mapping of int to sequence of Statement
        Statements by size, as many at each.
    """

    text: str
    places: Mapping[int, Sequence[Statement]]

    @property
    def trials(self) -> Trials:
        """Trials behind the statements."""
        return Trials.joined(one.trials for parts in self.places.values() for one in parts)

    def after(self, count: int) -> "Somewhere":
        """The statement with another number of trials, everything else being the same."""
        return self._replace(places={size: [one.after(count) for one in parts] for size, parts in self.places.items()})

    def intervals(self, level: Level) -> dict[int, tuple[float, float]]:
        """Interval of the smallest distance at each size."""
        parts = max(map(len, self.places.values()))
        own = Level(level.support / len(self.places), level.contradict / parts)
        found = {size: [one.distances(own) for one in statements] for size, statements in self.places.items()}
        return {size: (min(low for low, _ in ends), min(high for _, high in ends)) for size, ends in found.items()}

    def open_points(self, level: Level) -> tuple[Point, ...]:
        """Points of the sizes at which it may still hold."""
        possible = [size for size, (_, high) in self.intervals(level).items() if high > 0]
        return tuple(point for size in possible for one in self.places[size] for point in one.open_points(level))


class IntervalStatement(NamedTuple):
    """What a claim says about a quantity with an interval of its own, or an exact one; judged by that interval."""

    text: str
    estimate: float
    low: float
    high: float
    bound: float
    direction: Literal["above", "below"] = "above"
    trials: Trials = NO_TRIALS


Anything = Statement | Somewhere | IntervalStatement


def judge(statement: Anything, level: Level) -> Evidence:
    """Judge a statement and its opposite.

    Examples
    --------
    >>> trials = Estimate(1_000, 0.4, 0.5, 0.0)
    >>> judge(Statement("T > 0", trials, 0.0), Level(0.05, 0.05)).outcome
    'supports'
    >>> judge(Statement("T > 1", trials, 1.0), Level(0.05, 0.05)).outcome
    'contradicts'
    """
    if isinstance(statement, IntervalStatement):
        return _judged_by_interval(statement)
    evidence = decided(statement, level)
    if evidence.outcome != "undecided":
        return evidence
    return evidence._replace(trials_needed=_trials_needed(lambda count: decided(statement.after(count), level)))


def decided(statement: Statement | Somewhere, level: Level) -> Evidence:
    """Judge a statement about trials, without an estimate of the trials that would decide it."""
    return _judged_mean(statement, level) if isinstance(statement, Statement) else _judged_places(statement, level)


def _judged_mean(statement: Statement, level: Level) -> Evidence:
    low, high = statement.ends(level)
    outcome = _outcome(*statement.distances(level), (high - low) / 2, statement.trials.fewest)
    estimate = statement.estimate
    kind = ALWAYS_VALID if isinstance(estimate, Estimate) else "t"
    return Evidence(statement.text, estimate.mean, estimate.error, low, high, outcome, statement.distance, kind)


def _judged_places(statement: Somewhere, level: Level) -> Evidence:
    """Judge by the size at which the interval lies highest; before the first look, by the clearest estimate."""
    intervals = statement.intervals(level)
    means = {size: min(parts, key=lambda one: one.distance) for size, parts in statement.places.items()}
    best = max(intervals, key=lambda size: (intervals[size][0], means[size].clearness))
    low, high = intervals[best][0], max(high for _, high in intervals.values())
    fewest = min(one.trials.fewest for one in statement.places[best])
    outcome = _outcome(low, high, (high - low) / 2, fewest)
    distance, error = means[best].distance, means[best].estimate.error
    text = f"{statement.text} (clearest: s = {best})"
    return Evidence(text, distance, error, low, high, outcome, distance, ALWAYS_VALID)


def _outcome(low: float, high: float, half: float, trials: int) -> Outcome:
    """Outcome from the interval of a distance, and the half-width of the one that is printed."""
    if low > 0:
        return "supports"
    if high < 0:
        return "contradicts"
    return "on the margin" if half <= MARGIN or trials >= ENOUGH else "undecided"


def _judged_by_interval(statement: IntervalStatement) -> Evidence:
    text, estimate, low, high, bound, direction, _ = statement
    sign = 1 if direction == "above" else -1
    ends = sorted((sign * (low - bound), sign * (high - bound)))
    outcome: Outcome = "supports" if ends[0] > 0 else "contradicts" if ends[1] < 0 else "undecided"
    kind = "exact" if low == high else f"{CONFIDENCE:.0%}"
    return Evidence(text, estimate, np.nan, low, high, outcome, sign * (estimate - bound), kind)


def _trials_needed(judged: Callable[[int], Evidence]) -> int | None:
    """The fewest trials, of a grid, at which the statement would be decided, or on the margin, were its means true."""
    for count in np.unique(np.ceil(np.geomspace(FIRST_LOOK, ENOUGH, 50) / 100) * 100).astype(int):
        if judged(int(count)).outcome != "undecided":
            return int(count)
    return None
