"""The data of a mixture: a design matrix of bits, cut into pieces that its rows share.

The last column of the design matrix is 1:

    complete    [ x | 1 ]                  (s, a + 1)
    missing     [ x = 1 | observed | 1 ]   (s, 2a + 1)

The problem's `Layout` says which of the two it is. Its columns are cut into groups of four, and a row holds one of 16
patterns in each group: its *pieces*. Only products with the matrix are needed, never the matrix itself: once the
columns of every piece have been summed, a row adds a quarter as many numbers as it has columns. The pieces of a sparse
row are the columns of its ones.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from ciabench.arrays import Bits, Floats

GROUP = 4
"""Columns per piece; with twice as many, the sums over all pieces would no longer fit the fastest cache."""


class Incidence(NamedTuple):
    """Lists of members: those of owner i are `members[starts[i] : starts[i + 1]]`.

    All are unsigned, so that numba need not check for negative indices.
    """

    starts: NDArray[np.uint64]
    members: NDArray[Any]


class Layout(NamedTuple):
    """Columns of a design matrix: attributes, whether each also has a column `observed`, and a last column of ones."""

    n_attributes: int
    has_missing: bool


class Problem(NamedTuple):
    """The distinct rows in pieces, how often each row occurs, and the prior's pseudo-count.

    `rows` lists the pieces of each row, `pieces` the columns of each piece, `columns` the pieces of each column;
    `totals` are the weighted column sums of the design matrix.
    """

    rows: Incidence
    pieces: Incidence
    columns: Incidence
    counts: Floats
    totals: Floats
    layout: Layout
    smoothing: float


def make_problem(rows: Any, counts: Floats, smoothing: float = 0.0) -> Problem:
    """Problem of rows (s, a) that occur `counts` (s,) times: integers 0/1, floats with NaN, or a sparse matrix."""
    n_attributes = rows.shape[1]
    if sparse.issparse(rows):
        design: Any = sparse.hstack([rows, np.ones((rows.shape[0], 1))], format="csr", dtype=np.float64)
        columns = np.arange(n_attributes + 1)
        same = incidence(np.arange(columns.size + 1), columns)
        pieces = incidence(design.indptr, design.indices)
        return Problem(pieces, same, same, counts, design.T @ counts, Layout(n_attributes, False), smoothing)
    if rows.dtype.kind == "f":
        bits = np.column_stack([rows == 1, ~np.isnan(rows)]).view(np.uint8)
        return dense_problem(bits, counts, smoothing)._replace(layout=Layout(n_attributes, True))
    return dense_problem(*distinct(rows.astype(np.uint8, copy=False), counts), smoothing)


def dense_problem(bits: Bits, counts: Floats, smoothing: float = 0.0) -> Problem:
    """Problem of complete rows of bits (s, a), which are not merged."""
    n_samples, n_columns = bits.shape
    members, totals = np.empty((n_samples, n_columns // GROUP + 1), dtype=np.uint32), np.zeros(n_columns + 1)
    cut(bits, counts, members, totals)
    pieces = incidence(np.arange(0, members.size + 1, members.shape[1]), members)
    return Problem(pieces, *pieces_and_columns(n_columns + 1), counts, totals, Layout(n_columns, False), smoothing)


def distinct(rows: Bits, counts: Floats) -> tuple[Bits, Floats]:
    """Merge equal rows if there are so few attributes that many must be equal; rows are then sorted by count."""
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
    """Fill in the pieces of every row of [bits | 1], and add its columns to `totals`, which start at 0."""
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
    """Columns of every piece, and pieces of every column."""
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
    """Incidence with members of two bytes where they fit, because they are read repeatedly."""
    width = np.uint16 if members.max(initial=0) < 2**16 else np.uint32
    return Incidence(starts.astype(np.uint64), members.ravel().astype(width))
