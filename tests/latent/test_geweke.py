"""Geweke's joint-distribution test of the Gibbs sampler (Geweke 2004, Getting it right, JASA 99)."""

import importlib.util
import inspect

import numpy as np
import pytest

from ciabench.latent import gibbs, sweeps
from ciabench.latent.pieces import make_problem
from ciabench.latent.starts import packed, unpacked
from ciabench.probability.product import Parameters, draw

K, N_ROWS, WEIGHT, FIXED = 2, 6, 0.7, 0.5
N_LEVELS = np.array([2, 2, 2, 3])
GROUPS = np.array([-1, 0, 0, 1])
GRID = np.array([0.3, 1.0, 4.0])


def draw_prior(rng):
    """Parameters and the learnt concentrations."""
    kappa, nu, scale = sweeps.NUMBERS
    learnt = rng.choice(GRID, 2)
    tables = [
        rng.dirichlet(np.full(n, FIXED if g < 0 else learnt[g]), K).T for n, g in zip(N_LEVELS, GROUPS, strict=True)
    ]
    variances = nu * scale / rng.chisquare(nu, (K, 1))
    means = rng.normal(size=(1, K)) * np.sqrt(variances.T / kappa)
    return Parameters(rng.dirichlet(np.full(K, WEIGHT)), tuple(tables), means, variances), learnt


def draw_rows(parameters, rng):
    """Rows, some of whose cells are missing."""
    table, _ = draw(parameters, N_ROWS, rng)
    table.codes[0, 1], table.numbers[1, 0] = 2, np.nan
    return table


def statistics(theta, learnt):
    """Functions of the parameters (k, width) of one chain and of the learnt concentrations; bounded or log."""
    p = theta[:, 1:6]
    return np.concatenate(
        [
            theta[:, 0] ** 2,
            (p**2).ravel(),
            (p[:, :-1] * p[:, 1:]).ravel(),
            np.tanh(theta[:, 6]),
            theta[:, 7],
            np.log(learnt),
        ]
    )


def scores(n_rounds=6000, seed=0):
    """Differences between both ways to draw from the joint distribution, in standard errors."""
    rng = np.random.default_rng(seed)
    prior_draws = [draw_prior(rng) for _ in range(20_000)]
    direct = np.array([statistics(packed(one), learnt) for one, learnt in prior_draws])
    parameters, _ = prior_draws[0]
    problem = make_problem(draw_rows(parameters, rng), np.ones(N_ROWS), merge=False)
    prior = gibbs.make_prior(problem.layout, weight=WEIGHT, concentrations=FIXED, groups=GROUPS, grid=GRID)
    chains = gibbs.start_chains(prior, np.tile(packed(parameters), (8, 1, 1)), rng)
    found = np.empty((n_rounds, direct.shape[1]))
    for i in range(n_rounds):
        draws, chains = gibbs.run_chains(problem, prior, chains, 1)
        theta = draws.theta[0, 0]
        found[i] = statistics(theta, draws.learnt[0, 0])
        problem = make_problem(draw_rows(unpacked(theta, N_LEVELS, 1, full=False), rng), np.ones(N_ROWS), merge=False)
    batches = found[: n_rounds // 50 * 50].reshape(50, -1, direct.shape[1]).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / 50 + direct.var(axis=0) / len(direct))
    return (batches.mean(axis=0) - direct.mean(axis=0)) / error


MOST = 4.0
"""Largest difference of 26, in standard errors, that passes."""

MUTANTS = {
    "half of the prior of a level": (
        "total = larger(rest, spread(0.0)) + a",
        "total = larger(rest, spread(0.0)) + 0.5 * a",
    ),
    "concentrations know of all classes": (
        "occupied += choose(mass, few, spread(1.0), spread(0.0))",
        "occupied += spread(1.0)",
    ),
    "a degree of freedom less": ("shape = 0.5 * (count + nu)", "shape = 0.5 * (count + nu - 1.0)"),
}


def test_both_ways_to_draw_from_the_joint_distribution_agree():
    assert np.abs(scores()).max() < MOST


@pytest.mark.soak
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutants_disagree(mutant, tmp_path, monkeypatch):
    right, wrong = MUTANTS[mutant]
    source = inspect.getsource(sweeps)
    assert source.count(right) == 1
    path = tmp_path / "mutant.py"
    path.write_text(source.replace(right, wrong))
    spec = importlib.util.spec_from_file_location("mutant", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(gibbs, "sweep", module.sweep)
    assert np.abs(scores()).max() > MOST
