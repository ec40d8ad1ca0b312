"""Draw mixtures from their posterior, without knowing the number of classes, until predictions of a target settle.

Chains grow first: they start on a few random rows, and go on with twice as many until there are all. Two classes
that are really one merge sooner the fewer rows they have.

Then they run in stages, each as long as everything before it; only the last one is kept, so that half of all sweeps are
warm-up. A stage is the last one if chains 0 to 3 and chains 4 to 7 predict the target alike, or if there are no sweeps
left.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ciabench.arrays import Coded, Floats
from ciabench.latent.averaging import Pool, label_scores, pool
from ciabench.latent.gibbs import FIXED, make_prior, run_chains, start_chains
from ciabench.latent.lanes import LANES
from ciabench.latent.pieces import Layout, make_problem
from ciabench.latent.starts import make_starts
from ciabench.latent.sweeps import Chains, Draws, Prior

TARGET_CONCENTRATION = 0.5
"""Concentration of the probabilities of the target, which is the first column."""

GRID = np.geomspace(0.05, 20.0, 49)
"""Values of learnt concentrations, a priori equally likely: steps of 13%."""

FIRST_STAGE, KEPT = 50, 25
"""Sweeps at the end of the first stage that may be the last one, and draws of each chain that are kept."""

FIRST_ROWS, SWEEPS_PER_STEP = 32, 25
"""Rows that chains start on, and sweeps until there are twice as many."""

REFERENCE_ROWS = 200
"""Rows on which predictions are compared."""

MOST_COPIES = 100
"""Most rows that a row with a large weight counts as."""


class Posterior(NamedTuple):
    """Draws from the posterior, pooled, and what the chains did.

    Parameters
    ----------
    pooled : Pool
        The classes that have rows, of all draws.
    n_occupied : array (draws, 8)
        How many classes had rows.
    learnt : array (draws, 8, groups)
        Learnt concentrations.
    log_likelihoods : array (8, sweeps)
        Log-likelihood of each chain at the beginning of each sweep.
    is_settled : bool
        Whether the two halves of the chains agreed before the budget was spent.
    """

    pooled: Pool
    n_occupied: NDArray[np.intp]
    learnt: Floats
    log_likelihoods: Floats
    is_settled: bool


def as_powers(table: Coded, weights: Floats) -> tuple[Coded, Floats]:
    """Rows in an order that depends on their contents alone, and powers of at most 1 of their likelihoods.

    A row of weight w is ⌈w⌉ rows of power w / ⌈w⌉, or `MOST_COPIES` rows of larger powers.

    Examples
    --------
    >>> table = Coded(np.array([[1], [0]], dtype=np.uint8), np.array([2]), np.empty((2, 0)))
    >>> found, powers = as_powers(table, np.array([1.5, 1.0]))
    >>> found.codes.ravel().tolist(), powers.tolist()
    ([0, 1, 1], [1.0, 0.75, 0.75])
    """
    copies = np.minimum(np.ceil(weights), MOST_COPIES).astype(np.intp)
    powers = weights / np.maximum(copies, 1)
    order = _order(table, powers)
    owners = np.repeat(order, copies[order])
    return table.rows(owners), powers[owners]


def _order(table: Coded, powers: Floats) -> NDArray[np.intp]:
    """Order of the rows by their contents, then by powers."""
    if not sparse.issparse(table.codes):
        return np.lexsort((powers, *np.column_stack([table.codes, table.numbers]).T[::-1]))
    codes = table.codes.sorted_indices()
    rows = [
        (indices.tolist(), power)
        for indices, power in zip(np.split(codes.indices, codes.indptr[1:-1]), powers, strict=True)
    ]
    return np.array(sorted(range(len(rows)), key=rows.__getitem__), dtype=np.intp)


def sample_posterior(
    table: Coded, powers: Floats, max_classes: int, weight: float, max_sweeps: int, tol: float, rng: np.random.Generator
) -> Posterior:
    """Run eight chains over a table with standardised numbers, whose first column is the target."""
    problem = make_problem(table, powers, merge=False)
    prior = _prior(problem.layout, weight)
    chains, done, paths = grown_chains(table, powers, max_classes, prior, rng), 0, []
    compared = without_target(table.rows(np.unique(np.linspace(0, table.n_rows - 1, REFERENCE_ROWS).astype(np.intp))))
    while True:
        n_sweeps, every = max(done, FIRST_STAGE // 2), max(done // KEPT, 1)
        draws, chains = run_chains(problem, prior, chains, n_sweeps, every=every, expected=True)
        done += n_sweeps
        paths.append(draws.log_likelihoods)
        is_settled = len(paths) > 1 and disagreement(draws, problem.layout, compared) < tol
        if is_settled or 2 * done > max_sweeps:
            break
    return Posterior(
        pool(draws, problem.layout), draws.occupied.sum(axis=2), draws.learnt, np.concatenate(paths).T, is_settled
    )


def grown_chains(table: Coded, powers: Floats, max_classes: int, prior: Prior, rng: np.random.Generator) -> Chains:
    """Chains that start on a few random rows, each class at one of them, and have seen ever more of the others."""
    order, size = rng.permutation(table.n_rows), min(FIRST_ROWS, table.n_rows)
    part, own = table.rows(order[:size]), powers[order[:size]]
    chains = start_chains(prior, make_starts(part, own, max_classes, LANES, rng, target=0), rng)
    while size < table.n_rows:
        problem = make_problem(table.rows(order[:size]), powers[order[:size]], merge=False)
        _, chains = run_chains(problem, prior, chains, SWEEPS_PER_STEP, every=SWEEPS_PER_STEP)
        size *= 2
    return chains


def _prior(layout: Layout, weight: float) -> Prior:
    """The target has a prior of its own; other attributes learn a concentration, bits one and the others another."""
    n_levels = 1 + np.diff(layout.offsets)
    _, groups = np.unique(n_levels[1:] > 2, return_inverse=True)
    owners = np.append(FIXED, groups)
    return make_prior(layout, weight=weight, concentrations=TARGET_CONCENTRATION, groups=owners, grid=GRID)


def without_target(table: Coded) -> Coded:
    """All columns but the first."""
    first = table.n_levels[0] - 1 if sparse.issparse(table.codes) else 1
    return table._replace(codes=table.codes[:, first:], n_levels=table.n_levels[1:])


def disagreement(draws: Draws, layout: Layout, rows: Coded) -> float:
    """Root mean square of the difference of P(y | x) between chains 0 to 3 and chains 4 to 7."""
    problem = make_problem(rows, np.ones(rows.n_rows), merge=False)
    halves = []
    for chosen in (slice(None, LANES // 2), slice(LANES // 2, None)):
        half = draws._replace(theta=draws.theta[:, chosen], occupied=draws.occupied[:, chosen])
        scores = label_scores(problem, pool(half, layout))
        halves.append(np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None]))
    return float(np.sqrt(np.mean((halves[0] - halves[1]) ** 2)))


def r_hat(paths: Floats) -> float:
    """Potential scale reduction of chains (c, sweeps), each of them cut in two (Gelman et al. 2013, §11.4).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> same = rng.normal(size=(8, 100))
    >>> round(r_hat(same), 2), round(r_hat(same + np.arange(8)[:, None]), 2)
    (1.0, 2.55)
    """
    length = paths.shape[1] // 2
    if length < 2:
        return float("inf")
    halves = np.concatenate([paths[:, -2 * length : -length], paths[:, -length:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if within == 0:
        return 1.0 if between == 0 else float("inf")
    return float(np.sqrt((length - 1) / length + between / within))
