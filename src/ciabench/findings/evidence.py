"""Statistical tests of the statements that claims consist of, with the outcomes yes, no, and more trials needed.

A claim is a list of statements that must all hold. Each statement is tested in both directions: it *supports* the claim
if it is shown to hold, *contradicts* it if the opposite is shown, and is *undecided* otherwise.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from ciabench.arrays import Floats
from ciabench.errors import StoreError

Direction = Literal["above", "below", "within"]
Outcome = Literal["supports", "contradicts", "undecided"]
Verdict = Literal["reproduced", "not reproduced", "not enough trials", "no data"]

POWER = 0.8
TOO_FEW = "At least two trials are needed to estimate an error."


class Level(NamedTuple):
    """Error rates of a claim: of wrongly calling it reproduced, and of one test wrongly contradicting it.

    Examples
    --------
    >>> Level.of_claim(0.01, statements=4)
    Level(support=0.01, contradict=0.0025)
    """

    support: float
    contradict: float

    @classmethod
    def of_claim(cls, error_rate: float, statements: int) -> "Level":
        """Levels of the tests of a claim with that many statements.

        All of them must be shown, which needs no correction; a single one suffices to contradict the claim.
        """
        return cls(error_rate, error_rate / statements)


class Trials(NamedTuple):
    """Number of trials behind a result: the fewest and the most, if worlds, sizes or learners differ.

    Examples
    --------
    >>> str(Trials(100, 100)), str(Trials.joined([Trials(40, 100), Trials(300, 300)])), str(NO_TRIALS)
    ('100', '40 to 300', '')
    """

    fewest: int
    most: int

    @classmethod
    def joined(cls, parts: Iterable["Trials"]) -> "Trials":
        """Trials of all parts together; parts without trials do not count."""
        counts = [part for part in parts if part.most]
        return cls(min(part.fewest for part in counts), max(part.most for part in counts)) if counts else NO_TRIALS

    def __str__(self) -> str:
        if not self.most:
            return ""
        return f"{self.most}" if self.fewest == self.most else f"{self.fewest} to {self.most}"


NO_TRIALS = Trials(0, 0)


class Estimate(NamedTuple):
    """A mean over trials, its standard error and degrees of freedom, and the number of trials."""

    mean: float
    error: float
    freedom: float
    trials: Trials

    @classmethod
    def of(cls, values: Floats) -> "Estimate":
        """Estimate the mean of independent trials."""
        if len(values) < 2:
            raise StoreError(TOO_FEW)
        count = len(values)
        error = float(np.std(values, ddof=1) / np.sqrt(count))
        return cls(float(np.mean(values)), error, count - 1, Trials(count, count))

    @classmethod
    def average(cls, parts: Sequence["Estimate"]) -> "Estimate":
        """Plain mean of independent estimates."""
        return cls(
            float(np.mean([part.mean for part in parts])),
            float(np.sqrt(sum(part.error**2 for part in parts))) / len(parts),
            sum(part.freedom for part in parts),
            Trials.joined(part.trials for part in parts),
        )

    @property
    def standardized(self) -> float:
        """Mean in standard errors."""
        return self.mean / self.error if self.error > 0 else float(np.copysign(np.inf, self.mean) if self.mean else 0.0)

    def __sub__(self, other: "Estimate") -> "Estimate":
        """Difference of two independent estimates (Welch)."""
        squares = self.error**2, other.error**2
        spread = squares[0] ** 2 / self.freedom + squares[1] ** 2 / other.freedom
        freedom = (squares[0] + squares[1]) ** 2 / spread if spread > 0 else self.freedom + other.freedom
        trials = Trials.joined([self.trials, other.trials])
        return Estimate(self.mean - other.mean, float(np.sqrt(sum(squares))), freedom, trials)


class Statement(NamedTuple):
    """What a claim says about one mean; its level follows from the number of statements of the claim.

    Parameters
    ----------
    text : str
        The statement in words.
    estimate : Estimate
        The mean that it is about.
    bound : float
    direction : {"above", "below", "within"}
        Whether the mean lies above the bound, below it, or between −bound and bound.
    candidates : int
        Number of means from which this one was selected as the strongest evidence for the statement.
    is_settled_by_trials : bool
        Whether more trials would decide it; False if its unit is not the trial.
    """

    text: str
    estimate: Estimate
    bound: float
    direction: Direction = "above"
    candidates: int = 1
    is_settled_by_trials: bool = True

    @property
    def trials(self) -> Trials:
        """Trials behind the mean."""
        return self.estimate.trials

    @property
    def distance(self) -> float:
        """How far the mean lies on the right side of the bound."""
        if self.direction == "above":
            return self.estimate.mean - self.bound
        return self.bound - (abs(self.estimate.mean) if self.direction == "within" else self.estimate.mean)


class IntervalStatement(NamedTuple):
    """What a claim says about a quantity with an interval of its own, or an exact one; judged by that interval."""

    text: str
    estimate: float
    low: float
    high: float
    bound: float
    direction: Literal["above", "below"] = "above"
    trials: Trials = NO_TRIALS


class Evidence(NamedTuple):
    """A tested statement: its text, the estimate with a 95% interval, and the outcome."""

    statement: str
    estimate: float
    low: float
    high: float
    outcome: Outcome
    trials_needed: int | None = None


def judge(statement: Statement | IntervalStatement, level: Level) -> Evidence:
    """Test a statement and its opposite.

    Examples
    --------
    >>> trials = Estimate.of(np.array([0.3, 0.5, 0.4, 0.6, 0.2]))
    >>> judge(Statement("T > 0", trials, 0.0), Level(0.05, 0.05)).outcome
    'supports'
    >>> judge(Statement("T > 1", trials, 1.0), Level(0.05, 0.05)).outcome
    'contradicts'
    """
    if isinstance(statement, IntervalStatement):
        return _judged_by_interval(statement)
    own = Level(level.support / statement.candidates, level.contradict)
    estimate, outcome = statement.estimate, _outcome(statement, own)
    needed = _trials_needed(statement, own) if outcome == "undecided" and statement.is_settled_by_trials else None
    half = estimate.error * float(special.stdtrit(estimate.freedom, 0.975))
    return Evidence(statement.text, estimate.mean, estimate.mean - half, estimate.mean + half, outcome, needed)


def verdict(evidence: Sequence[Evidence]) -> Verdict:
    """Verdict on a claim from all its evidence."""
    outcomes = {one.outcome for one in evidence}
    if not outcomes:
        return "no data"
    if "contradicts" in outcomes:
        return "not reproduced"
    return "not enough trials" if "undecided" in outcomes else "reproduced"


def _judged_by_interval(statement: IntervalStatement) -> Evidence:
    text, estimate, low, high, bound, direction, _ = statement
    is_above, is_below = low > bound, high < bound
    holds, fails = (is_above, is_below) if direction == "above" else (is_below, is_above)
    return Evidence(text, estimate, low, high, "supports" if holds else "contradicts" if fails else "undecided")


def _outcome(statement: Statement, level: Level) -> Outcome:
    """Test how far the mean lies on the right side of its bound; "within" amounts to two one-sided tests."""
    estimate, distance = statement.estimate, statement.distance
    if estimate.error > 0:
        score = distance / estimate.error
        holds, fails = special.stdtr(estimate.freedom, -score), special.stdtr(estimate.freedom, score)
    else:
        holds, fails = float(distance <= 0), float(distance >= 0)
    return "supports" if holds < level.support else "contradicts" if fails < level.contradict else "undecided"


def _trials_needed(statement: Statement, level: Level) -> int | None:
    """Trials that would settle the question with 80% power if the distance is as estimated; None if it is 0."""
    estimate, distance = statement.estimate, statement.distance
    if distance == 0:
        return None
    wanted = -special.ndtri(level.support if distance > 0 else level.contradict) - special.ndtri(1 - POWER)
    return int(np.ceil(estimate.trials.most * (wanted * estimate.error / distance) ** 2))
