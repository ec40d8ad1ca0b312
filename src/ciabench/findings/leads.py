"""Which of two ways to learn leads on a table, judged by paired splits of its rows into training and test rows.

A way has several learners. In every split it is represented by the learner that is best on the rows outside the test
part, as the other splits judge it, so that the choice never sees the rows on which it is judged. The differences of the
representatives get the corrected resampled t of Nadeau & Bengio (2003): splits share most of their training rows, and
the usual variance of a mean would be far too small. Nor is the variance taken to be less than that of two fixed rules
tested once on all rows, which splits that agree by chance would suggest.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from ciabench.arrays import Floats
from ciabench.errors import DataError, ParameterError

LEAD, SAME, UNDECIDED = "lead", "same", "undecided"

DIGITS = 2
"""Significant digits of a number of rows that is extrapolated."""


class SplitHits(NamedTuple):
    """What became of the test rows of one split.

    Parameters
    ----------
    rows : array of int (n_test,)
        Positions of the test rows in the table, all different.
    hits : mapping of str to array of bool (n_test,)
        Whether each learner was right on them.
    """

    rows: NDArray[np.intp]
    hits: Mapping[str, NDArray[np.bool_]]


class Interval(NamedTuple):
    """A difference of two accuracies with its interval.

    Parameters
    ----------
    difference : float
        Accuracy of the first less that of the second, mean over splits.
    low, high : float
        Ends of the interval; infinite if there is only one split.
    n_splits : int
        Number of splits.
    n_rows : float
        Training and test rows of a split, mean over splits.
    """

    difference: float
    low: float
    high: float
    n_splits: int
    n_rows: float

    def answer(self, margin: float = 0.01) -> str:
        """One of "lead" (0 is outside), "same" (no end is beyond ± margin), and "undecided".

        Examples
        --------
        >>> Interval(0.03, 0.01, 0.05, 15, 900).answer(), Interval(0.001, -0.005, 0.007, 15, 900).answer()
        ('lead', 'same')
        """
        if self.low > 0 or self.high < 0:
            return LEAD
        return SAME if -margin <= self.low and self.high <= margin else UNDECIDED

    def rows_needed(self, margin: float = 0.01) -> int | None:
        """Rows with which an undecided interval would decide, if the difference stays what it is.

        The half-width falls as the square root of the number of rows. It must fall to the difference (a lead), or to
        what the difference leaves of the margin (no difference that matters), whichever comes first. None if the
        interval decides already, or is infinite.

        Examples
        --------
        >>> Interval(0.02, -0.02, 0.06, 15, 900).rows_needed()
        3600
        """
        half_width = (self.high - self.low) / 2
        if self.answer(margin) != UNDECIDED or not math.isfinite(half_width):
            return None
        target = max(abs(self.difference), margin - abs(self.difference))
        return _rounded_up(self.n_rows * (half_width / target) ** 2)

    def reversed(self) -> "Interval":
        """The second less the first."""
        return self._replace(difference=-self.difference, low=-self.high, high=-self.low)


class Lead(NamedTuple):
    """Which way leads, by how much, and whether that is certain.

    Parameters
    ----------
    leader, other : str
        The way with the larger mean accuracy, and the other.
    difference, low, high : float
        Accuracy of the leader less that of the other, with its interval.
    n_splits : int
        Number of splits.
    answer : str
        "lead" if 0 is outside the interval; "same" if the interval lies inside ± the margin; otherwise "undecided".
    rows_needed : int or None
        Rows with which an undecided comparison would be decided, if the difference stays what it is.
    representatives : dict of str to str
        Learner that represented each way most often.
    """

    leader: str
    other: str
    difference: float
    low: float
    high: float
    n_splits: int
    answer: str
    rows_needed: int | None
    representatives: dict[str, str]


def compare_ways(
    splits: Sequence[SplitHits],
    ways: Mapping[str, Sequence[str]],
    n_train: float,
    *,
    margin: float = 0.01,
    level: float = 0.95,
) -> Lead:
    """Compare two ways to learn, each represented by the best of its learners.

    Parameters
    ----------
    splits : sequence of SplitHits
        Splits of one table, with the hits of all learners.
    ways : mapping of str to sequence of str
        The names of the two ways, with the names of their learners; of learners that are equally good, the first one
        represents its way.
    n_train : float
        Training rows of a split, mean over splits.
    margin : float
        Largest difference of accuracies that does not matter.
    level : float
        Level of the interval.

    References
    ----------
    .. [1] C. Nadeau & Y. Bengio (2003). Inference for the generalization error. Machine Learning 52.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> right = {"mixture": 0.95, "forest": 0.6, "linear": 0.8}
    >>> table = {name: rng.random(300) < share for name, share in right.items()}
    >>> tested = [rng.choice(300, 100, replace=False) for _ in range(15)]
    >>> splits = [SplitHits(rows, {name: hits[rows] for name, hits in table.items()}) for rows in tested]
    >>> lead = compare_ways(splits, {"model": ["mixture"], "direct": ["forest", "linear"]}, n_train=200)
    >>> lead.leader, lead.answer, lead.representatives["direct"]
    ('model', 'lead', 'linear')
    """
    if len(ways) != 2:
        raise ParameterError(f"ways must name two ways to learn; got {len(ways)}.")
    _check(splits)
    (first, of_first), (second, of_second) = ways.items()
    chosen = _representatives(splits, (of_first, of_second))
    found = _interval([(split, *pair) for split, pair in zip(splits, zip(*chosen, strict=True), strict=True)],
                      n_train, level)  # fmt: skip
    most = {way: Counter(names).most_common(1)[0][0] for way, names in zip(ways, chosen, strict=True)}
    if found.difference < 0:
        first, second, found = second, first, found.reversed()
    return Lead(first, second, found.difference, found.low, found.high, found.n_splits,
                found.answer(margin), found.rows_needed(margin), most)  # fmt: skip


def paired(splits: Sequence[SplitHits], first: str, second: str, n_train: float, *, level: float = 0.95) -> Interval:
    """Accuracy of one learner less that of another, with the same corrected interval.

    Parameters
    ----------
    splits : sequence of SplitHits
        Splits of one table, with the hits of both learners.
    first, second : str
        Names of the learners.
    n_train : float
        Training rows of a split, mean over splits.
    level : float
        Level of the interval.

    Examples
    --------
    >>> hits = {"a": np.array([True, True]), "b": np.array([True, False])}
    >>> paired([SplitHits(np.array([0, 1]), hits)] * 2, "a", "b", n_train=8).difference
    0.5
    """
    _check(splits)
    return _interval([(split, first, second) for split in splits], n_train, level)


def _check(splits: Sequence[SplitHits]) -> None:
    if not splits:
        raise DataError("there are no splits to compare learners on.")


def _representatives(splits: Sequence[SplitHits], ways: Iterable[Sequence[str]]) -> list[list[str]]:
    """Learner of each way in each split: the one that was right most often outside the test part, in all splits.

    All learners are tested on the same rows, so that numbers of hits are compared in place of accuracies. If no other
    rows were ever tested, all tests count.
    """
    names = [name for way in ways for name in way]
    n_rows = 1 + max(int(split.rows.max()) for split in splits)
    right, tests = np.zeros((n_rows, len(names)), dtype=np.int32), np.zeros(n_rows, dtype=np.int32)
    for split in splits:
        right[split.rows] += np.column_stack([split.hits[name] for name in names])
        tests[split.rows] += 1
    total, n_tests = right.sum(axis=0), tests.sum()
    inside = np.array([right[split.rows].sum(axis=0) for split in splits])
    is_outside = np.array([tests[split.rows].sum() < n_tests for split in splits])
    scores = np.where(is_outside[:, None], total - inside, total)
    places = {name: place for place, name in enumerate(names)}
    return [[way[best] for best in scores[:, [places[name] for name in way]].argmax(axis=1)] for way in ways]


def _interval(pairs: Sequence[tuple[SplitHits, str, str]], n_train: float, level: float) -> Interval:
    """Corrected resampled t of the differences between two learners, which may be others in every split."""
    by_row = [np.subtract(split.hits[one], split.hits[other], dtype=np.float64) for split, one, other in pairs]
    differences: Floats = np.array([one.mean() for one in by_row])
    n_splits, n_test = differences.size, float(np.mean([one.size for one in by_row]))
    mean, half_width = float(differences.mean()), math.inf
    if n_splits > 1:
        variance = float(differences.var(ddof=1)) * (1 / n_splits + n_test / n_train)
        n_tested = np.unique(np.concatenate([split.rows for split, *_ in pairs])).size
        of_fixed_rules = (float(np.mean([(one**2).mean() for one in by_row])) - mean**2) / n_tested
        error = math.sqrt(max(variance, of_fixed_rules))
        half_width = float(student.ppf((1 + level) / 2, n_splits - 1)) * error
    return Interval(mean, mean - half_width, mean + half_width, n_splits, n_train + n_test)


def _rounded_up(number: float) -> int:
    """A number rounded up to two digits."""
    unit = 10.0 ** max(math.floor(math.log10(number)) + 1 - DIGITS, 0)
    return int(math.ceil(number / unit) * unit)
