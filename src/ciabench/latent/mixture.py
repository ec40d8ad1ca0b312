"""Mixtures for eight sets of parameters at once: likelihoods, E step and M step.

Parameters of R restarts with k classes are one array `theta` (R, k, width): the weight of a class, then the
probabilities of all levels of every discrete attribute but the first, then what `gaussians` says of numeric columns.
The width of a attributes that are bits is 1 + a. Kernels take eight sets as the lanes of one array (k, width, 8).

With the design matrix of `pieces`, log P(x, z) = design · A_z, where A_z has log p_j − log p_0 for an indicator of
level j, log p_0 for `observed` or else in the constant, and log weight. Numbers add features · C_z. Only
log-odds against class 0 are ever formed (k − 1 lines per row): log P(x) = design · A_0 + log(1 + Σ_z exp ℓ_z), whose
first term sums to (column totals) · A_0. The E step sums A over the columns of every piece, then over the pieces of
every row; the M step does the reverse. Two matrix products instead would take two to three times as long at 75 bits.
Loops over rows, in `rows`, never see a probability: `score_columns` and `reestimate` alone know what a column means.

Kernels called from Python return nothing or a number: if numba had to build an object from the result of a long kernel,
a Ctrl-C pressed in the meantime would not be reported as a KeyboardInterrupt.

References
----------
Dempster, Laird & Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.latent.elementary import larger, log_positive
from ciabench.latent.few import TOTAL, expect_alone, n_lines
from ciabench.latent.gaussians import (
    MATRICES,
    VECTORS,
    reestimate_diagonal,
    reestimate_full,
    score_diagonal,
    score_full,
)
from ciabench.latent.lanes import INNER, LANES, choose, empty_lines, load, named_lines, spread, store
from ciabench.latent.numbers import BLOCK, add_scores, count_features, fill_features, first_chances
from ciabench.latent.pieces import Layout, Problem
from ciabench.latent.rows import chances_of_many, chances_of_two, gather, scatter

EDGE = 1e-15
"""Distance that probabilities keep from 0 and 1, and weights from 0."""

NOTHING = 1e-100
"""A class with a smaller expected count keeps its probabilities."""


class Work(NamedTuple):
    """Scratch arrays: A (k, columns), its sums per piece, expected counts of both, and P(z | x) of a block of rows.

    For numbers: their features in a block of rows, coefficients (p, k, features), expected sums of the same shape, the
    chances of the first class, and matrices. `block` and `table` are those of `few`.
    """

    lines: Floats
    sums: Floats
    piece_counts: Floats
    column_counts: Floats
    chances: Floats
    features: Floats
    number_lines: Floats
    number_counts: Floats
    first_chances: Floats
    scratch: Floats
    block: Floats
    table: Floats


def make_work(problem: Problem, n_classes: int) -> Work:
    """Allocate the scratch arrays of one evaluation."""
    n_columns, n_pieces, others = problem.totals.size, problem.pieces.starts.size - 1, n_classes - 1
    numbers, (n_patterns, n_features) = problem.numbers, problem.numbers.totals.shape
    n_matrix = numbers.values.shape[1] if numbers.is_full else 0
    lines = named_lines(
        lines=n_classes * n_columns,
        sums=others * n_pieces,
        piece_counts=others * n_pieces,
        column_counts=n_classes * n_columns,
        chances=others * BLOCK,
        number_lines=n_patterns * n_classes * n_features,
        number_counts=n_patterns * n_classes * n_features,
        first_chances=BLOCK,
        scratch=MATRICES * n_matrix**2 + VECTORS * n_matrix,
    )
    block = empty_lines(n_lines(others)).ravel()
    return Work(block=block, features=np.empty((BLOCK, n_features)), table=np.empty((2, others * n_pieces)), **lines)


@njit(**INNER, forceinline=True)
def score_columns(problem: Problem, theta: Floats, work: Work) -> Any:
    """Compute A_0 and all A_z − A_0, and so for numbers; return Σ totals · A_0 plus the log prior."""
    n_classes, width, _ = theta.shape
    n_columns, n_bits, lines = problem.totals.size, problem.layout.n_bits, work.lines
    constant, prior = spread(0.0), spread(0.0)
    for z in range(n_classes):
        weight, absent, product = log_positive(load(theta, z * width)), spread(0.0), spread(1.0)
        for i in range(n_bits):
            p = load(theta, z * width + 1 + i)
            odds = log_positive(p / (1.0 - p))
            prior += odds
            store(lines, z * n_columns + i, odds)
            product *= 1.0 - p
            if i % 16 == 15:
                absent, product = absent + log_positive(product), spread(1.0)
        absent += log_positive(product)
        prior += weight + 2.0 * absent  # log p + log(1 − p) = log-odds + 2 log(1 − p)
        if n_columns > n_bits + 1:
            constants, priors = score_levels(problem.layout, theta, z, n_columns, lines)
            absent, prior = absent + constants, prior + priors
        if problem.numbers.values.shape[1]:
            absent += score_numbers(problem, theta, work, z)
        store(lines, (z + 1) * n_columns - 1, weight + absent)
    for i in range(n_columns):
        base = load(lines, i)
        constant += problem.totals[i] * base
        for z in range(1, n_classes):
            store(lines, z * n_columns + i, load(lines, z * n_columns + i) - base)
    if problem.numbers.values.shape[1]:
        constant += subtract_first(problem.numbers.totals, n_classes, work.number_lines)
    return constant + problem.smoothing * prior


@njit(**INNER)
def score_levels(layout: Layout, theta: Floats, z: int, n_columns: int, lines: Floats) -> Any:
    """Compute A_z of the attributes that are not complete bits; return their part of the constant and of the prior."""
    width, offsets = theta.shape[1], layout.offsets
    constant, prior = spread(0.0), spread(0.0)
    for i in range(layout.n_bits, offsets.size - 1):
        rest, place, n_free = spread(1.0), z * width + 1 + offsets[i], offsets[i + 1] - offsets[i]
        for j in range(n_free):
            rest -= load(theta, place + j)
        base = log_positive(larger(rest, spread(EDGE / 2)))  # 1 − (1 − EDGE) is a little less than EDGE
        for j in range(n_free):
            odds = log_positive(load(theta, place + j)) - base
            prior += odds
            store(lines, z * n_columns + offsets[i] + j, odds)
        prior += (n_free + 1.0) * base
        if layout.observed[i] >= 0:
            store(lines, z * n_columns + layout.observed[i], base)
        else:
            constant += base
    return constant, prior


@njit(**INNER)
def score_numbers(problem: Problem, theta: Floats, work: Work, z: int) -> Any:
    """Set the coefficients of a class for the features of numbers; return their constant where cells are complete."""
    n_classes, width, _ = theta.shape
    n_features, n_attributes = problem.numbers.totals.shape[1], problem.layout.offsets.size - 1
    base, first, constant = z * width + 1 + problem.layout.offsets[-1], z * n_features, spread(0.0)
    if problem.numbers.is_full:
        step = n_classes * n_features
        score_full(problem.numbers, theta, base, work.number_lines, first, step, work.scratch)
        return constant
    n_numbers = problem.numbers.values.shape[1]
    for f in range(2 * n_numbers, n_features):
        store(work.number_lines, first + f, spread(0.0))
    for d in range(n_numbers):
        level, observed = (
            score_diagonal(theta, base, d, work.number_lines, first),
            problem.layout.observed[n_attributes + d],
        )
        if observed >= 0:
            store(work.lines, z * problem.totals.size + observed, level)
        else:
            constant += level
    return constant


@njit(**INNER)
def subtract_first(totals: Floats, n_classes: int, lines: Floats) -> Any:
    """Subtract the coefficients of the first class from those of the others; return Σ totals · those of the first."""
    n_patterns, n_features = totals.shape
    constant = spread(0.0)
    for p in range(n_patterns):
        for f in range(n_features):
            line = p * n_classes * n_features + f
            base = load(lines, line)
            constant += totals[p, f] * base
            for z in range(1, n_classes):
                other = line + z * n_features
                store(lines, other, load(lines, other) - base)
    return constant


@njit(**INNER)
def expect(problem: Problem, theta: Floats, work: Work, counting: bool) -> Any:
    """E step: return the (penalised) log-likelihoods; if `counting`, put the pieces' expected counts into `work`."""
    total = score_pieces(problem, theta, work)
    return expect_rows(problem, len(theta) - 1, work, total, counting)


@njit(**INNER)
def score_pieces(problem: Problem, theta: Floats, work: Work) -> Any:
    """As `score_columns`, and sum the columns of every piece."""
    n_pieces, total = problem.pieces.starts.size - 1, score_columns(problem, theta, work)
    for z in range(len(theta) - 1):
        origin = (z + 1) * problem.totals.size
        gather(problem.pieces, 0, n_pieces, work.lines, origin, work.sums, z * n_pieces)
    return total


@njit(**INNER)
def expect_rows(problem: Problem, others: int, work: Work, total: Any, counting: bool) -> Any:
    """Part of `expect` that looks at the rows; add to the log-likelihoods `total`."""
    n_pieces, numbers = problem.pieces.starts.size - 1, problem.numbers
    if counting:
        work.piece_counts[:] = 0.0
        work.number_counts[:] = 0.0
    for p in range(numbers.bounds.size - 1):
        for start in range(numbers.bounds[p], numbers.bounds[p + 1], BLOCK):
            stop = min(start + BLOCK, numbers.bounds[p + 1])
            counts = problem.counts[start:stop]
            for z in range(others):
                gather(problem.rows, start, stop, work.sums, z * n_pieces, work.chances, z * BLOCK)
            if numbers.values.shape[1]:
                expect_numbers(problem, work, p, start, stop, others)
            if others == 1:
                total += chances_of_two(work.chances, counts, counting)
            else:
                total += chances_of_many(work.chances, counts)
            if counting:
                for z in range(others):
                    scatter(problem.rows, start, stop, work.chances, z * BLOCK, work.piece_counts, z * n_pieces)
                if numbers.values.shape[1]:
                    count_numbers(problem, work, p, counts, others)
    return total


@njit(**INNER)
def count_rows(problem: Problem, others: int, work: Work, total: Any, restarts: NDArray[np.intp]) -> Any:
    """As `expect_rows` with counting, of the lanes whose number in `restarts` is not negative.

    If there is one such lane, and no numbers, the eight lanes are filled with rows instead.
    """
    n_running = 0
    for restart in restarts:
        n_running += restart >= 0
    if n_running > 1 or problem.numbers.values.shape[1]:
        return expect_rows(problem, others, work, total, True)
    store(work.block, TOTAL, total)
    work.piece_counts[:] = 0.0
    for lane in range(LANES):
        if restarts[lane] >= 0:
            expect_alone(problem, work.sums, lane, work.block, work.table, work.piece_counts)
    return load(work.block, TOTAL)


@njit(**INNER)
def expect_numbers(problem: Problem, work: Work, p: int, start: int, stop: int, others: int) -> None:
    """Add to the log-odds of a block of rows what their numbers contribute."""
    n_features = work.features.shape[1]
    fill_features(problem.numbers.values, problem.numbers.is_full, start, stop, work.features)
    for z in range(others):
        line = (p * (others + 1) + z + 1) * n_features
        add_scores(work.features, work.number_lines, line, work.chances, z * BLOCK)


@njit(**INNER)
def count_numbers(problem: Problem, work: Work, p: int, counts: Floats, others: int) -> None:
    """Add the features of a block of rows to the expected sums of all classes.

    The first one is counted too: as the totals less the others, its variances would cancel.
    """
    n_features, line = work.features.shape[1], p * (others + 1) * work.features.shape[1]
    first_chances(work.chances, others, counts, work.first_chances)
    count_features(work.features, counts.size, work.first_chances, 0, work.number_counts, line)
    for z in range(others):
        line += n_features
        count_features(work.features, counts.size, work.chances, z * BLOCK, work.number_counts, line)


@njit(**INNER, forceinline=True)
def reestimate(problem: Problem, theta: Floats, work: Work, updated: Floats) -> None:
    """M step from the expected counts of the pieces."""
    n_classes, width, _ = theta.shape
    n_columns, n_pieces = problem.totals.size, problem.pieces.starts.size - 1
    counts, smoothing, n_bits = work.column_counts, problem.smoothing, problem.layout.n_bits
    for z in range(1, n_classes):
        gather(problem.columns, 0, n_columns, work.piece_counts, (z - 1) * n_pieces, counts, z * n_columns)
    for i in range(n_columns):
        rest = spread(problem.totals[i])
        for z in range(1, n_classes):
            rest -= load(counts, z * n_columns + i)
        store(counts, i, rest)
    low, high, n_samples = spread(EDGE), spread(1 - EDGE), problem.totals[-1] + n_classes * smoothing
    for z in range(n_classes):
        mass = load(counts, (z + 1) * n_columns - 1)
        store(updated, z * width, larger((mass + smoothing) / n_samples, low))
        share, is_enough = share_of(mass, 2.0 * smoothing), mass + 2.0 * smoothing
        for i in range(n_bits):
            p = (load(counts, z * n_columns + i) + smoothing) * share
            p = choose(is_enough, spread(NOTHING), p, load(theta, z * width + 1 + i))
            store(updated, z * width + 1 + i, choose(p, high, high, larger(p, low)))
        if n_columns > n_bits + 1:
            reestimate_levels(problem, theta, counts, updated, z)
        if problem.numbers.values.shape[1]:
            reestimate_numbers(problem, theta, work, updated, z)


@njit(**INNER)
def reestimate_levels(problem: Problem, theta: Floats, counts: Floats, updated: Floats, z: int) -> None:
    """M step of a class for the attributes that are not complete bits."""
    width, n_columns, layout, smoothing = theta.shape[1], problem.totals.size, problem.layout, problem.smoothing
    low, high = spread(EDGE), spread(1 - EDGE)
    for i in range(layout.n_bits, layout.offsets.size - 1):
        first, last, observed = layout.offsets[i], layout.offsets[i + 1], layout.observed[i]
        prior = (last - first + 1.0) * smoothing
        seen = load(counts, z * n_columns + (observed if observed >= 0 else n_columns - 1))
        share = share_of(seen, prior)
        for j in range(first, last):
            p = (load(counts, z * n_columns + j) + smoothing) * share
            p = choose(seen + prior, spread(NOTHING), p, load(theta, z * width + 1 + j))
            store(updated, z * width + 1 + j, choose(p, high, high, larger(p, low)))


@njit(**INNER)
def reestimate_numbers(problem: Problem, theta: Floats, work: Work, updated: Floats, z: int) -> None:
    """M step of a class for its numbers."""
    n_classes, width, _ = theta.shape
    n_features, n_attributes = problem.numbers.totals.shape[1], problem.layout.offsets.size - 1
    base, first, sums = z * width + 1 + problem.layout.offsets[-1], z * n_features, work.number_counts
    if problem.numbers.is_full:
        step = n_classes * n_features
        reestimate_full(problem.numbers, theta, updated, base, sums, first, step, work.scratch)
        return
    last = problem.totals.size - 1
    for d in range(problem.numbers.values.shape[1]):
        observed = problem.layout.observed[n_attributes + d]
        count = load(work.column_counts, z * (last + 1) + (observed if observed >= 0 else last))
        line = first + 2 * d
        reestimate_diagonal(theta, updated, base + 2 * d, count, load(sums, line), load(sums, line + 1))


@njit(**INNER)
def share_of(observed: Any, prior: float) -> Any:
    """1 / (observed + prior), finite."""
    return 1.0 / larger(observed + prior, spread(NOTHING))


@njit(**INNER)
def em_step(problem: Problem, theta: Floats, work: Work, updated: Floats, restarts: NDArray[np.intp]) -> Any:
    """One E and M step: fill in the next parameters, return the (penalised) log-likelihoods of the given ones.

    Lanes whose number in `restarts` is negative are empty, and what they get is of no account.
    """
    objective = count_rows(problem, len(theta) - 1, work, score_pieces(problem, theta, work), restarts)
    reestimate(problem, theta, work, updated)
    return objective


@njit(**INNER)
def seat_in_lane(lines: Floats, lane: int, theta: Floats) -> None:
    """Copy parameters (k, 1 + a) into a lane; an assignment of slices would take seconds to compile."""
    for z in range(theta.shape[0]):
        for column in range(theta.shape[1]):
            lines[z, column, lane] = theta[z, column]


@njit(cache=True, nogil=True, error_model="numpy")
def find_likelihoods(problem: Problem, theta: Floats, work: Work, seats: Floats, found: Floats) -> None:
    """Fill `found`, whose size is a multiple of 8, with the (penalised) log-likelihoods of `theta` (R, k, width)."""
    for first in range(0, len(theta), LANES):
        for lane in range(LANES):
            seat_in_lane(seats, lane, theta[min(first + lane, len(theta) - 1)])
        store(found, first // LANES, expect(problem, seats, work, False))


def log_likelihoods(problem: Problem, theta: Floats) -> Floats:
    """(Penalised) log-likelihoods (R,) of R sets of parameters (R, k, width)."""
    n_sets, n_classes, width = theta.shape
    found = empty_lines(-(-n_sets // LANES))
    find_likelihoods(problem, theta, make_work(problem, n_classes), empty_lines(n_classes, width), found)
    return found.ravel()[:n_sets]
