"""Estimates from trials, with intervals that hold at all numbers of trials at once, and judged statements."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from ciabench.arrays import Floats
from ciabench.errors import StoreError
from ciabench.findings.sequences import FIRST_LOOK, bound

Point = tuple[str, str, int]
"""Where T is measured: name of a world, name of a learner, number of examples."""

Outcome = Literal["supports", "contradicts", "on the margin", "undecided"]

TOO_FEW = "At least two trials are needed to estimate an error."
CONFIDENCE = 0.95
ALWAYS_VALID = "always valid"


class Level(NamedTuple):
    """Error rates of one end of an interval: the end that supports a statement, and the one that contradicts it.

    Examples
    --------
    >>> Level.of_claim(0.01, statements=4)
    Level(support=0.01, contradict=0.0025)
    """

    support: float
    contradict: float

    @classmethod
    def of_claim(cls, error_rate: float, statements: int) -> "Level":
        """Levels of a claim with that many statements.

        All of them must be shown, which needs no correction; a single one suffices to contradict the claim.
        """
        return cls(error_rate, error_rate / statements)


class Trials(NamedTuple):
    """Number of trials behind a result: the fewest and the most, if worlds, sizes or learners differ.

    Examples
    --------
    >>> str(Trials(100, 100)), str(Trials.joined([Trials(40, 100), Trials(3000, 3000)])), str(NO_TRIALS)
    ('100', '40 to 3,000', '')
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
        return f"{self.most:,}" if self.fewest == self.most else f"{self.fewest:,} to {self.most:,}"


NO_TRIALS = Trials(0, 0)


class Estimate(NamedTuple):
    """A mean over trials, with all that a confidence sequence needs, and the points that it is computed from."""

    n_trials: int
    mean: float
    deviation: float
    skewness: float
    points: tuple[Point, ...] = ()

    @classmethod
    def of(cls, values: Floats) -> "Estimate":
        """Estimate the mean of independent trials."""
        if len(values) < 2:
            raise StoreError(TOO_FEW)
        mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
        third = float(np.mean((values - mean) ** 3))
        return cls(len(values), mean, deviation, third / deviation**3 if deviation > 0 else 0.0)

    @property
    def error(self) -> float:
        """Standard error; NaN without trials."""
        return self.deviation / float(np.sqrt(self.n_trials)) if self.n_trials else np.nan

    @property
    def trials(self) -> Trials:
        """Number of trials."""
        return Trials(self.n_trials, self.n_trials)

    def low(self, level: float) -> float:
        """Lower end of the confidence sequence; −∞ before the first look."""
        return float(bound(*self[:4], level, "low"))

    def high(self, level: float) -> float:
        """Upper end of the confidence sequence; ∞ before the first look."""
        return float(bound(*self[:4], level, "high"))


class Sample(NamedTuple):
    """A mean of units that are not trials, such as pairs of words: its intervals are t intervals, to be read once."""

    mean: float
    error: float
    freedom: float
    trials: Trials = NO_TRIALS

    @classmethod
    def of(cls, values: Floats) -> "Sample":
        """Estimate the mean of independent units."""
        found = Estimate.of(values)
        return cls(found.mean, found.error, found.n_trials - 1, found.trials)

    def low(self, level: float) -> float:
        """Lower end of the t interval."""
        return self.mean + self.error * float(special.stdtrit(self.freedom, level))

    def high(self, level: float) -> float:
        """Upper end of the t interval."""
        return self.mean - self.error * float(special.stdtrit(self.freedom, level))


class Evidence(NamedTuple):
    """A judged statement.

    Parameters
    ----------
    statement : str
    estimate : float
    error : float
        Its standard error; NaN if it has none.
    low : float
        Lower end of the interval that decides; −∞ if there is no look yet.
    high : float
        Upper end.
    outcome : {"supports", "contradicts", "on the margin", "undecided"}
    distance : float
        How far the estimate lies on the right side of the margin; negative on the wrong side.
    kind : {"always valid", "t", "95%", "exact"}
        Kind of the interval.
    trials_needed : int, optional
        If it is undecided: the number of trials at which it would be decided, were the estimate true.
    """

    statement: str
    estimate: float
    error: float
    low: float
    high: float
    outcome: Outcome
    distance: float
    kind: str
    trials_needed: int | None = None

    @property
    def measured(self) -> str:
        """Estimate with its standard error, if it has one.

        Examples
        --------
        >>> Evidence("T above 0", 0.1, 0.02, 0.03, 0.17, "supports", 0.1, "always valid").measured
        '0.100 ± 0.020'
        """
        return f"{self.estimate:.3f}" + (f" ± {self.error:.3f}" if np.isfinite(self.error) else "")

    @property
    def interval(self) -> str:
        """Interval that decides, with its kind unless it is always valid.

        Examples
        --------
        >>> Evidence("share", 0.5, np.nan, 0.25, 0.75, "undecided", 0.1, "95%").interval
        '0.250 … 0.750 (95%)'
        >>> Evidence("T above 0", 0.1, 0.02, -np.inf, np.inf, "undecided", 0.1, "always valid").interval
        'none before 500 trials'
        """
        if self.kind == ALWAYS_VALID and not np.isfinite([self.low, self.high]).any():
            return f"none before {FIRST_LOOK} trials"
        return f"{self.low:.3f} … {self.high:.3f}" + ("" if self.kind == ALWAYS_VALID else f" ({self.kind})")
