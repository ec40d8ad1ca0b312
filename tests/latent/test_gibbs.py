"""Gibbs sampling against exact posteriors, summed over all assignments of rows to classes."""

from itertools import product as assignments

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import t as student

from ciabench.arrays import Coded
from ciabench.latent.gibbs import make_prior, run_chains, start_chains
from ciabench.latent.pieces import make_problem
from ciabench.latent.starts import make_starts
from ciabench.latent.sweeps import NUMBERS
from ciabench.probability.product import Parameters, log_joint

K = 2
GRID = np.array([0.3, 1.0, 4.0])
WEIGHT, FIXED = 0.4, 0.5


def bits(*rows):
    codes = np.array(rows, dtype=np.uint8)
    return Coded(codes, np.full(codes.shape[1], 2), np.empty((len(codes), 0)))


def log_dirichlet(counts, a):
    """Log-probability of a sequence with these counts under a Dirichlet(a, …) prior."""
    total = len(counts) * a
    return gammaln(total) - gammaln(total + sum(counts)) + sum(gammaln(a + n) - gammaln(a) for n in counts)


def log_numbers(values):
    """Log-density of numbers of one class under the normal–inverse-gamma prior, one after the other."""
    kappa, nu, scale = NUMBERS
    total = 0.0
    for n, x in enumerate(values):
        before = np.array(values[:n])
        precision, mean = kappa + n, before.sum() / (kappa + n)
        spare = nu * scale + (before**2).sum() - before.sum() ** 2 / precision
        width = np.sqrt(spare / (nu + n) * (precision + 1) / precision)
        total += student.logpdf(x, nu + n, mean, width)
    return total


def log_evidence(table, groups, powers=None):
    """Log-probability of a table, by the sum over all assignments of its rows and over the grid."""
    powers = np.ones(table.n_rows) if powers is None else powers
    terms = []
    for classes in assignments(range(K), repeat=table.n_rows):
        hidden = np.array(classes)
        own = [powers[hidden == z] for z in range(K)]
        total = log_dirichlet([masses.sum() for masses in own], WEIGHT)
        total += sum(log_numbers(x[(hidden == z) & ~np.isnan(x)]) for x in table.numbers.T for z in range(K))
        of_grid = [log_levels(table, groups, hidden, powers, a) - np.log(GRID.size) for a in GRID]
        terms.append(total + logsumexp(of_grid))
    return logsumexp(terms)


def log_levels(table, groups, hidden, powers, a):
    total = 0.0
    for i, (codes, n) in enumerate(zip(table.codes.T, table.n_levels, strict=True)):
        for z in range(K):
            counts = [powers[(codes == level) & (hidden == z)].sum() for level in range(n)]
            total += log_dirichlet(counts, FIXED if groups[i] < 0 else a)
    return total


def stacked(table, row):
    return Coded(
        *(np.concatenate([one, other]) if one.ndim == 2 else one for one, other in zip(table, row, strict=True))
    )


def sampled(table, new, groups, *, powers=None, expected=False, n_sweeps=4000):
    """P(new rows | table) from the draws of eight chains."""
    problem = make_problem(table, np.ones(table.n_rows) if powers is None else powers, merge=False)
    prior = make_prior(problem.layout, weight=WEIGHT, concentrations=FIXED, groups=groups, grid=GRID)
    rng = np.random.default_rng(5)
    starts = make_starts(table, problem.counts, K, 8, rng)
    draws, _ = run_chains(problem, prior, start_chains(prior, starts, rng), n_sweeps, expected=expected)
    return np.exp(predictive(draws.theta[100:].reshape(-1, *starts.shape[1:]), table, new))


def predictive(theta, table, new):
    n_draws, k, _ = theta.shape
    flat, place, tables = theta.reshape(n_draws * k, -1), 1, []
    for n in table.n_levels:
        rest = flat[:, place : place + n - 1].T
        tables.append(np.vstack([1 - rest.sum(axis=0), rest]))
        place += n - 1
    numbers = flat[:, place:]
    means, variances = numbers[:, ::2].T, np.exp(2 * numbers[:, 1::2])
    mixture = Parameters(flat[:, 0] / n_draws, tuple(tables), means, variances)
    return logsumexp(log_joint(new, mixture), axis=1)


TINY = bits([1, 1, 1], [1, 0, 1], [0, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0])
PATTERNS = bits(*assignments((0, 1), repeat=3))


@pytest.mark.parametrize("groups", [[-1, -1, -1], [-1, 0, 0]], ids=["fixed", "learnt"])
@pytest.mark.parametrize("expected", [False, True], ids=["draws", "expectations"])
@pytest.mark.parametrize("size", [3, 6])
def test_predictions_are_the_exact_ones(size, groups, expected):
    table = TINY.rows(slice(size))
    evidence = log_evidence(table, groups)
    exact = [np.exp(log_evidence(stacked(table, PATTERNS.rows([i])), groups) - evidence) for i in range(8)]
    found = sampled(table, PATTERNS, groups, expected=expected)
    np.testing.assert_allclose(found, exact, atol=0.004)
    assert found.sum() == pytest.approx(1)


MIXED = Coded(
    np.array([[1, 2], [0, 0], [1, 3], [2, 1], [0, 2]], dtype=np.uint8),
    np.array([2, 3]),
    np.array([[0.3, 1.5], [-1.0, np.nan], [0.6, 0.2], [1.2, -0.7], [-0.8, 0.1]]),
)
MIXED_NEW = Coded(
    np.array([[1, 0], [0, 2], [2, 3]], dtype=np.uint8),
    np.array([2, 3]),
    np.array([[0.5, 0.9], [-0.7, np.nan], [np.nan, 0.2]]),
)


@pytest.mark.parametrize("expected", [False, True], ids=["draws", "expectations"])
def test_levels_numbers_and_missing_cells(expected):
    groups = [0, 0]
    evidence = log_evidence(MIXED, groups)
    exact = [np.exp(log_evidence(stacked(MIXED, MIXED_NEW.rows([i])), groups) - evidence) for i in range(3)]
    np.testing.assert_allclose(sampled(MIXED, MIXED_NEW, groups, expected=expected, n_sweeps=8000), exact, rtol=0.02)


@pytest.mark.parametrize("powers", [np.full(4, 2.0), np.array([0.5, 1.0, 0.3, 2.0])])
def test_counts_are_powers_of_the_likelihood(powers):
    table, groups = TINY.rows(slice(4)), [-1, 0, 0]
    evidence = log_evidence(table, groups, powers)
    both = np.append(powers, 1.0)
    exact = [np.exp(log_evidence(stacked(table, PATTERNS.rows([i])), groups, both) - evidence) for i in range(8)]
    np.testing.assert_allclose(sampled(table, PATTERNS, groups, powers=powers), exact, atol=0.004)
