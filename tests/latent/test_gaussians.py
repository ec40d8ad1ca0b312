"""Tables with numbers: EM by its definition, in plain NumPy."""

import numpy as np
import pytest
from scipy.special import softmax

from ciabench.arrays import Coded
from ciabench.latent.fit import fit_mixture
from ciabench.probability.product import Parameters, log_joint


def table_of(missing, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, 200)
    numbers = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3)) + np.where(z, 3.0, -1.0)[:, None]
    codes = np.where(rng.random((200, 2)) < 0.7, z[:, None], rng.integers(0, 3, (200, 2))).astype(np.uint8)
    numbers[rng.random(numbers.shape) < missing] = np.nan
    codes[rng.random(codes.shape) < missing] = 3
    return Coded(codes, np.array([3, 3]), numbers)


def brute_step(table, parameters):
    """One step of EM, with the conditional moments of every single row."""
    chances = softmax(log_joint(table, parameters), axis=1)
    k, m = chances.shape[1], table.numbers.shape[1]
    tables = []
    for column in range(table.codes.shape[1]):
        counts = np.stack([np.bincount(table.codes[:, column], chances[:, z], 4)[:3] for z in range(k)], axis=1)
        tables.append(counts / counts.sum(axis=0))
    means, covariances = np.zeros((m, k)), np.zeros((k, m, m))
    for z in range(k):
        mean, covariance = parameters.means[:, z], parameters.covariances[z]
        first, second = np.zeros(m), np.zeros((m, m))
        for row, chance in zip(table.numbers, chances[:, z], strict=True):
            hidden, seen = np.flatnonzero(np.isnan(row)), np.flatnonzero(~np.isnan(row))
            filled, noise = np.nan_to_num(row), np.zeros((m, m))
            slopes = covariance[np.ix_(hidden, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
            filled[hidden] = mean[hidden] + slopes @ (row[seen] - mean[seen])
            noise[np.ix_(hidden, hidden)] = (
                covariance[np.ix_(hidden, hidden)] - slopes @ covariance[np.ix_(seen, hidden)]
            )
            first += chance * filled
            second += chance * (np.outer(filled, filled) + noise)
        mass = chances[:, z].sum()
        means[:, z] = first / mass
        covariances[z] = second / mass - np.outer(means[:, z], means[:, z])
    return Parameters(chances.mean(axis=0), tuple(tables), means, covariances)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_full_covariance_agrees_with_a_brute_force_em(missing):
    table = table_of(missing)
    start = Parameters(
        np.array([0.5, 0.5]), (np.full((3, 2), 1 / 3),) * 2, np.array([[2.0, -1.0]] * 3), np.stack([np.eye(3) * 4] * 2)
    )
    expected = start
    for _ in range(4):
        expected = brute_step(table, expected)
    # The parameters of an ascent are those before its last evaluation.
    options = {"random": np.random.RandomState(0), "n_init": 1, "init": [start], "full": True, "accelerate": False}
    found = fit_mixture(table, np.ones(200), 2, max_iter=5, tol=1e-300, **options).parameters
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-8)
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.covariances, expected.covariances, rtol=1e-6, atol=1e-8)
    for one, other in zip(found.tables, expected.tables, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_likelihood_never_falls_and_is_that_of_its_parameters(missing, full):
    table = table_of(missing, seed=1)
    found = fit_mixture(table, np.ones(200), 3, random=np.random.RandomState(0), n_init=10, full=full)
    assert all((np.diff(path) >= -1e-9).all() for path in found.paths)
    likelihood = np.logaddexp.reduce(log_joint(table, found.parameters), axis=1).sum()
    assert found.log_likelihood == pytest.approx(likelihood, abs=1e-7)
    assert found.n_parameters == found.parameters.n_free


def test_a_class_on_one_point_is_a_restart_lost():
    numbers = np.concatenate([np.random.default_rng(0).normal(0, 1, (60, 1)), np.full((5, 1), 8.0)])
    table = Coded(np.empty((65, 0), np.uint8), np.empty(0, np.int64), numbers)
    found = fit_mixture(table, np.ones(65), 2, random=np.random.RandomState(0), n_init=30)
    lost = found.log_likelihoods > found.log_likelihood + 1
    assert not found.is_on_floor or lost.sum() == 0
