"""Numeric columns of a mixture: features of the rows whose weighted sums are all that a Gaussian needs.

With a diagonal covariance the features of a row are every x and x²; with a full one they are 1, every x and every
product x_d x_e with e ≤ d. The log-density of a class is linear in them, with coefficients that `gaussians` computes. A
missing number is 0 in all its features. Where the covariance is full the coefficients depend on which numbers are
observed: the rows are sorted by these *patterns*, and each has coefficients and sums of its own.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.latent.elementary import larger
from ciabench.latent.lanes import load, spread, store

BLOCK = 16
"""Rows processed together, so that the sums of one row do not wait for those of another."""

TILE = 4
"""Rows or features whose sums are kept in registers at a time; `BLOCK` and the number of features are multiples."""


class Numbers(NamedTuple):
    """Numbers of all rows and their patterns.

    Parameters
    ----------
    values : array (s, m)
        Standardised numbers; 0 where missing.
    is_full : bool
        Whether the covariance is full.
    observed : array (p, m) of bool
        Numbers that are observed in the rows of each pattern; one pattern, all True, if the covariance is diagonal.
    bounds : array (p + 1,)
        The rows of pattern p are bounds[p] to bounds[p + 1].
    totals : array (p, features)
        Weighted sums of the features.
    every : array (m,) of bool
        A pattern in which all numbers are observed.
    """

    values: Floats
    is_full: bool
    observed: NDArray[np.bool_]
    bounds: NDArray[np.int64]
    totals: Floats
    every: NDArray[np.bool_]


def sort_by_pattern(numbers: Floats) -> NDArray[np.intp]:
    """Order of the rows (s, m) in which those with the same observed numbers are neighbours."""
    return np.lexsort(np.isnan(numbers).T)


def make_numbers(numbers: Floats, counts: Floats, *, full: bool) -> Numbers:
    """Numbers of rows (s, m), which are sorted by pattern if the covariance is full."""
    n_samples, n_numbers = numbers.shape
    bounds, every = np.array([0, n_samples]), np.ones(n_numbers, dtype=bool)
    observed = every[None]
    if not n_numbers:
        return Numbers(numbers, False, observed, bounds, np.empty((1, 0)), every)
    is_observed = ~np.isnan(numbers)
    if full:
        changes = np.flatnonzero((is_observed[1:] != is_observed[:-1]).any(axis=1)) + 1
        bounds = np.concatenate([[0], changes, [n_samples]])
        observed = is_observed[bounds[:-1]]
    values = np.where(is_observed, numbers, 0.0)
    totals = np.zeros((len(observed), n_features(n_numbers, full)))
    sum_features(values, full, bounds, counts, totals)
    return Numbers(values, full, observed, bounds, totals, every)


def n_features(n_numbers: int, full: bool) -> int:
    """Number of features, rounded up to whole tiles."""
    needed = 1 + n_numbers + n_numbers * (n_numbers + 1) // 2 if full else 2 * n_numbers
    return -(-needed // TILE) * TILE


@njit(error_model="numpy")
def fill_features(values: Floats, is_full: bool, start: int, stop: int, features: Floats) -> None:
    """Features (BLOCK, ·) of the rows from `start` to `stop`; those of further rows, and the padding, are 0."""
    n_numbers = values.shape[1]
    features[:] = 0.0
    for row in range(start, stop):
        line, x = features[row - start], values[row]
        if not is_full:
            for d in range(n_numbers):
                line[2 * d], line[2 * d + 1] = x[d], x[d] * x[d]
            continue
        line[0], place = 1.0, 1 + n_numbers
        for d in range(n_numbers):
            line[1 + d] = x[d]
            for e in range(d + 1):
                line[place] = x[d] * x[e]
                place += 1


@njit(cache=True, nogil=True)
def sum_features(values: Floats, is_full: bool, bounds: NDArray[np.int64], counts: Floats, totals: Floats) -> None:
    """Add the features of all rows to the `totals` (p, ·) of their patterns."""
    features = np.zeros((BLOCK, totals.shape[1]))
    for p in range(bounds.size - 1):
        for start in range(bounds[p], bounds[p + 1], BLOCK):
            stop = min(start + BLOCK, bounds[p + 1])
            fill_features(values, is_full, start, stop, features)
            for row in range(start, stop):
                for f in range(totals.shape[1]):
                    totals[p, f] += counts[row] * features[row - start, f]


@njit(error_model="numpy")
def add_scores(features: Floats, lines: Floats, first: int, chances: Floats, place: int) -> None:
    """Add to the log-odds of a block of rows what their features contribute; coefficients begin at line `first`."""
    for row in range(0, BLOCK, TILE):
        line = place + row
        one, two, three, four = (
            load(chances, line),
            load(chances, line + 1),
            load(chances, line + 2),
            load(chances, line + 3),
        )
        for f in range(features.shape[1]):
            coefficient = load(lines, first + f)
            one += features[row, f] * coefficient
            two += features[row + 1, f] * coefficient
            three += features[row + 2, f] * coefficient
            four += features[row + 3, f] * coefficient
        store(chances, line, one)
        store(chances, line + 1, two)
        store(chances, line + 2, three)
        store(chances, line + 3, four)


@njit(error_model="numpy")
def count_features(features: Floats, n_rows: int, chances: Floats, place: int, counts: Floats, first: int) -> None:
    """Add the features of a block of rows, times their chances, to the expected sums that begin at line `first`."""
    for f in range(0, features.shape[1], TILE):
        line = first + f
        one, two, three, four = (
            load(counts, line),
            load(counts, line + 1),
            load(counts, line + 2),
            load(counts, line + 3),
        )
        for row in range(n_rows):
            chance = load(chances, place + row)
            one += features[row, f] * chance
            two += features[row, f + 1] * chance
            three += features[row, f + 2] * chance
            four += features[row, f + 3] * chance
        store(counts, line, one)
        store(counts, line + 1, two)
        store(counts, line + 2, three)
        store(counts, line + 3, four)


@njit(error_model="numpy")
def first_chances(chances: Any, others: int, counts: Floats, rest: Floats) -> None:
    """Counts · P(first class | x) of a block of rows, from those of the others."""
    zero = spread(0.0)
    for row in range(counts.size):
        value = spread(counts[row])
        for z in range(others):
            value -= load(chances, z * BLOCK + row)
        store(rest, row, larger(value, zero))
