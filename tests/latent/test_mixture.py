"""The kernels of EM against their definitions, in plain NumPy."""

import numpy as np
import pytest
from numba import njit
from scipy import sparse
from scipy.special import logsumexp, softmax

from ciabench.latent import mixture, pieces
from ciabench.latent.lanes import LANES
from ciabench.latent.restarts import empty_lanes, maximize, settle
from ciabench.latent.starts import make_starts

KINDS = ["complete", "few attributes", "many attributes", "missing", "sparse"]


def data_of(kind):
    """Rows as floats, NaN where missing; as the kernels take them; and how often each occurs."""
    rng = np.random.default_rng(KINDS.index(kind))
    n_attributes = {"few attributes": 4, "many attributes": 80}.get(kind, 9)
    rows = (rng.random((50, n_attributes)) < 0.4).astype(float)
    if kind == "missing":
        rows[rng.random(rows.shape) < 0.2] = np.nan
    given = {"missing": rows, "sparse": sparse.csr_matrix(rows)}.get(kind, np.nan_to_num(rows).astype(np.uint8))
    return rows, given, rng.choice([1.0, 2.0, 0.7], 50)


def parameters(n_attributes, n_classes, spread, n_sets=LANES):
    rng = np.random.default_rng(n_classes)
    theta = 1 / (1 + np.exp(-rng.normal(0, spread, (n_sets, n_classes, 1 + n_attributes))))
    theta[:, :, 0] = rng.dirichlet(np.ones(n_classes), n_sets)
    return np.clip(theta, mixture.EDGE, 1 - mixture.EDGE)


def log_joint(rows, theta):
    """log P(x, z) (s, k) for one set of parameters; missing cells are left out."""
    logs = np.nan_to_num(np.where(rows[:, None] == 1, np.log(theta[:, 1:]), np.log1p(-theta[:, 1:])))
    return np.where(np.isnan(rows)[:, None], 0.0, logs).sum(axis=2) + np.log(theta[:, 0])


def log_prior(theta, smoothing):
    return smoothing * (np.log(theta).sum() + np.log1p(-theta[:, 1:]).sum())


def stepped(problem, theta):
    """Parameters after one step, and objectives before it, by the kernel."""
    ascents = maximize(problem, theta, tol=0.0, max_iter=2, accelerate=False)
    return ascents.theta, ascents.paths[:, 0]


@pytest.mark.parametrize("spread", [1, 30])
@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_likelihoods_by_their_definition(kind, n_classes, spread):
    rows, given, counts = data_of(kind)
    theta = parameters(rows.shape[1], n_classes, spread, n_sets=11)
    expected = [counts @ logsumexp(log_joint(rows, one), axis=1) + log_prior(one, 0.5) for one in theta]
    found = mixture.log_likelihoods(pieces.make_problem(given, counts, 0.5), theta)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_step_by_its_definition(kind, n_classes, smoothing):
    rows, given, counts = data_of(kind)
    theta = parameters(rows.shape[1], n_classes, 1)
    updated, objective = stepped(pieces.make_problem(given, counts, smoothing), theta)
    np.testing.assert_allclose(
        objective[0], mixture.log_likelihoods(pieces.make_problem(given, counts, smoothing), theta)[0]
    )
    for old, new in zip(theta, updated, strict=True):
        weighted = counts[:, None] * softmax(log_joint(rows, old), axis=1)
        mass = weighted.sum(axis=0) + smoothing
        np.testing.assert_allclose(new[:, 0], mass / mass.sum(), rtol=1e-12)
        ones, observed = weighted.T @ (rows == 1), weighted.T @ ~np.isnan(rows)
        np.testing.assert_allclose(new[:, 1:], (ones + smoothing) / (observed + 2 * smoothing), rtol=1e-11)


def test_a_class_without_examples_keeps_its_probabilities():
    theta = parameters(9, 2, 1)
    theta[:, 0, 1:], theta[:, 1, 1:5], theta[:, 1, 5:] = 0.5, mixture.EDGE, 0.3
    theta[:, 0, 0], theta[:, 1, 0] = 1 - mixture.EDGE, mixture.EDGE
    updated, _ = stepped(pieces.make_problem(np.ones((300, 9), dtype=np.uint8), np.full(300, 1e-40)), theta)
    np.testing.assert_array_equal(updated[:, 1, 1:], theta[:, 1, 1:])
    np.testing.assert_allclose(updated[:, 0, 1:], 1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_result_of_a_restart_does_not_depend_on_the_others(kind, n_classes):
    _, given, counts = data_of(kind)
    problem = pieces.make_problem(given, counts)
    starts = make_starts(given, counts, n_classes, 20, np.random.RandomState(0))
    together = maximize(problem, starts, tol=1e-8, max_iter=10_000)
    for restart in (0, 7, 8, 19):
        alone = maximize(problem, starts[restart : restart + 1], tol=1e-8, max_iter=10_000)
        n_steps = alone.n_evaluations[0]
        assert n_steps == together.n_evaluations[restart]
        np.testing.assert_array_equal(alone.paths[0, :n_steps], together.paths[restart, :n_steps])
        np.testing.assert_array_equal(alone.theta[0], together.theta[restart])


@pytest.mark.parametrize("max_iter", [1, 2, 3, 100])
def test_steps_are_counted_and_their_objectives_kept(max_iter):
    _, given, counts = data_of("complete")
    problem = pieces.make_problem(given, counts)
    starts = make_starts(given, counts, 2, 3, np.random.RandomState(0))
    ascents = maximize(problem, starts, tol=1e-300, max_iter=max_iter, accelerate=False)
    assert (ascents.n_evaluations == max_iter).all()
    assert not ascents.converged.any()
    for path, n, objective in zip(ascents.paths, ascents.n_evaluations, ascents.objective, strict=True):
        assert path[n - 1] == objective


def test_plain_steps_are_more_and_end_as_high():
    _, given, counts = data_of("complete")
    problem = pieces.make_problem(given, counts)
    starts = make_starts(given, counts, 2, 8, np.random.RandomState(0))
    fast, plain = (maximize(problem, starts, tol=1e-8, max_iter=10_000, accelerate=way) for way in (True, False))
    assert plain.n_evaluations.sum() > 1.5 * fast.n_evaluations.sum()
    assert fast.objective.max() == pytest.approx(plain.objective.max(), abs=1e-4)


def test_jumps_are_limited_after_one_that_is_worse():
    lanes = empty_lanes(parameters(9, 2, 1))
    lanes.at_first[:], lanes.at_jump[:] = -5.0, [-6, -4] * 4
    lanes.length[:], lanes.limit[:] = 10.0, 16.0
    lanes.first[:], lanes.second[:], lanes.jump[:], lanes.landed[:] = 0.1, 0.2, 0.3, 0.4

    @njit
    def apply(lanes):
        settle(lanes)

    apply(lanes)
    np.testing.assert_array_equal(lanes.limit, [5, 40] * 4)
    np.testing.assert_array_equal(lanes.at_start, [-5, -4] * 4)
    np.testing.assert_array_equal(lanes.start[1, 3], [0.1, 0.3] * 4)
    np.testing.assert_array_equal(lanes.first[1, 3], [0.2, 0.4] * 4)
