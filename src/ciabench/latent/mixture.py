"""Mixtures of product-Bernoullis for eight sets of parameters at once: likelihoods, E step and M step.

Parameters of R restarts with k classes over a attributes are one array `theta` (R, k, 1 + a): the weight of a class,
then its probabilities. Kernels take eight of them as the lanes of one array (k, 1 + a, 8).

With the design matrix of `pieces`, log P(x, z) = design · A_z with A_z linear in log p, log(1 − p) and log weight. Only
log-odds against class 0 are ever formed (k − 1 lines per row): log P(x) = design · A_0 + log(1 + Σ_z exp ℓ_z), whose
first term sums to (column totals) · A_0. The E step sums A over the columns of every piece, then over the pieces of
every row; the M step does the reverse. Two matrix products instead would take two to three times as long at 75
attributes.

Kernels called from Python return nothing or a number: if numba had to build an object from the result of a long kernel,
a Ctrl-C pressed in the meantime would not be reported as a KeyboardInterrupt.

References
----------
Dempster, Laird & Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm.
"""

from typing import Any, NamedTuple

from numba import njit

from ciabench.arrays import Floats
from ciabench.latent.elementary import exp_negative, larger, log_positive
from ciabench.latent.lanes import LANES, choose, empty_lines, load, spread, store
from ciabench.latent.pieces import Incidence, Problem

EDGE = 1e-15
"""Distance that probabilities keep from 0 and 1, and weights from 0."""

NOTHING = 1e-100
"""A class with a smaller expected count keeps its probabilities."""

BLOCK = 16
"""Rows processed together, so that the sums of one row do not wait for those of another."""


class Work(NamedTuple):
    """Scratch arrays: A (k, columns), its sums per piece, expected counts of both, and P(z | x) of a block of rows."""

    lines: Floats
    sums: Floats
    piece_counts: Floats
    column_counts: Floats
    chances: Floats


def make_work(problem: Problem, n_classes: int) -> Work:
    """Allocate the scratch arrays of one evaluation."""
    n_columns, n_pieces, others = problem.totals.size, problem.pieces.starts.size - 1, n_classes - 1
    return Work(
        lines=empty_lines(n_classes * n_columns),
        sums=empty_lines(others * n_pieces),
        piece_counts=empty_lines(others * n_pieces),
        column_counts=empty_lines(n_classes * n_columns),
        chances=empty_lines(others * BLOCK),
    )


@njit(error_model="numpy")
def gather(owners: Incidence, first: int, last: int, source: Floats, origin: int, target: Floats, place: int) -> None:
    """Sum the lines of the members of every owner from `first` to `last`; members' lines begin at line `origin`."""
    for owner in range(first, last):
        total = spread(0.0)
        for j in range(owners.starts[owner], owners.starts[owner + 1]):
            total += load(source, origin + owners.members[j])
        store(target, place + owner - first, total)


@njit(error_model="numpy")
def scatter(owners: Incidence, first: int, last: int, source: Floats, place: int, target: Floats, origin: int) -> None:
    """Add the line of every owner from `first` to `last` to those of its members, which begin at line `origin`."""
    for owner in range(first, last):
        value = load(source, place + owner - first)
        for j in range(owners.starts[owner], owners.starts[owner + 1]):
            line = origin + owners.members[j]
            store(target, line, load(target, line) + value)


@njit(error_model="numpy")
def score_columns(problem: Problem, theta: Floats, lines: Floats) -> Any:
    """Compute A_0 and all A_z − A_0; return Σ totals · A_0 plus the log prior."""
    n_classes, width, _ = theta.shape
    n_columns = problem.totals.size
    complete = not problem.layout.has_missing
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
    """`chances_of_many` for two classes, where one of the two exponentials is always 1."""
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
    """E step: return the (penalised) log-likelihoods; if `counting`, put the pieces' expected counts into `work`."""
    others, n_pieces = len(theta) - 1, problem.pieces.starts.size - 1
    total = score_columns(problem, theta, work.lines)
    for z in range(others):
        origin = (z + 1) * problem.totals.size
        gather(problem.pieces, 0, n_pieces, work.lines, origin, work.sums, z * n_pieces)
    if counting:
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
    counts, smoothing, complete = work.column_counts, problem.smoothing, not problem.layout.has_missing
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
        observed, share = mass, share_of(mass, smoothing)
        for i in range(width - 1):
            if not complete:
                observed = load(counts, z * n_columns + width - 1 + i)
                share = share_of(observed, smoothing)
            p = (load(counts, z * n_columns + i) + smoothing) * share
            p = choose(observed + 2.0 * smoothing, spread(NOTHING), p, load(theta, z * width + 1 + i))
            store(updated, z * width + 1 + i, choose(p, high, high, larger(p, low)))


@njit(error_model="numpy")
def share_of(observed: Any, smoothing: float) -> Any:
    """1 / (observed + 2 · smoothing), finite."""
    return 1.0 / larger(observed + 2.0 * smoothing, spread(NOTHING))


@njit(error_model="numpy")
def em_step(problem: Problem, theta: Floats, work: Work, updated: Floats) -> Any:
    """One E and M step: fill in the next parameters, return the (penalised) log-likelihoods of the given ones."""
    objective = expect(problem, theta, work, True)
    reestimate(problem, theta, work, updated)
    return objective


@njit(cache=True, nogil=True, error_model="numpy")
def find_likelihoods(problem: Problem, theta: Floats, work: Work, seats: Floats, found: Floats) -> None:
    """Fill `found`, whose size is a multiple of 8, with the (penalised) log-likelihoods of `theta` (R, k, 1 + a)."""
    for first in range(0, len(theta), LANES):
        for lane in range(LANES):
            seats[:, :, lane] = theta[min(first + lane, len(theta) - 1)]
        store(found, first // LANES, expect(problem, seats, work, False))


def log_likelihoods(problem: Problem, theta: Floats) -> Floats:
    """(Penalised) log-likelihoods (R,) of R sets of parameters (R, k, 1 + a)."""
    n_sets, n_classes, width = theta.shape
    found = empty_lines(-(-n_sets // LANES))
    find_likelihoods(problem, theta, make_work(problem, n_classes), empty_lines(n_classes, width), found)
    return found.ravel()[:n_sets]
