import numpy as np
import pytest
from scipy import sparse

from ciabench import COV, EM, CIAFamily, CIAModel
from ciabench.errors import DataError
from ciabench.learners.cov import covariances, scaled_differences, vote_signs


def exact_covariances(model):
    """ψ of the model itself: αα'δ_i δ_j off the diagonal."""
    alpha, delta = model.weights[1], model.probs[:, 1] - model.probs[:, 0]
    psi = alpha * (1 - alpha) * np.outer(delta, delta)
    means = model.probs @ model.weights
    np.fill_diagonal(psi, means * (1 - means))
    return psi, delta, alpha


@pytest.mark.parametrize("seed", range(20))
def test_covariance_identity_gives_the_differences_and_their_signs(seed):
    model = CIAFamily(10, 2, 0.9).draw(rng=seed)
    psi, delta, alpha = exact_covariances(model)
    np.testing.assert_allclose(scaled_differences(psi), np.sqrt(alpha * (1 - alpha)) * np.abs(delta), rtol=1e-9)
    np.testing.assert_array_equal(vote_signs(psi), np.sign(delta * delta[0]))


def test_averaged_triples_are_the_formula_of_the_paper():
    rng = np.random.default_rng(0)
    psi = np.cov(rng.integers(0, 2, (6, 30)))
    strength = np.abs(psi)
    for i in range(6):
        pairs = [(j, k) for j in range(6) for k in range(6) if len({i, j, k}) == 3]
        triples = sum(strength[i, j] * strength[i, k] for j, k in pairs) / sum(strength[j, k] for j, k in pairs)
        assert scaled_differences(psi)[i] ** 2 == pytest.approx(triples)


def test_votes_overrule_a_wrong_covariance_with_the_target():
    delta = np.array([0.3, 0.5, 0.5, 0.5, -0.5])
    psi = 0.25 * np.outer(delta, delta)
    psi[0, 1] = psi[1, 0] = -0.01
    np.testing.assert_array_equal(vote_signs(psi), np.sign(delta))


@pytest.mark.parametrize("seed", range(3))
def test_parameters_are_recovered_from_a_million_rows(seed):
    model = CIAFamily(10, 2, 0.9).draw(rng=seed)
    X, y = model.sample(1_000_000, rng=seed)
    cov = COV().fit(X, y)
    order = np.argsort(model.probs[0])
    fitted = np.argsort(cov.probs_[0])
    np.testing.assert_allclose(cov.probs_[:, fitted], model.probs[:, order], atol=0.02)
    np.testing.assert_allclose(cov.weights_[fitted], model.weights[order], atol=0.02)
    assert cov.alpha_ == cov.weights_[1]


def test_weighted_covariances_are_those_of_repeated_rows():
    rng = np.random.default_rng(0)
    rows, counts = rng.integers(0, 2, (40, 5)).astype(float), rng.integers(1, 4, 40)
    means, psi = covariances(rows, counts.astype(float))
    repeated = np.repeat(rows, counts, axis=0)
    np.testing.assert_allclose(means, repeated.mean(axis=0))
    np.testing.assert_allclose(psi, np.cov(repeated.T, bias=True), atol=1e-12)


def test_likelihood_is_that_of_its_parameters_and_below_the_maximum():
    X, y = CIAFamily(10, 2, 0.9).draw(rng=5).sample(500, rng=0)
    cov, em = COV().fit(X, y), EM(random_state=0).fit(X, y)
    assert cov.log_likelihood_ == pytest.approx(cov.score_samples(X, y).sum())
    assert em.log_likelihood_ - 20 < cov.log_likelihood_ < em.log_likelihood_


def test_alpha_is_the_likeliest_on_its_line():
    X, y = CIAModel([0.8, 0.2], [[0.2, 0.9], [0.3, 0.8], [0.4, 0.9]]).sample(50_000, rng=0)
    assert COV().fit(X, y).alpha_ == pytest.approx(0.2, abs=0.03)


def test_two_attributes_in_all_still_make_a_rule():
    X = np.array([[0], [0], [1], [1], [1]])
    cov = COV().fit(X, [0, 0, 1, 1, 0])
    np.testing.assert_array_equal(cov.predict([[0], [1]]), [0, 1])


def test_sparse_input_beyond_a_bound_is_refused():
    X = sparse.csr_array(np.eye(2, 50_000, dtype=np.uint8))
    with pytest.raises(DataError, match=r"COV makes sparse input of 2 × 50000 dense, which would take 18.6 GiB"):
        COV().fit(X, [0, 1])


def test_heavy_rows_do_not_change_what_is_fitted():
    X, y = CIAFamily(20, 2, 0.9).draw(rng=0).sample(150, rng=0)
    fits = [COV().fit(X, y, sample_weight=np.full(150, weight)) for weight in (1e12, 1e16)]
    per_weight = [fit.log_likelihood_ / weight for fit, weight in zip(fits, (1e12, 1e16), strict=True)]
    assert per_weight[0] == pytest.approx(per_weight[1], rel=1e-3)
    assert fits[0].alpha_ == pytest.approx(fits[1].alpha_, abs=0.01)
