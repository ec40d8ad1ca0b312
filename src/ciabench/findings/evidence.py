"""Statistical tests whose answer is yes, no, or more trials: what the claims are made of.

A claim is a list of statements that must all hold. Each statement is tested in both directions: it *supports* the claim
when it is shown to hold, *contradicts* it when the opposite is shown, and is *undecided* otherwise.
"""

from typing import Literal, NamedTuple

import numpy as np
from scipy import stats

from ciabench.arrays import Floats
from ciabench.errors import StoreError

Outcome = Literal["supports", "contradicts", "undecided"]
Verdict = Literal["reproduced", "not reproduced", "not enough trials", "no data"]

POWER = 0.8


class Level(NamedTuple):
    """Error rates of one claim: of calling it reproduced wrongly, and of one of its tests contradicting it wrongly."""

    support: float
    contradict: float


class Estimate(NamedTuple):
    """A mean over trials, its standard error and degrees of freedom."""

    mean: float
    error: float
    freedom: float

    @classmethod
    def of(cls, values: Floats) -> "Estimate":
        """Estimate the mean of independent trials."""
        if len(values) < 2:
            raise StoreError("one trial tells no error; a test needs at least two")
        return cls(float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values))), len(values) - 1)

    def __sub__(self, other: "Estimate") -> "Estimate":
        """Difference of two independent estimates (Welch)."""
        squares = self.error**2, other.error**2
        spread = squares[0] ** 2 / self.freedom + squares[1] ** 2 / other.freedom
        freedom = (squares[0] + squares[1]) ** 2 / spread if spread > 0 else self.freedom + other.freedom
        return Estimate(self.mean - other.mean, float(np.sqrt(sum(squares))), freedom)


class Evidence(NamedTuple):
    """One tested statement: what it says, what was measured (with a 95% interval), and what follows."""

    statement: str
    estimate: float
    low: float
    high: float
    outcome: Outcome
    trials_needed: int | None = None


def above(statement: str, estimate: Estimate, bound: float, level: Level) -> Evidence:
    """Test that a mean exceeds a bound.

    Examples
    --------
    >>> trials = Estimate.of(np.array([0.3, 0.5, 0.4, 0.6, 0.2]))
    >>> above("T > 0", trials, 0.0, Level(0.05, 0.05)).outcome
    'supports'
    """
    return _judged(statement, estimate, estimate.mean - bound, level)


def below(statement: str, estimate: Estimate, bound: float, level: Level) -> Evidence:
    """Test that a mean lies under a bound."""
    return _judged(statement, estimate, bound - estimate.mean, level)


def within(statement: str, estimate: Estimate, margin: float, level: Level) -> Evidence:
    """Test that a mean lies in (−margin, margin): two one-sided tests."""
    return _judged(statement, estimate, margin - abs(estimate.mean), level)


def decided(statement: str, estimate: float, interval: tuple[float, float], bound: float) -> Evidence:
    """Judge a statement 'estimate > bound' by an interval that was made at the right level."""
    low, high = interval
    outcome: Outcome = "supports" if low > bound else "contradicts" if high < bound else "undecided"
    return Evidence(statement, estimate, low, high, outcome)


def verdict(evidence: list[Evidence]) -> Verdict:
    """What all the evidence says together."""
    outcomes = {one.outcome for one in evidence}
    if "contradicts" in outcomes:
        return "not reproduced"
    return "not enough trials" if "undecided" in outcomes else "reproduced"


def _judged(statement: str, estimate: Estimate, distance: float, level: Level) -> Evidence:
    """Judge by how far the mean lies on the right side of its bound."""
    if estimate.error > 0:
        score = distance / estimate.error
        holds, fails = stats.t.sf(score, estimate.freedom), stats.t.cdf(score, estimate.freedom)
    else:
        holds, fails = float(distance <= 0), float(distance >= 0)
    outcome: Outcome = (
        "supports" if holds < level.support else "contradicts" if fails < level.contradict else "undecided"
    )
    half = estimate.error * float(stats.t.ppf(0.975, estimate.freedom))
    needed = _trials_needed(estimate, distance, level) if outcome == "undecided" else None
    return Evidence(statement, estimate.mean, estimate.mean - half, estimate.mean + half, outcome, needed)


def _trials_needed(estimate: Estimate, distance: float, level: Level) -> int | None:
    """Trials that would settle the question with 80% power, if the distance is what it seems; None if none would."""
    if distance == 0:
        return None
    wanted = stats.norm.isf(level.support if distance > 0 else level.contradict) + stats.norm.isf(1 - POWER)
    return int(np.ceil((estimate.freedom + 1) * (wanted * estimate.error / distance) ** 2))
