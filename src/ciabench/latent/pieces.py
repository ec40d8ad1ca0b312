"""The data of a mixture: a design matrix of bits, cut into pieces that its rows share.

The last column of the design matrix is 1:

    complete    [ x | 1 ]                  (s, a + 1)
    missing     [ x = 1 | observed | 1 ]   (s, 2a + 1)

Its columns are cut into groups of four, and a row holds one of 16 patterns in each: its *pieces*. What is wanted is
never the matrix itself but products with it; with the sums over the columns of every piece at hand, a row adds up a
quarter as many numbers as it has columns. The pieces of a sparse row are the columns of its ones.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from ciabench.arrays import Bits, Floats

GROUP = 4
"""Columns that make a piece: sums over the pieces of twice as many would leave the fastest cache."""


class Incidence(NamedTuple):
    """Which members belong to whom: those of i are `members[starts[i] : starts[i + 1]]`.

    All are unsigned, for which numba does not ask whether they count from the end.
    """

    starts: NDArray[np.uint64]
    members: NDArray[Any]


class Problem(NamedTuple):
    """Pieces of the distinct rows and how often each occurs, columns of the pieces, and the prior's pseudo-count.

    `rows` tells the pieces of each row, `pieces` the columns of each piece, `columns` the pieces of each column.
    """

    rows: Incidence
    pieces: Incidence
    columns: Incidence
    counts: Floats
    totals: Floats
    n_attributes: int
    smoothing: float


def make_problem(rows: Any, counts: Floats, smoothing: float = 0.0) -> Problem:
    """Pieces of 0/1 (or NaN) rows (s, a), dense or sparse, that occur `counts` (s,) times."""
    n_attributes = rows.shape[1]
    if sparse.issparse(rows):
        design: Any = sparse.hstack([rows, np.ones((rows.shape[0], 1))], format="csr", dtype=np.float64)
        columns = np.arange(n_attributes + 1)
        same = incidence(np.arange(columns.size + 1), columns)
        pieces = incidence(design.indptr, design.indices)
        return Problem(pieces, same, same, counts, design.T @ counts, n_attributes, smoothing)
    if rows.dtype.kind == "f":
        bits = np.column_stack([rows == 1, ~np.isnan(rows)]).view(np.uint8)
        return dense_problem(bits, counts, smoothing)._replace(n_attributes=n_attributes)
    return dense_problem(*distinct(rows, counts), smoothing)


def dense_problem(bits: Bits, counts: Floats, smoothing: float = 0.0) -> Problem:
    """Pieces of the rows of [bits | 1], as they are."""
    n_samples, n_columns = bits.shape
    members, totals = np.empty((n_samples, n_columns // GROUP + 1), dtype=np.uint32), np.zeros(n_columns + 1)
    cut(bits, counts, members, totals)
    pieces = incidence(np.arange(0, members.size + 1, members.shape[1]), members)
    return Problem(pieces, *pieces_and_columns(n_columns + 1), counts, totals, n_columns, smoothing)


def distinct(rows: Bits, counts: Floats) -> tuple[Bits, Floats]:
    """Merge equal rows where there are so few attributes that many must be equal; equal counts come together."""
    n_samples, n_attributes = rows.shape
    if 2**n_attributes > 4 * n_samples:
        return rows, counts
    codes = rows @ (1 << np.arange(n_attributes))
    merged = np.bincount(codes, weights=counts, minlength=2**n_attributes).astype(np.float64)
    present = np.flatnonzero(merged)
    present = present[np.argsort(merged[present], kind="stable")]
    return (present[:, None] >> np.arange(n_attributes) & 1).astype(np.uint8), merged[present]


@njit(cache=True, nogil=True)
def cut(bits: Bits, counts: Floats, pieces: NDArray[np.uint32], totals: Floats) -> None:
    """Pieces of every row of [bits | 1], and its column totals, which are 0 before."""
    n_samples, n_columns = bits.shape
    for row in range(n_samples):
        for group in range(pieces.shape[1]):
            pattern, first = 0, group * GROUP
            for i in range(first, min(first + GROUP, n_columns)):
                pattern |= bits[row, i] << (i - first)
                totals[i] += bits[row, i] * counts[row]
            pieces[row, group] = (group << GROUP) + pattern
        pieces[row, -1] += 1 << (n_columns % GROUP)
        totals[-1] += counts[row]


@lru_cache(maxsize=16)
def pieces_and_columns(n_columns: int) -> tuple[Incidence, Incidence]:
    """Columns of all patterns of all groups, and pieces of all columns."""
    columns = np.arange(n_columns)
    has_one = np.arange(2**GROUP)[:, None] >> np.arange(GROUP) & 1 == 1
    patterns_with = np.array([np.flatnonzero(ones) for ones in has_one.T])
    of_columns = (columns // GROUP << GROUP)[:, None] + patterns_with[columns % GROUP]
    in_group = np.arange(-(-n_columns // GROUP))[:, None, None] * GROUP + np.arange(GROUP)
    is_member = has_one & (in_group < n_columns)
    of_pieces = np.broadcast_to(in_group, is_member.shape)[is_member]
    starts = np.append(0, np.cumsum(is_member.sum(axis=2)))
    return incidence(starts, of_pieces), incidence(np.arange(0, of_columns.size + 1, len(has_one) // 2), of_columns)


def incidence(starts: NDArray[Any], members: NDArray[Any]) -> Incidence:
    """Incidence with members in two bytes where they fit, because they are read again and again."""
    width = np.uint16 if members.max(initial=0) < 2**16 else np.uint32
    return Incidence(starts.astype(np.uint64), members.ravel().astype(width))
