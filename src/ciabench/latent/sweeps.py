"""Sweeps of the Gibbs sampler in `gibbs`: kernels that draw classes, concentrations and parameters of eight chains."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.latent.elementary import exp_negative, larger, log_positive
from ciabench.latent.lanes import LANES, choose, draw_uniform, load, spread, square_root, store
from ciabench.latent.mixture import EDGE, Work, count_numbers, expect_numbers, score_columns
from ciabench.latent.numbers import BLOCK
from ciabench.latent.pieces import Problem
from ciabench.latent.rows import gather, scatter
from ciabench.latent.variates import Random, draw_gammas, draw_normals

NUMBERS = (0.1, 3.0, 0.5)
"""Prior of numbers: κ, ν and scale; σ² is scaled inverse χ²(ν, scale), the mean is normal with variance σ² / κ."""


class Prior(NamedTuple):
    """Prior of a mixture.

    Parameters
    ----------
    weight : float
        Concentration e of the weights.
    concentrations : array (c,)
        Concentrations a of the discrete attributes where they are fixed.
    groups : array (c,)
        Group of each attribute whose concentration is learnt, −1 where it is fixed.
    grid : array (g,)
        Values of learnt concentrations.
    normalizers : array (groups, g)
        Log of the normalising constant of all attributes of a group in one class, at each value.
    """

    weight: float
    concentrations: Floats
    groups: NDArray[np.int64]
    grid: Floats
    normalizers: Floats


class Chains(NamedTuple):
    """State of eight chains: parameters (k, width, 8), learnt concentrations (groups, 8), random generators (2, 8)."""

    theta: Floats
    learnt: Floats
    random: Random


class Draws(NamedTuple):
    """What eight chains have passed through.

    Parameters
    ----------
    theta : array (draws, 8, k, width)
        Parameters in the order of `mixture`: weight, probabilities of all levels but the first, numbers.
    learnt : array (draws, 8, groups)
        Learnt concentrations.
    occupied : array (draws, 8, k) of bool
        Whether a class has rows.
    log_likelihoods : array (sweeps, 8)
        Log-likelihood at the beginning of each sweep.
    """

    theta: Floats
    learnt: Floats
    occupied: NDArray[np.bool_]
    log_likelihoods: Floats


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(
    problem: Problem, prior: Prior, chains: Chains, work: Work, means: Floats, draws: Draws,
    first: int, last: int, every: int, expected: bool,
) -> None:  # fmt: skip
    """Run the chains until the draws from `first` to `last` are filled in."""
    for kept in range(first, last):
        for step in range(kept * every, (kept + 1) * every):
            store(draws.log_likelihoods, step, draw_classes(problem, chains.theta, work, chains.random))
            count_columns(problem, len(chains.theta), work)
            draw_concentrations(problem, prior, chains, work)
            draw_parameters(problem, prior, chains, work, chains.theta, False)
        if expected:
            draw_parameters(problem, prior, chains, work, means, True)
        keep(problem, chains, work, means if expected else chains.theta, draws, kept)


@njit(error_model="numpy")
def draw_classes(problem: Problem, theta: Floats, work: Work, random: Random) -> Any:
    """Draw the classes of all rows, put their counts of the pieces into `work`; return the log-likelihoods."""
    others, n_pieces, numbers = len(theta) - 1, problem.pieces.starts.size - 1, problem.numbers
    total = score_columns(problem, theta, work)
    for z in range(others):
        origin = (z + 1) * problem.totals.size
        gather(problem.pieces, 0, n_pieces, work.lines, origin, work.sums, z * n_pieces)
    work.piece_counts[:] = 0.0
    work.number_counts[:] = 0.0
    for start in range(0, problem.counts.size, BLOCK):
        stop = min(start + BLOCK, problem.counts.size)
        counts = problem.counts[start:stop]
        for z in range(others):
            gather(problem.rows, start, stop, work.sums, z * n_pieces, work.chances, z * BLOCK)
        if numbers.values.shape[1]:
            expect_numbers(problem, work, 0, start, stop, others)
        total += choose_classes(work.chances, counts, random)
        for z in range(others):
            scatter(problem.rows, start, stop, work.chances, z * BLOCK, work.piece_counts, z * n_pieces)
        if numbers.values.shape[1]:
            count_numbers(problem, work, 0, counts, others)
    return total


@njit(error_model="numpy")
def choose_classes(scores: Floats, counts: Floats, random: Random) -> Any:
    """Turn log-odds of a block of rows into the counts of classes drawn; return Σ log(1 + Σ exp ℓ)."""
    total, product, zero = spread(0.0), spread(1.0), spread(0.0)
    for row in range(counts.size):
        peak = zero
        for line in range(row, len(scores), BLOCK):
            peak = larger(peak, counts[row] * load(scores, line))
        norm = exp_negative(zero - peak)
        reached, bound = norm, norm
        for line in range(row, len(scores), BLOCK):
            power = exp_negative(counts[row] * load(scores, line) - peak)
            norm += power
            store(scores, line, power)
        drawn, count = draw_uniform(random) * norm, spread(counts[row])
        for line in range(row, len(scores), BLOCK):
            reached = bound
            bound = reached + load(scores, line)
            is_below = choose(reached, drawn, zero, count)
            store(scores, line, choose(bound, drawn, is_below, zero))
        product *= norm
        total += peak
    return total + log_positive(product)


@njit(error_model="numpy")
def count_columns(problem: Problem, n_classes: int, work: Work) -> None:
    """Counts of all columns in all classes, from those of the pieces in all classes but the first."""
    n_columns, n_pieces, counts = problem.totals.size, problem.pieces.starts.size - 1, work.column_counts
    for z in range(1, n_classes):
        gather(problem.columns, 0, n_columns, work.piece_counts, (z - 1) * n_pieces, counts, z * n_columns)
    for i in range(n_columns):
        rest = spread(problem.totals[i])
        for z in range(1, n_classes):
            rest -= load(counts, z * n_columns + i)
        store(counts, i, larger(rest, spread(0.0)))


@njit(error_model="numpy")
def draw_concentrations(problem: Problem, prior: Prior, chains: Chains, work: Work) -> None:
    """Draw the learnt concentrations, given the parameters of the classes that have rows."""
    n_classes, width, _ = chains.theta.shape
    n_columns, offsets, few = problem.totals.size, problem.layout.offsets, spread(EDGE)
    for group in range(len(prior.normalizers)):
        occupied, logs = spread(0.0), spread(0.0)
        for z in range(n_classes):
            own, mass = spread(0.0), load(work.column_counts, (z + 1) * n_columns - 1)
            for i in range(offsets.size - 1):
                if prior.groups[i] == group:
                    own += sum_logs(chains.theta, z * width + 1 + offsets[i], offsets[i + 1] - offsets[i])
            occupied += choose(mass, few, spread(1.0), spread(0.0))
            logs += choose(mass, few, own, spread(0.0))
        best, value = spread(-np.inf), spread(0.0)
        for g in range(prior.grid.size):
            # The largest of log-chances plus Gumbel noise is a draw.
            noise = log_positive(larger(0.0 - log_positive(1.0 - draw_uniform(chains.random)), spread(EDGE)))
            chance = prior.normalizers[group, g] * occupied + (prior.grid[g] - 1.0) * logs - noise
            value = choose(chance, best, spread(prior.grid[g]), value)
            best = larger(best, chance)
        store(chains.learnt, group, value)


@njit(error_model="numpy")
def sum_logs(theta: Floats, place: int, n_free: int) -> Any:
    """Sum of the logs of all probabilities of an attribute."""
    rest, total = spread(1.0), spread(0.0)
    for line in range(place, place + n_free):
        p = load(theta, line)
        rest -= p
        total += log_positive(p)
    return total + log_positive(larger(rest, spread(EDGE / 2)))


@njit(error_model="numpy")
def draw_parameters(problem: Problem, prior: Prior, chains: Chains, work: Work, drawn: Floats, expected: bool) -> None:
    """Draw all parameters given the classes; or their expectations, and numbers as they have been drawn."""
    n_classes, width, _ = drawn.shape
    n_columns, layout, counts, total = problem.totals.size, problem.layout, work.column_counts, spread(0.0)
    for z in range(n_classes):
        shape = load(counts, (z + 1) * n_columns - 1) + prior.weight
        value, _unused = draw_gammas(chains.random, shape, spread(1.0)) if not expected else (shape, shape)
        store(drawn, z * width, value)
        total += value
    for z in range(n_classes):
        store(drawn, z * width, larger(load(drawn, z * width) / total, spread(EDGE)))
        for i in range(layout.offsets.size - 1):
            draw_levels(problem, prior, chains, counts, drawn, z, i, expected)
        first, last = z * width + 1 + layout.offsets[-1], (z + 1) * width
        if expected:
            for line in range(first, last):
                store(drawn, line, load(chains.theta, line))
        else:
            for d in range((last - first) // 2):
                draw_number(problem, chains.random, work, drawn, z, d)


@njit(error_model="numpy")
def draw_levels(
    problem: Problem, prior: Prior, chains: Chains, counts: Floats, drawn: Floats, z: int, i: int, expected: bool
) -> None:
    """Draw the probabilities of an attribute's levels in a class, or set them to their expectations."""
    layout, low, high = problem.layout, spread(EDGE), spread(1.0 - EDGE)
    n_free, n_columns = layout.offsets[i + 1] - layout.offsets[i], problem.totals.size
    if not n_free:
        return
    group, observed = prior.groups[i], layout.observed[i]
    a = spread(prior.concentrations[i]) if group < 0 else load(chains.learnt, group)
    rest = load(counts, z * n_columns + (observed if observed >= 0 else n_columns - 1))
    place, column = z * drawn.shape[1] + 1 + layout.offsets[i], z * n_columns + layout.offsets[i]
    for j in range(n_free):
        rest -= load(counts, column + j)
    total = larger(rest, spread(0.0)) + a
    for j in range(n_free):
        value, other = load(counts, column + j) + a, total
        if not expected:
            value, other = draw_gammas(chains.random, value, total if j == 0 else a)
        store(drawn, place + j, value)
        total = value + other if j == 0 else total + value
    for j in range(n_free):
        p = load(drawn, place + j) / total
        store(drawn, place + j, choose(p, high, high, larger(p, low)))


@njit(error_model="numpy")
def draw_number(problem: Problem, random: Random, work: Work, drawn: Floats, z: int, d: int) -> None:
    """Draw mean and log standard deviation of a number in a class."""
    kappa, nu, scale = NUMBERS
    last, n_attributes = problem.totals.size - 1, problem.layout.offsets.size - 1
    observed, line = problem.layout.observed[n_attributes + d], z * problem.numbers.totals.shape[1] + 2 * d
    count = load(work.column_counts, z * (last + 1) + (observed if observed >= 0 else last))
    total, squares = load(work.number_counts, line), load(work.number_counts, line + 1)
    precision = count + kappa
    mean = total / precision
    spare = larger(squares - mean * total, spread(0.0)) + nu * scale  # Σx² − (Σx)² / (κ + N) ≥ 0
    shape = 0.5 * (count + nu)
    half, _unused = draw_gammas(random, shape, spread(1.0))
    variance = 0.5 * spare / half
    normal, _spare = draw_normals(random)
    place = z * drawn.shape[1] + 1 + problem.layout.offsets[-1] + 2 * d
    log_scale = 0.5 * log_positive(variance)
    store(drawn, place, mean + normal * square_root(variance / precision))
    store(drawn, place + 1, log_scale)


@njit(error_model="numpy")
def keep(problem: Problem, chains: Chains, work: Work, theta: Floats, draws: Draws, kept: int) -> None:
    """Copy the state of the chains to the draws."""
    n_classes, width, _ = theta.shape
    for lane in range(LANES):
        for z in range(n_classes):
            draws.occupied[kept, lane, z] = work.column_counts[(z + 1) * problem.totals.size - 1, lane] > EDGE
            for column in range(width):
                draws.theta[kept, lane, z, column] = theta[z, column, lane]
        for group in range(len(chains.learnt)):
            draws.learnt[kept, lane, group] = chains.learnt[group, lane]
