"""Differences between two sets of trials, and their distribution under chance alone.

Each test takes `new` and `old` (trials, columns), NaN where a trial has no value. All columns of a trial are resampled
together, so that the level of the largest of many statistics holds however they depend on each other.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Floats

DRAWS = 4_999


class Differences(NamedTuple):
    """Trials and means of the columns, their differences with standard errors, and |t| of every random draw."""

    trials: NDArray[np.int64]
    new: Floats
    old: Floats
    difference: Floats
    error: Floats
    chance: Floats

    @property
    def statistic(self) -> Floats:
        """|t| as observed."""
        return _ratio(self.difference, self.error)


def paired(new: Floats, old: Floats, rng: np.random.Generator) -> Differences:
    """Compare the same trials run twice; chance is simulated by flipping the signs of whole trials' differences.

    Examples
    --------
    >>> new = np.array([[0.5], [0.7], [0.6]])
    >>> paired(new, new - 0.1, np.random.default_rng(0)).difference.round(6)
    array([0.1])
    """
    differences = new - old
    trials = (~np.isnan(differences)).sum(axis=0)
    filled = np.nan_to_num(differences)
    squares = (filled**2).sum(axis=0)

    def judge(signs: Floats) -> tuple[Floats, Floats]:
        means = signs @ filled / np.maximum(trials, 1)
        return means, np.sqrt(_variance(squares, means, trials) / np.maximum(trials, 1))

    observed, error = judge(np.ones((1, len(filled))))
    chance = _ratio(*judge(rng.choice([-1.0, 1.0], (DRAWS, len(filled)))))
    both = np.where(np.isnan(differences), np.nan, 1.0)
    return Differences(trials, column_means(new * both), column_means(old * both), observed[0], error[0], chance)


def unpaired(new: Floats, old: Floats, rng: np.random.Generator) -> Differences:
    """Compare different trials; chance is simulated by reassigning all trials to the two sets.

    Examples
    --------
    >>> trials = np.arange(100.0)[:, None] / 100
    >>> bool(unpaired(trials, trials + 1, np.random.default_rng(0)).statistic > 20)
    True
    """
    values = np.concatenate([new, old])
    present = (~np.isnan(values)).astype(float)
    filled = np.nan_to_num(values)

    def judge(is_new: Floats) -> tuple[Floats, Floats]:
        sides = [_moments(side, filled, present) for side in (is_new, 1 - is_new)]
        (mean_new, error_new), (mean_old, error_old) = sides
        return mean_new - mean_old, np.sqrt(error_new + error_old)

    is_new = (np.arange(len(values)) < len(new)).astype(float)
    observed, error = judge(is_new[None])
    chance = _ratio(*judge(rng.permuted(np.tile(is_new, (DRAWS, 1)), axis=1)))
    trials = np.minimum((~np.isnan(new)).sum(axis=0), (~np.isnan(old)).sum(axis=0))
    return Differences(trials, column_means(new), column_means(old), observed[0], error[0], chance)


def column_means(values: Floats) -> Floats:
    """Means of the columns, ignoring missing values; NaN if all are missing.

    Examples
    --------
    >>> column_means(np.array([[1.0, np.nan], [2.0, np.nan]]))
    array([1.5, nan])
    """
    counts = (~np.isnan(values)).sum(axis=0)
    means: Floats = np.nansum(values, axis=0) / np.where(counts > 0, counts, np.nan)
    return means


def critical_value(largest: Floats, level: float) -> float:
    """Value that the largest |t| of all columns exceeds by chance with probability at most `level`.

    It is slightly larger than the quantile, so that rounding errors do not count as a change.

    Examples
    --------
    >>> round(critical_value(np.arange(999.0), 0.01), 3)
    989.0
    """
    rank = int(level * (largest.size + 1))
    return float(np.partition(largest, -rank)[-rank]) * (1 + 1e-9)


def _moments(side: Floats, filled: Floats, present: Floats) -> tuple[Floats, Floats]:
    """Means (draws, columns) of the trials on one side, and the squares of their standard errors."""
    trials = side @ present
    means = side @ filled / np.maximum(trials, 1)
    return means, _variance(side @ filled**2, means, trials) / np.maximum(trials, 1)


def _variance(squares: Floats, means: Floats, trials: Any) -> Floats:
    """Variance from Σ d², with rounding noise set to zero; infinite for fewer than two trials."""
    mean_square = squares / np.maximum(trials, 1)
    variance = mean_square - means**2
    variance = np.where(variance > 1e-12 * mean_square, variance, 0.0)
    return np.where(trials > 1, variance * trials / np.maximum(trials - 1, 1), np.inf)


def _ratio(difference: Floats, error: Floats) -> Floats:
    """|difference| / error, where 0 / 0 is 0 and any other difference with error 0 is infinitely large."""
    size = np.abs(difference)
    clear = np.where(size > 0, np.inf, 0.0)
    return np.divide(size, error, out=clear, where=error > 0)
