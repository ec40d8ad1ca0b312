"""Learners with hidden variables beside plain implementations, on random problems.

Each check makes the problem of a seed and returns the largest difference, relative to the size of what is compared.
"""

import warnings
from itertools import permutations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from problems import apart, drawn_problem, has_gaps, parameters_apart, start_of, weights_of
from scipy import sparse
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

import plain
from ciabench import EM, BayesianMixture, BeliefNetwork, LatentClass
from ciabench.latent import posterior
from ciabench.latent.averaging import pool
from ciabench.latent.gibbs import make_prior, run_chains, start_chains
from ciabench.latent.pieces import make_problem
from ciabench.latent.starts import packed, unpacked
from ciabench.latent.sweeps import NUMBERS
from ciabench.probability.product import Parameters

STEPS = 8
"""Steps of EM that are compared."""

FEW_DIGITS = 1e-9
"""Below this 1 less a probability has fewer than seven digits: EM itself is compared no further then."""

BOUNDS = {"EM": 1e-5, "LatentClass": 1e-5, "BeliefNetwork": 1e-9, "BayesianMixture": 1e-9}
"""Largest differences that are rounding, which nearly singular covariances amplify; most are below 1e-9."""


def compared(fitted, problem, found):
    """How far the path and the parameters of a fit by plain steps are from plain ones."""
    path, passed = plain.em_path(problem.table, problem.weights, problem.start, STEPS, problem.smoothing)
    own, n = fitted.restart_paths_[0], fitted.n_iter_
    sound = next((step for step in range(n) if not is_sound(passed[step])), n)
    deviations = np.sqrt(plain.column_variances(problem.table.numbers, problem.weights))
    joint = plain.log_joint(problem.table, found)
    observed = np.column_stack([problem.table.codes < problem.table.n_levels, ~np.isnan(problem.table.numbers)])
    shares = (problem.weights[:, None] * softmax(joint, axis=1)).T @ observed / problem.weights.sum()
    likelihood = problem.weights @ logsumexp(joint, axis=1)
    size = problem.weights.sum()
    orders = permutations(range(len(found.weights))) if isinstance(fitted, LatentClass) else [range(len(found.weights))]
    expected = [passed[n - 1].classes(np.array(order)) for order in orders]
    return max(
        apart(own[:sound], path[:sound], size),
        apart(fitted.log_likelihood_, likelihood, size),
        min(parameters_apart(found, one, shares, deviations) for one in expected) if sound == n else 0.0,
    )


def is_sound(parameters):
    """Whether no chance of a first level, which is 1 less the others, has lost its digits."""
    return all((table[0] > FEW_DIGITS).all() for table in parameters.tables)


def options(problem):
    """Parameters of a fit that takes plain steps from the start of a problem."""
    return {
        "init": problem.start, "n_classes": problem.start.weights.size, "n_init": 1, "accelerate": False,
        "max_iter": STEPS, "tol": 1e-300, "smoothing": problem.smoothing,
        "covariance": "full" if problem.full else "diag",
    }  # fmt: skip


def check_em(seed):
    """`EM` on a table, or on sparse bits where that is possible."""
    problem = drawn_problem(seed, 1 + seed % 4, target=True)
    X, y = problem.frame.drop(columns="c0"), problem.table.codes[:, 0]
    kinds = {"kinds": problem.kinds} if problem.kinds else {}
    if (problem.table.n_levels[1:] == 2).all() and not X.isna().any(axis=None) and not problem.kinds and seed % 2:
        X = sparse.csr_matrix(X.to_numpy(dtype=np.uint8))
    fitted = EM(**options(problem), **kinds).fit(X, y, sample_weight=problem.weights)
    found = fitted.parameters_
    joint = plain.log_joint(problem.table, found)
    others = plain.log_joint(without_target(problem.table), found.without(0))
    labels = softmax(others, axis=1) @ found.tables[0].T
    return max(
        compared(fitted, problem, found),
        apart(fitted.score_samples(X, y), logsumexp(joint, axis=1)),
        apart(fitted.score_samples(X), logsumexp(others, axis=1)),
        apart(fitted.predict_proba(X), labels),
    )


def without_target(table):
    """The table without its first discrete column."""
    return table._replace(codes=table.codes[:, 1:], n_levels=table.n_levels[1:])


def check_latent_class(seed):
    """`LatentClass` on a table."""
    problem = drawn_problem(seed, 1 + seed % 4, target=False)
    kinds = {"kinds": problem.kinds} if problem.kinds else {}
    fitted = LatentClass(**options(problem), **kinds).fit(problem.frame, sample_weight=problem.weights)
    found = fitted.parameters_
    joint = plain.log_joint(problem.table, found)
    return max(
        compared(fitted, problem, found),
        apart(fitted.score_samples(problem.frame), logsumexp(joint, axis=1)),
        apart(fitted.predict_proba(problem.frame), softmax(joint, axis=1)),
    )


def check_network(seed):
    """`BeliefNetwork` on a random graph, some of whose variables are hidden."""
    rng = np.random.default_rng(seed)
    n_levels, size = rng.integers(2, 4, rng.integers(2, 6)).tolist(), int(rng.integers(3, 21))
    n_variables = len(n_levels)
    parents = [rng.permutation(own)[: rng.integers(0, min(own, 2) + 1)].tolist() for own in range(n_variables)]
    names = [f"v{one}" for one in range(n_variables)]
    hidden = [one for one in range(n_variables) if rng.random() < 0.3 and one < n_variables - 1]
    shapes = [(*(n_levels[one] for one in above), own) for above, own in zip(parents, n_levels, strict=True)]
    tables = [0.9 * rng.dirichlet(np.ones(shape[-1]), shape[:-1]) + 0.1 / shape[-1] for shape in shapes]
    rows = np.column_stack([np.where(has_gaps(rng, size), -1, rng.integers(0, n, size)) for n in n_levels])
    rows[:, hidden] = -1
    weights, smoothing = weights_of(rng, size), float(rng.choice([0.0, 0.5]))
    seen = [one for one in range(n_variables) if one not in hidden]
    frame = pd.DataFrame({names[one]: np.where(rows[:, one] < 0, np.nan, rows[:, one]) for one in seen})
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    for own, above in enumerate(parents):
        graph.add_edges_from((names[one], names[own]) for one in above)
    fitted = BeliefNetwork(
        graph, hidden={names[one]: n_levels[one] for one in hidden}, kinds="categorical",
        states={names[one]: list(range(n_levels[one])) for one in seen}, n_init=1, accelerate=False, max_iter=STEPS,
        tol=1e-300, smoothing=smoothing, init=dict(zip(names, tables, strict=True)),
    ).fit(frame, sample_weight=weights)  # fmt: skip
    path, passed = plain.network_path(rows, weights, tables, parents, STEPS, smoothing)
    n, found = fitted.n_iter_, [fitted.tables_[name].to_numpy() for name in names]
    joint = plain.joint_states([one.reshape(shape) for one, shape in zip(found, shapes, strict=True)], parents)
    masses = np.array([plain.possible(joint, row).sum() for row in rows])
    asked = int(rng.integers(n_variables))
    is_possible = masses > 0
    chances = [plain.network_posterior(joint, row, asked) for row in rows[is_possible]]
    expected = [one.reshape(-1, shape[-1]) for one, shape in zip(passed[n - 1], shapes, strict=True)]
    return max(
        apart(fitted.restart_paths_[0], path[:n], weights.sum()),
        apart(fitted.log_likelihood_, weights[weights > 0] @ np.log(masses[weights > 0]), weights.sum()),
        max(apart(one, other) for one, other in zip(found, expected, strict=True)),
        apart(fitted.score_samples(frame)[is_possible], np.log(masses[is_possible])),
        apart(fitted.posterior(frame, names[asked])[is_possible], np.array(chances)),
    )


def check_bayesian_mixture(seed):
    """`BayesianMixture`: its predictions are averages over its draws, and its draws are what they say."""
    problem = drawn_problem(seed, 3, target=True)
    X, y = problem.frame.drop(columns="c0"), problem.table.codes[:, 0]
    kinds = {"kinds": problem.kinds} if problem.kinds else {}
    with pytest.MonkeyPatch.context() as patched:
        kept = []
        patched.setattr(posterior, "pool", lambda *made: kept.append(made) or pool(*made))
        fitted = BayesianMixture(max_classes=4, max_sweeps=50, random_state=seed, **kinds)
        fitted.fit(X, y, sample_weight=problem.weights)
    table = without_target(problem.table)
    table = table._replace(numbers=(table.numbers - fitted._scale.centres) / fitted._scale.spreads)
    expected = averaged(kept[-1][0], problem.table.n_levels, table)
    return max(apart(fitted.predict_proba(X), expected), check_sweeps(problem, fitted._scale, seed))


def averaged(draws, n_levels, table):
    """P(y | x) by the mean of P(x, y) over draws, with the classes without rows as one of equal chances."""
    kappa, nu, scale = NUMBERS
    n_numbers, n_draws = table.numbers.shape[1], draws.occupied.shape[0] * draws.occupied.shape[1]
    variances = np.full((1, n_numbers), scale * nu / (nu - 2) * (1 + 1 / kappa))
    prior = Parameters(np.ones(1), tuple(np.full((n, 1), 1 / n) for n in n_levels), np.zeros((n_numbers, 1)), variances)
    drawn = unpacked(draws.theta[draws.occupied], n_levels, n_numbers, False)
    rest = Parameters(np.array([1 - drawn.weights.sum() / n_draws]), *prior[1:])
    logs = [labels(drawn._replace(weights=drawn.weights / n_draws), table), labels(rest, table)]
    return softmax(np.logaddexp(*logs), axis=1)


def labels(parameters, table):
    """Log P(x, y), (s, labels)."""
    joint = plain.log_joint(table, parameters.without(0)._replace(weights=np.maximum(parameters.weights, 1e-12)))
    return np.stack([logsumexp(joint + np.log(one), axis=1) for one in parameters.tables[0]], axis=1)


def check_sweeps(problem, scale, seed):
    """Sweeps report the likelihood of their parameters, whose expectations are those of whole numbers of rows."""
    rng, ones = np.random.default_rng(seed), np.ones(problem.table.n_rows)
    table = problem.table._replace(numbers=scale.applied(problem.table.numbers))
    made = make_problem(table, ones, merge=False)
    prior = make_prior(made.layout, weight=0.3, concentrations=0.5)
    start = start_of(rng, table, 3, False)
    chains = start_chains(prior, np.tile(packed(start), (8, 1, 1)), rng)
    draws, _ = run_chains(made, prior, chains, 4)
    passed = [[start] * 8, *([of_draw(theta, table) for theta in of_sweep] for of_sweep in draws.theta[:-1])]
    expected = [[logsumexp(plain.log_joint(table, one), axis=1).sum() for one in line] for line in passed]
    means, _ = run_chains(made, prior, chains, 4, expected=True)
    rows = means.theta[..., 0] * (table.n_rows + 3 * 0.3) - 0.3
    worst, place = [apart(draws.log_likelihoods, expected), apart(rows, rows.round())], 1
    worst.append(apart(rows.sum(axis=2), np.full((4, 8), table.n_rows)))
    for codes, n in zip(table.codes.T, table.n_levels, strict=True):
        if (codes < n).all() and n > 1:
            counts = means.theta[..., place : place + n - 1] * (rows + 0.5 * n)[..., None] - 0.5
            seen = np.bincount(codes, minlength=n)[1:]
            worst += [apart(counts, counts.round()), apart(counts.sum(axis=2), np.broadcast_to(seen, (4, 8, n - 1)))]
        place += n - 1
    return max(worst)


def of_draw(theta, table):
    """Parameters of a draw (k, width)."""
    return unpacked(theta, table.n_levels, table.numbers.shape[1], False)


CHECKS = {
    "EM": check_em, "LatentClass": check_latent_class, "BeliefNetwork": check_network,
    "BayesianMixture": check_bayesian_mixture,
}  # fmt: skip


def worst_of(name, seeds):
    """Largest difference among the problems of these seeds; warnings of the search are left aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for kind in (UserWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", kind)
        return max(CHECKS[name](seed) for seed in seeds)
