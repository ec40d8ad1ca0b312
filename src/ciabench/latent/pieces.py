"""The data of a mixture: a design matrix, cut into pieces that its rows share, and the numbers beside it.

A discrete attribute with v levels has v − 1 indicator columns in the design matrix, one for each level but the first;
a bit is the case of two levels. An attribute with missing cells also has a column `observed`. The last column is 1:

    [ indicators | observed | 1 ]

Neighbouring attributes are joined to groups with at most 16 or 32 patterns, and a row holds one pattern of each: its
*pieces*. Bits are joined by fours. Only products with the matrix are needed, never the matrix itself: once the columns
of every piece have been summed, a row of bits adds a quarter as many numbers as it has columns. The pieces of a sparse
row are the columns of its ones.

Numeric columns are not part of the matrix, but where the covariance is diagonal and cells are missing they have a
column `observed` in it. For a full covariance rows are sorted by which of their numbers are observed.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from ciabench.arrays import Bits, Coded, Floats
from ciabench.latent.numbers import Numbers, make_numbers

BITS = 4
"""Bits that are joined to a group."""

PATTERNS, PATTERNS_OF_LEVELS = 2**BITS, 32
"""Most patterns of a group that ends with a bit, or with more levels; with many more, the sums over all pieces would no
longer fit the fastest cache."""

MOST = 2**16
"""More than any number of levels."""

ALWAYS = -1
"""Stands for the column `observed` of an attribute that has none."""


class Incidence(NamedTuple):
    """Lists of members: those of owner i are `members[starts[i] : starts[i + 1]]`.

    All are unsigned, so that numba need not check for negative indices.
    """

    starts: NDArray[np.uint64]
    members: NDArray[Any]


class Layout(NamedTuple):
    """Columns of a design matrix.

    Parameters
    ----------
    offsets : array (c + 1,)
        The indicators of attribute i are the columns offsets[i] to offsets[i + 1].
    observed : array (c + m,)
        Column `observed` of every attribute and then of every numeric column; −1 where no cell is missing.
    n_bits : int
        How many of the first attributes are bits without missing cells; these are processed faster.
    """

    offsets: NDArray[np.int64]
    observed: NDArray[np.int64]
    n_bits: int


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
    numbers: Numbers
    smoothing: float


class Groups(NamedTuple):
    """Attributes joined to groups, the constant as the last of them.

    Group g has the attributes from bounds[g] to bounds[g + 1]. Its patterns are Σ stride · digit over these, and the
    piece of a pattern has the number firsts[g] + pattern.
    """

    bounds: NDArray[np.int64]
    strides: NDArray[np.int64]
    firsts: NDArray[np.int64]
    layout: Layout
    pieces: Incidence
    columns: Incidence


def as_coded(rows: Any) -> Coded:
    """Rows as a coded table; arrays and sparse matrices hold bits: integers 0/1, floats with NaN, or stored ones."""
    if isinstance(rows, Coded):
        return rows
    n_samples, n_columns = rows.shape
    if not sparse.issparse(rows):
        rows = np.where(np.isnan(rows), 2, rows) if rows.dtype.kind == "f" else rows
        rows = rows.astype(np.uint8, copy=False)
    return Coded(rows, np.full(n_columns, 2), np.empty((n_samples, 0)))


def make_problem(
    rows: Any, counts: Floats, smoothing: float = 0.0, *, full: bool = False, merge: bool = True
) -> Problem:
    """Problem of rows that occur `counts` (s,) times, for `as_coded`; numbers should be standardised.

    Without `merge` equal rows stay apart, in their order.
    """
    table = as_coded(rows)
    if sparse.issparse(table.codes):
        return _sparse_problem(table, counts, smoothing)
    if table.numbers.shape[1]:
        return _numeric_problem(table, counts, smoothing, full=full)
    has_missing = _have_missing(table.codes, table.n_levels)
    digits = table.codes
    if merge:
        digits, counts = distinct(digits, table.n_levels + has_missing, counts)
    return cut_problem(
        digits, counts, make_groups(tuple(table.n_levels.tolist()), tuple(has_missing.tolist())), smoothing
    )


def _numeric_problem(table: Coded, counts: Floats, smoothing: float, *, full: bool) -> Problem:
    """Problem of a table with numbers, whose rows are not merged.

    Where the covariance is diagonal, numeric columns with missing cells are attributes of one level beside the codes.
    """
    numbers = make_numbers(table.numbers, counts, full=full)
    has_gaps = np.isnan(table.numbers).any(axis=0) & (not full)
    digits = np.column_stack([table.codes, np.isnan(table.numbers[:, has_gaps])])
    n_levels = np.append(table.n_levels, np.ones(has_gaps.sum(), dtype=np.int64))
    has_missing = _have_missing(digits, n_levels)
    groups, n_discrete = make_groups(tuple(n_levels.tolist()), tuple(has_missing.tolist())), table.n_levels.size
    observed = np.full(has_gaps.size, ALWAYS)
    observed[has_gaps] = groups.layout.observed[n_discrete:]
    offsets = groups.layout.offsets[: n_discrete + 1]
    layout = Layout(offsets, np.append(groups.layout.observed[:n_discrete], observed), groups.layout.n_bits)
    return cut_problem(digits, counts, groups, smoothing)._replace(numbers=numbers, layout=layout)


def _have_missing(digits: NDArray[Any], n_levels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each attribute has missing cells."""
    if digits.max(initial=0) < n_levels.min(initial=MOST):
        return np.zeros(n_levels.size, dtype=bool)
    missing: NDArray[np.bool_] = digits.max(axis=0, initial=0) >= n_levels
    return missing


def dense_problem(bits: Bits, counts: Floats) -> Problem:
    """Problem of complete rows of bits (s, a), which are not merged."""
    n_bits = bits.shape[1]
    return cut_problem(bits, counts, make_groups((2,) * n_bits, (False,) * n_bits), 0.0)


def cut_problem(digits: NDArray[Any], counts: Floats, groups: Groups, smoothing: float) -> Problem:
    """Problem of the digits (s, a) of attributes in groups, without numbers."""
    n_samples, n_pieces = digits.shape[0], groups.pieces.starts.size - 1
    n_groups = groups.firsts.size
    members = np.empty((n_samples, n_groups), dtype=np.uint16 if n_pieces < 2**16 else np.uint32)
    totals = np.zeros(groups.columns.starts.size - 1)
    cut(digits, counts, groups.bounds, groups.strides, groups.firsts, groups.layout, members, totals)
    starts = np.arange(0, members.size + 1, n_groups, dtype=np.uint64)
    rows, numbers = Incidence(starts, members.ravel()), make_numbers(np.empty((n_samples, 0)), counts, full=False)
    return Problem(rows, groups.pieces, groups.columns, counts, totals, groups.layout, numbers, smoothing)


def _sparse_problem(table: Coded, counts: Floats, smoothing: float) -> Problem:
    """Problem of a sparse matrix of indicators; each column is a piece."""
    numbers = make_numbers(table.numbers, counts, full=False)
    ones = np.ones((table.n_rows, 1))
    design: Any = sparse.hstack([table.codes, ones], format="csr", dtype=np.float64)
    columns = np.arange(design.shape[1])
    same, rows = incidence(np.arange(columns.size + 1), columns), incidence(design.indptr, design.indices)
    n_attributes = table.n_levels.size
    layout = Layout(_offsets(table.n_levels), np.full(n_attributes, ALWAYS), _leading(table.n_levels == 2))
    return Problem(rows, same, same, counts, design.T @ counts, layout, numbers, smoothing)


def _leading(holds: NDArray[np.bool_]) -> int:
    """How many of the first values are true."""
    return int(np.append(holds, False).argmin())


def distinct(digits: NDArray[Any], radices: NDArray[np.int64], counts: Floats) -> tuple[NDArray[Any], Floats]:
    """Merge equal rows if there are so few patterns that many must be equal; rows are then sorted by count."""
    if np.prod(radices, dtype=np.float64) > 4 * digits.shape[0]:
        return digits, counts
    strides = np.append(1, np.cumprod(radices))
    merged, examples = np.zeros(strides[-1]), np.empty(strides[-1], dtype=np.intp)
    count_patterns(np.ascontiguousarray(digits), strides, counts, merged, examples)
    present = np.flatnonzero(merged)
    present = present[np.argsort(merged[present], kind="stable")]
    return digits[examples[present]], merged[present]


@njit(cache=True, nogil=True)
def count_patterns(
    digits: NDArray[Any], strides: NDArray[np.int64], counts: Floats, merged: Floats, examples: NDArray[np.intp]
) -> None:
    """Add the count of every row to that of its pattern, which starts at 0, and note the last row of each pattern."""
    for row in range(digits.shape[0]):
        pattern = 0
        for i in range(digits.shape[1]):
            pattern += strides[i] * np.int64(digits[row, i])
        merged[pattern] += counts[row]
        examples[pattern] = row


@njit(cache=True, nogil=True)
def cut(
    digits: NDArray[Any], counts: Floats, groups: NDArray[np.int64], strides: NDArray[np.int64],
    firsts: NDArray[np.int64], layout: Layout, pieces: NDArray[Any], totals: Floats,
) -> None:  # fmt: skip
    """Fill in the pieces of every row, and add its columns to `totals`, which start at 0."""
    n_samples, n_attributes = digits.shape
    offsets, observed = layout.offsets, layout.observed
    for row in range(n_samples):
        count = counts[row]
        for i in range(layout.n_bits):
            totals[i] += digits[row, i] * count
        for group in range(layout.n_bits // BITS):
            i = BITS * group
            low, high = digits[row, i] + 2 * digits[row, i + 1], digits[row, i + 2] + 2 * digits[row, i + 3]
            pieces[row, group] = firsts[group] + low + 4 * high
        for group in range(layout.n_bits // BITS, firsts.size):
            piece, first, last = firsts[group], groups[group], min(groups[group + 1], n_attributes)
            for i in range(first, min(last, layout.n_bits)):
                piece += np.int64(digits[row, i]) << (i - first)
            for i in range(max(first, layout.n_bits), last):
                digit, n_free = np.int64(digits[row, i]), offsets[i + 1] - offsets[i]
                piece += digit * strides[i]
                if 0 < digit <= n_free:
                    totals[offsets[i] + digit - 1] += count
                if observed[i] >= 0 and digit <= n_free:
                    totals[observed[i]] += count
            pieces[row, group] = piece
        pieces[row, -1] += strides[n_attributes]
        totals[-1] += count


@lru_cache(maxsize=32)
def make_groups(n_levels: tuple[int, ...], has_missing: tuple[bool, ...]) -> Groups:
    """Join attributes in their order, and the constant, while their patterns are few.

    Examples
    --------
    >>> groups = make_groups((2, 2, 2, 3, 2), (False, False, False, True, False))
    >>> groups.bounds.tolist(), groups.strides.tolist(), groups.firsts.tolist()
    ([0, 4, 6], [1, 2, 4, 8, 1, 2], [0, 32])
    >>> groups.layout.offsets.tolist(), groups.layout.observed.tolist()
    ([0, 1, 2, 3, 5, 6], [-1, -1, -1, 6, -1])
    """
    radices = [*np.add(n_levels, has_missing).tolist(), 2]
    members, strides, sizes = [], [], [1]
    for radix in radices:
        if sizes[-1] > 1 and sizes[-1] * radix > (PATTERNS if radix == 2 else PATTERNS_OF_LEVELS):
            sizes.append(1)
        members.append(len(sizes) - 1)
        strides.append(sizes[-1])
        sizes[-1] *= radix
    firsts, levels, gaps = (
        np.append(0, np.cumsum(sizes)),
        np.array(n_levels, dtype=np.int64),
        np.array(has_missing, bool),
    )
    offsets = _offsets(levels)
    observed = np.where(gaps, offsets[-1] + np.cumsum(gaps) - 1, ALWAYS)
    layout = Layout(offsets, observed, _leading((levels == 2) & ~gaps))
    owners, columns = _memberships(np.array(members), np.array(strides), firsts, radices, layout)
    n_columns = int(offsets[-1] + gaps.sum()) + 1
    return Groups(
        np.searchsorted(members, np.arange(len(sizes) + 1)), np.array(strides), firsts[:-1], layout,
        _listed(owners, columns, int(firsts[-1])), _listed(columns, owners, n_columns),
    )  # fmt: skip


def _offsets(n_levels: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.append(0, np.cumsum(n_levels - 1)).astype(np.int64)


def _memberships(
    members: NDArray[Any], strides: NDArray[Any], firsts: NDArray[Any], radices: list[int], layout: Layout
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Pairs of a piece and one of its columns."""
    pieces, columns, last = [], [], len(radices) - 1
    for i, radix in enumerate(radices):
        group = members[i]
        patterns = np.arange(firsts[group + 1] - firsts[group])
        digits = patterns // strides[i] % radix
        n_levels = 2 if i == last else int(layout.offsets[i + 1] - layout.offsets[i]) + 1
        begin = -1 if i == last else layout.offsets[i]
        is_level = (digits > 0) & (digits < n_levels)
        pieces.append(firsts[group] + patterns[is_level])
        columns.append(begin + digits[is_level] - 1)
        if i < last and layout.observed[i] >= 0:
            pieces.append(firsts[group] + patterns[digits < n_levels])
            columns.append(np.full(pieces[-1].size, layout.observed[i]))
    found = np.concatenate(columns)
    n_columns = int(layout.offsets[-1] + (layout.observed >= 0).sum()) + 1
    return np.concatenate(pieces), np.where(found < 0, n_columns - 1, found)


def _listed(owners: NDArray[Any], members: NDArray[Any], n_owners: int) -> Incidence:
    """Incidence of pairs; the members of an owner are sorted."""
    order = np.lexsort((members, owners))
    return incidence(np.append(0, np.cumsum(np.bincount(owners, minlength=n_owners))), members[order])


def incidence(starts: NDArray[Any], members: NDArray[Any]) -> Incidence:
    """Incidence with members of two bytes where they fit, because they are read repeatedly."""
    width = np.uint16 if members.max(initial=0) < 2**16 else np.uint32
    return Incidence(starts.astype(np.uint64), members.ravel().astype(width))
