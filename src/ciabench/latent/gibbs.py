"""Blocked Gibbs sampling for mixtures: eight chains in the eight lanes of EM's kernels.

A sweep draws the class of every row given the parameters, and then all parameters given the classes. It is EM with
draws in place of expectation and maximisation: the same lines, pieces and sums as in `mixture`, over rows that are not
merged (`make_problem(…, merge=False)`).

The prior: weights are Dirichlet(e, …, e); a discrete attribute is Dirichlet(a, …, a) in each class, Beta(a, a) if it is
a bit, where a is fixed or learnt, in common for a group of attributes, with equal chances for the values of a grid;
numbers, standardised, are normal–inverse-gamma. A learnt a is drawn given the classes and the parameters of classes
that have rows, those of the others being integrated out; these are drawn right afterwards.

A row's count is the power of its likelihood: the class z of a row with count f is drawn with chances in proportion to
P(x, z)^f, and counts f.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from ciabench.arrays import Floats
from ciabench.kernels import prepare_kernels
from ciabench.latent.lanes import LANES, empty_lines
from ciabench.latent.mixture import make_work
from ciabench.latent.pieces import Layout, Problem
from ciabench.latent.sweeps import Chains, Draws, Prior, sweep
from ciabench.latent.variates import make_random

FIXED = -1
"""Group of the attributes whose concentration is fixed."""

SUMS_AT_ONCE = 10**8
"""Sums of lines per call of the kernel, about a tenth of a second; Python notices Ctrl-C between the calls."""


def make_prior(
    layout: Layout,
    *,
    weight: float,
    concentrations: ArrayLike,
    groups: ArrayLike = FIXED,
    grid: Sequence[float] | Floats = (),
) -> Prior:
    """Prior for the attributes of a layout.

    Parameters
    ----------
    layout : Layout
        Of the problem.
    weight : float
        Concentration of the weights.
    concentrations : float or array (c,)
        Concentrations of the discrete attributes where they are fixed; ignored elsewhere.
    groups : int or array (c,)
        Groups 0, 1, … of attributes that share a learnt concentration; −1 where it is fixed.
    grid : array (g,)
        Values of learnt concentrations, a priori equally likely.
    """
    n_levels = np.diff(layout.offsets) + 1.0
    fixed = np.broadcast_to(np.asarray(concentrations, dtype=np.float64), n_levels.shape).copy()
    owners = np.broadcast_to(np.asarray(groups, dtype=np.int64), n_levels.shape).copy()
    values = np.asarray(grid, dtype=np.float64)
    terms = gammaln(np.outer(n_levels, values)) - n_levels[:, None] * gammaln(values)
    normalizers = np.zeros((owners.max(initial=FIXED) + 1, values.size))
    np.add.at(normalizers, owners[owners >= 0], terms[owners >= 0])
    return Prior(float(weight), fixed, owners, values, normalizers)


def start_chains(prior: Prior, theta: ArrayLike, rng: np.random.Generator) -> Chains:
    """Chains that start from eight sets of parameters (8, k, width); learnt concentrations start anywhere."""
    starts = np.asarray(theta, dtype=np.float64)
    lines, learnt = empty_lines(*starts.shape[1:]), empty_lines(len(prior.normalizers))
    lines[:] = np.moveaxis(starts, 0, -1)
    if learnt.size:
        learnt[:] = rng.choice(prior.grid, learnt.shape)
    return Chains(lines, learnt, make_random(rng))


def run_chains(
    problem: Problem, prior: Prior, chains: Chains, n_sweeps: int, *, every: int = 1, expected: bool = False
) -> tuple[Draws, Chains]:
    """Run eight chains for some sweeps; return what they passed through and where they are.

    Parameters
    ----------
    problem : Problem
        Rows that are not merged.
    prior : Prior
    chains : Chains
        Where the chains are; this is not changed.
    n_sweeps : int
        A multiple of `every`.
    every : int
        The parameters are kept after every so many sweeps.
    expected : bool
        Keep expectations of the weights and probabilities given the classes in place of draws. The average over them
        of P(x) for new rows is the same, with less noise. Numbers are draws in any case.

    Returns
    -------
    Draws, Chains

    Examples
    --------
    >>> from ciabench.latent.pieces import make_problem
    >>> rows = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 0, 1]] * 10, dtype=np.uint8)
    >>> problem = make_problem(rows, np.ones(40), merge=False)
    >>> prior = make_prior(problem.layout, weight=1.0, concentrations=1.0)
    >>> rng = np.random.default_rng(0)
    >>> chains = start_chains(prior, rng.uniform(0.3, 0.7, (8, 2, 4)), rng)
    >>> draws, chains = run_chains(problem, prior, chains, 100)
    >>> draws.theta.shape
    (100, 8, 2, 4)
    >>> draws.theta[50:, :, :, 0].mean().round(3)
    np.float64(0.5)
    """
    prepare_kernels()
    n_classes, width, _ = chains.theta.shape
    n_kept, n_groups = n_sweeps // every, len(prior.normalizers)
    draws = Draws(
        np.empty((n_kept, LANES, n_classes, width)), np.empty((n_kept, LANES, n_groups)),
        np.empty((n_kept, LANES, n_classes), dtype=np.bool_), np.empty((n_kept * every, LANES)),
    )  # fmt: skip
    moved = Chains(copied_lines(chains.theta), copied_lines(chains.learnt), chains.random.copy())
    means, work = copied_lines(chains.theta), make_work(problem, n_classes)
    sums = problem.rows.members.size + problem.counts.size * problem.numbers.totals.shape[1]
    step = 1 + SUMS_AT_ONCE // (sums * n_classes * every + 1)
    for first in range(0, n_kept, step):
        sweep(problem, prior, moved, work, means, draws, first, min(first + step, n_kept), every, expected)
    return draws, moved


def copied_lines(lines: Floats) -> Floats:
    """A copy that is aligned as `empty_lines`."""
    copy = empty_lines(*lines.shape[:-1])
    copy[:] = lines
    return copy
