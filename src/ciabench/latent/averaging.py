"""Average mixtures that a sampler has drawn: one large mixture, whose target is predicted from the other columns.

The average of P(x, y) over draws is a mixture again. Its components are the classes that have rows, of all draws; those
that have none are drawn from the prior, and are replaced by one component in which the expectations of all
probabilities stand. Components are the lanes of `mixture`: lane by lane, and class by class in a lane, log-odds are
formed against this one component, which is the first class in every lane.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ciabench.arrays import Floats
from ciabench.kernels import prepare_kernels
from ciabench.latent.elementary import exp_negative, larger
from ciabench.latent.lanes import LANES, empty_lines, load, spread, store
from ciabench.latent.mixture import EDGE, Work, expect_numbers, make_work, score_columns
from ciabench.latent.numbers import BLOCK
from ciabench.latent.pieces import Layout, Problem
from ciabench.latent.rows import gather
from ciabench.latent.sweeps import NUMBERS, Draws

LEAST_WEIGHT = 1e-12
"""Least weight of the component of the classes without rows."""


class Pool(NamedTuple):
    """Components of averaged mixtures of a target and other columns.

    Parameters
    ----------
    theta : array (1 + c, width, 8)
        Weights and parameters of the other columns; the first class in all lanes is that of classes without rows.
    targets : array (labels, 1 + c, 8)
        P(label) in each component.
    """

    theta: Floats
    targets: Floats


def pool(draws: Draws, layout: Layout) -> Pool:
    """Pool the draws of mixtures whose first discrete attribute is the target."""
    n_free, n_discrete = int(layout.offsets[1]), int(layout.offsets[-1])
    rows = draws.theta[draws.occupied]
    n_draws = draws.occupied.size // draws.occupied.shape[-1]
    lines = -(-len(rows) // LANES)
    seats = np.tile(_without_rows(layout, draws.theta.shape[-1]), ((1 + lines) * LANES, 1))
    seats[:LANES, 0] = max(1 - rows[:, 0].sum() / n_draws, LEAST_WEIGHT)
    seats[LANES:, 0] = EDGE * LEAST_WEIGHT
    seats[LANES : LANES + len(rows)] = rows
    seats[LANES : LANES + len(rows), 0] /= n_draws
    seats[:, : 1 + n_discrete] = np.clip(seats[:, : 1 + n_discrete], EDGE * LEAST_WEIGHT, 1 - EDGE)
    theta, targets = empty_lines(1 + lines, seats.shape[1] - n_free), empty_lines(1 + n_free, 1 + lines)
    theta[:] = np.delete(seats, np.s_[1 : 1 + n_free], axis=1).reshape(1 + lines, LANES, -1).swapaxes(1, 2)
    shares = seats[:, 1 : 1 + n_free]
    full = np.column_stack([1 - shares.sum(axis=1), shares]).clip(EDGE)
    targets[:] = full.reshape(1 + lines, LANES, -1).transpose(2, 0, 1)
    return Pool(theta, targets)


def _without_rows(layout: Layout, width: int) -> Floats:
    """Expected parameters (width,) of a class without rows: equal probabilities, and the prior's moments of numbers."""
    kappa, nu, scale = NUMBERS
    n_free, found = np.diff(layout.offsets), np.zeros(width)
    found[1 : 1 + layout.offsets[-1]] = np.repeat(1 / (1 + n_free), n_free)
    found[2 + layout.offsets[-1] :: 2] = 0.5 * np.log(scale * nu / (nu - 2) * (1 + 1 / kappa))
    return found


def label_scores(problem: Problem, pooled: Pool) -> Floats:
    """Log P(x, y), up to a constant in every row, of rows that are not merged, (s, labels)."""
    prepare_kernels()
    n_labels, n_lines, _ = pooled.targets.shape
    found = np.empty((problem.counts.size, n_labels))
    fill_scores(problem, pooled, make_work(problem, n_lines), empty_lines(1 + n_labels), found)
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def fill_scores(problem: Problem, pooled: Pool, work: Work, sums: Floats, found: Floats) -> None:
    """Fill in the scores of all rows."""
    others, n_pieces = len(pooled.theta) - 1, problem.pieces.starts.size - 1
    score_columns(problem, pooled.theta, work)
    for z in range(others):
        gather(problem.pieces, 0, n_pieces, work.lines, (z + 1) * problem.totals.size, work.sums, z * n_pieces)
    for start in range(0, len(found), BLOCK):
        stop = min(start + BLOCK, len(found))
        for z in range(others):
            gather(problem.rows, start, stop, work.sums, z * n_pieces, work.chances, z * BLOCK)
        if problem.numbers.values.shape[1]:
            expect_numbers(problem, work, 0, start, stop, others)
        for row in range(start, stop):
            add_components(work.chances, row - start, pooled.targets, sums, found[row])


@njit(error_model="numpy")
def add_components(scores: Floats, first: int, targets: Floats, sums: Floats, found: Floats) -> None:
    """Log of the sum of the components of one row, for all labels."""
    n_lines, peak = targets.shape[1], spread(0.0)
    for line in range(first, len(scores), BLOCK):
        peak = larger(peak, load(scores, line))
    store(sums, 0, peak)
    highest = sums[0].max()
    for label in range(found.size):
        store(sums, 1 + label, spread(0.0))
    for z in range(1, n_lines):
        power = exp_negative(load(scores, first + (z - 1) * BLOCK) - highest)
        for label in range(found.size):
            store(sums, 1 + label, load(sums, 1 + label) + power * load(targets, label * n_lines + z))
    for label in range(found.size):
        found[label] = np.log(sums[1 + label].sum() + np.exp(-highest) * targets[label, 0, 0]) + highest
