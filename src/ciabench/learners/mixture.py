"""Mixtures of product-Bernoullis with eight sets of parameters at once: likelihoods, and the E and M step.

Parameters of R restarts with k classes over a attributes are one array `theta` (R, k, 1 + a): the weight of a class,
then its probabilities. Kernels take eight of them as the lanes of one array (k, 1 + a, 8). Data are a design matrix of
bits whose last column is 1:

    complete    [ x | 1 ]                  (s, a + 1)
    missing     [ x = 1 | observed | 1 ]   (s, 2a + 1)

so that log P(x, z) = design · A_z with A_z linear in log p, log(1 − p) and log weight. Only log-odds against class 0
are ever formed (k − 1 lines a row): log P(x) = design · A_0 + log(1 + Σ_z exp ℓ_z), whose first term sums to
(column totals) · A_0.

The design matrix is never multiplied with. Its columns are cut into groups of four; a row holds one of 16 patterns in
each, its *pieces*. Sums of A over the columns of every piece are made first, and a row adds up a quarter as many lines
as it has columns; the M step goes the same way back. A sparse row's pieces are the columns of its ones. Both matrix
products would take two to three times as long at 75 attributes, and as long at 500.

References
----------
Dempster, Laird & Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from ciabench.learners.data import Bits, Floats
from ciabench.learners.elementary import exp_negative, larger, log_positive
from ciabench.learners.lanes import LANES, choose, empty_lines, load, spread, store

EDGE = 1e-15
"""Probabilities are kept this far from 0 and 1, weights from 0."""

NOTHING = 1e-100
"""A class with fewer examples than that keeps its probabilities."""

GROUP = 4
"""Columns that are looked up together: of twice as many the sums would leave the fastest cache."""

BLOCK = 16
"""Rows worked on at a time, so that the sums of one do not wait for those of another."""


class Incidence(NamedTuple):
    """Which members belong to whom: those of i are `members[starts[i] : starts[i + 1]]`.

    All are unsigned, for which numba does not ask whether they count from the end.
    """

    starts: NDArray[np.uint64]
    members: NDArray[Any]


class Problem(NamedTuple):
    """Pieces of the distinct rows, columns of the pieces, how often each row occurs, and the prior's pseudo-count."""

    rows: Incidence
    pieces: Incidence
    counts: Floats
    totals: Floats
    n_attributes: int
    smoothing: float


class Work(NamedTuple):
    """Room for A (k, columns), its sums over pieces, expected counts of both, and P(z | x) of a block of rows."""

    lines: Floats
    sums: Floats
    piece_counts: Floats
    column_counts: Floats
    chances: Floats


def make_problem(rows: Any, counts: Floats, smoothing: float = 0.0) -> Problem:
    """Pieces of 0/1 (or NaN) rows (s, a), dense or sparse, that occur `counts` (s,) times."""
    n_attributes = rows.shape[1]
    if sparse.issparse(rows):
        design: Any = sparse.hstack([rows, np.ones((rows.shape[0], 1))], format="csr", dtype=np.float64)
        columns = np.arange(n_attributes + 1)
        pieces, single = incidence(design.indptr, design.indices), incidence(np.arange(columns.size + 1), columns)
        return Problem(pieces, single, counts, design.T @ counts, n_attributes, smoothing)
    if rows.dtype.kind == "f":
        rows = np.column_stack([rows == 1, ~np.isnan(rows)])
    else:
        rows, counts = distinct(rows, counts)
    members, totals = dense_pieces(rows.view(np.uint8), counts)
    pieces = incidence(np.arange(0, members.size + 1, members.shape[1]), members.ravel())
    return Problem(pieces, columns_of_pieces(totals.size), counts, totals, n_attributes, smoothing)


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


@njit(cache=True)
def dense_pieces(rows: Bits, counts: Floats) -> tuple[NDArray[np.uint32], Floats]:
    """Pieces of every row of [rows | 1], and its column totals."""
    n_samples, n_columns = rows.shape
    pieces = np.empty((n_samples, n_columns // GROUP + 1), dtype=np.uint32)
    totals = np.zeros(n_columns + 1)
    for row in range(n_samples):
        for group in range(pieces.shape[1]):
            pattern, first = 0, group * GROUP
            for i in range(first, min(first + GROUP, n_columns)):
                pattern |= rows[row, i] << (i - first)
                totals[i] += rows[row, i] * counts[row]
            pieces[row, group] = (group << GROUP) + pattern
        pieces[row, -1] += 1 << (n_columns % GROUP)
        totals[-1] += counts[row]
    return pieces, totals


@lru_cache(maxsize=16)
def columns_of_pieces(n_columns: int) -> Incidence:
    """Columns of all patterns of all groups."""
    groups = np.arange(0, n_columns, GROUP)[:, None, None] + np.arange(GROUP)
    is_member = np.arange(2**GROUP)[:, None] >> np.arange(GROUP) & 1 == 1
    is_member = is_member & (groups < n_columns)
    starts = np.append(0, np.cumsum(is_member.sum(axis=2)))
    return incidence(starts, np.broadcast_to(groups, is_member.shape)[is_member])


def incidence(starts: NDArray[Any], members: NDArray[Any]) -> Incidence:
    """Incidence with members in the fewest bytes, because they are read again and again."""
    width = np.uint16 if members.max(initial=0) < 2**16 else np.uint32
    return Incidence(starts.astype(np.uint64), members.astype(width))


@njit(error_model="numpy")
def make_work(problem: Problem, n_classes: int) -> Work:
    """Room for the lanes of one evaluation."""
    n_columns, n_pieces = problem.totals.size, problem.pieces.starts.size - 1
    others = n_classes - 1
    return Work(
        empty_lines(n_classes * n_columns),
        empty_lines(others * n_pieces),
        empty_lines(others * n_pieces),
        empty_lines(n_classes * n_columns),
        empty_lines(others * BLOCK),
    )


@njit(error_model="numpy")
def gather(owners: Incidence, first: int, last: int, source: Floats, origin: int, target: Floats, place: int) -> None:
    """Line of every owner from first to last: the sum of its members' lines, which begin at line `origin`."""
    for owner in range(first, last):
        total = spread(0.0)
        for j in range(owners.starts[owner], owners.starts[owner + 1]):
            total += load(source, origin + owners.members[j])
        store(target, place + owner - first, total)


@njit(error_model="numpy")
def scatter(owners: Incidence, first: int, last: int, source: Floats, place: int, target: Floats, origin: int) -> None:
    """Add the line of every owner from first to last to those of its members, which begin at line `origin`."""
    for owner in range(first, last):
        value = load(source, place + owner - first)
        for j in range(owners.starts[owner], owners.starts[owner + 1]):
            line = origin + owners.members[j]
            store(target, line, load(target, line) + value)


@njit(error_model="numpy")
def score_columns(problem: Problem, theta: Floats, lines: Floats) -> Any:
    """Make A_0 and all A_z − A_0; return Σ totals · A_0 and the log prior, added up."""
    n_classes, width, _ = theta.shape
    n_columns = problem.totals.size
    complete = n_columns == width
    constant, prior = spread(0.0), spread(0.0)
    for z in range(n_classes):
        weight, absent, product = log_positive(load(theta, z * width)), spread(0.0), spread(1.0)
        for i in range(width - 1):
            p = load(theta, z * width + 1 + i)
            odds = log_positive(p / (1.0 - p))
            prior += odds
            store(lines, z * n_columns + i, odds)
            product *= 1.0 - p
            if not complete or i % 16 == 15:
                logs = log_positive(product)
                absent, product = absent + logs, spread(1.0)
                if not complete:
                    store(lines, z * n_columns + width - 1 + i, logs)
        absent += log_positive(product)
        prior += weight + 2.0 * absent  # log p + log(1 − p) = log-odds + 2 log(1 − p)
        store(lines, (z + 1) * n_columns - 1, weight + absent if complete else weight)
    for i in range(n_columns):
        base = load(lines, i)
        constant += problem.totals[i] * base
        for z in range(1, n_classes):
            store(lines, z * n_columns + i, load(lines, z * n_columns + i) - base)
    return constant + problem.smoothing * prior


@njit(error_model="numpy")
def chances_of_two(scores: Floats, counts: Floats) -> Any:
    """As `chances_of_many` for two classes: of the two exponentials one is always 1."""
    total, product, zero = spread(0.0), spread(1.0), spread(0.0)
    for row in range(counts.size):
        score = load(scores, row)
        power = exp_negative(choose(score, zero, zero - score, score))
        norm = 1.0 + power
        product *= norm
        total += counts[row] * larger(score, zero)
        store(scores, row, choose(score, zero, spread(1.0), power) * (counts[row] / norm))
        if row + 1 == counts.size or counts[row + 1] != counts[row]:
            total += counts[row] * log_positive(product)
            product = spread(1.0)
    return total


@njit(error_model="numpy")
def chances_of_many(scores: Floats, counts: Floats) -> Any:
    """Turn log-odds of a block of rows into counts · P(z | x); return Σ counts · log(1 + Σ exp ℓ)."""
    total, product, zero = spread(0.0), spread(1.0), spread(0.0)
    for row in range(counts.size):
        peak = zero
        for line in range(row, len(scores), BLOCK):
            peak = larger(peak, load(scores, line))
        norm = exp_negative(zero - peak)
        for line in range(row, len(scores), BLOCK):
            power = exp_negative(load(scores, line) - peak)
            norm += power
            store(scores, line, power)
        for line in range(row, len(scores), BLOCK):
            store(scores, line, load(scores, line) * (counts[row] / norm))
        product *= norm
        total += counts[row] * peak
        if row + 1 == counts.size or counts[row + 1] != counts[row]:
            total += counts[row] * log_positive(product)
            product = spread(1.0)
    return total


@njit(error_model="numpy")
def expect(problem: Problem, theta: Floats, work: Work, counting: bool) -> Any:
    """E step: return the (penalised) log-likelihoods; when counting, leave expected counts of the pieces in `work`."""
    others, n_pieces = len(theta) - 1, problem.pieces.starts.size - 1
    total = score_columns(problem, theta, work.lines)
    for z in range(others):
        origin = (z + 1) * problem.totals.size
        gather(problem.pieces, 0, n_pieces, work.lines, origin, work.sums, z * n_pieces)
    work.piece_counts[:] = 0.0
    for start in range(0, problem.counts.size, BLOCK):
        counts = problem.counts[start : start + BLOCK]
        stop = start + counts.size
        for z in range(others):
            gather(problem.rows, start, stop, work.sums, z * n_pieces, work.chances, z * BLOCK)
        total += chances_of_two(work.chances, counts) if others == 1 else chances_of_many(work.chances, counts)
        if counting:
            for z in range(others):
                scatter(problem.rows, start, stop, work.chances, z * BLOCK, work.piece_counts, z * n_pieces)
    return total


@njit(error_model="numpy")
def reestimate(problem: Problem, theta: Floats, work: Work, updated: Floats) -> None:
    """M step from the expected counts of the pieces."""
    n_classes, width, _ = theta.shape
    n_columns, n_pieces = problem.totals.size, problem.pieces.starts.size - 1
    counts, smoothing, complete = work.column_counts, problem.smoothing, n_columns == width
    counts[n_columns:] = 0.0
    for z in range(1, n_classes):
        scatter(problem.pieces, 0, n_pieces, work.piece_counts, (z - 1) * n_pieces, counts, z * n_columns)
    for i in range(n_columns):
        rest = spread(problem.totals[i])
        for z in range(1, n_classes):
            rest -= load(counts, z * n_columns + i)
        store(counts, i, rest)
    low, high, n_samples = spread(EDGE), spread(1 - EDGE), problem.totals[-1] + n_classes * smoothing
    for z in range(n_classes):
        mass = load(counts, (z + 1) * n_columns - 1)
        store(updated, z * width, larger((mass + smoothing) / n_samples, low))
        observed, share = mass, share_of(mass, smoothing)
        for i in range(width - 1):
            if not complete:
                observed = load(counts, z * n_columns + width - 1 + i)
                share = share_of(observed, smoothing)
            p = (load(counts, z * n_columns + i) + smoothing) * share
            p = choose(observed + smoothing, spread(NOTHING), p, load(theta, z * width + 1 + i))
            store(updated, z * width + 1 + i, choose(p, high, high, larger(p, low)))


@njit(error_model="numpy")
def share_of(observed: Any, smoothing: float) -> Any:
    """1 / (observed + 2 · smoothing), finite."""
    return 1.0 / larger(observed + 2.0 * smoothing, spread(NOTHING))


@njit(error_model="numpy")
def em_step(problem: Problem, theta: Floats, work: Work, updated: Floats) -> Any:
    """One E and M step: make the next parameters, return the (penalised) log-likelihoods of the given ones."""
    objective = expect(problem, theta, work, True)
    reestimate(problem, theta, work, updated)
    return objective


@njit(cache=True, error_model="numpy")
def log_likelihoods(problem: Problem, theta: Floats) -> Floats:
    """(Penalised) log-likelihoods (R,) of many sets of parameters (R, k, 1 + a)."""
    found = np.empty((len(theta) + LANES - 1) // LANES * LANES)
    work, seats = make_work(problem, theta.shape[1]), empty_lines(theta[0].size).reshape(*theta.shape[1:], LANES)
    for first in range(0, len(theta), LANES):
        for lane in range(LANES):
            seats[:, :, lane] = theta[min(first + lane, len(theta) - 1)]
        store(found, first // LANES, expect(problem, seats, work, False))
    return found[: len(theta)]
