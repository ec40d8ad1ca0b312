import numpy as np
import pytest
from scipy import sparse

from ciabench import COV, EM, CIAFamily, CIAModel
from ciabench.errors import DataError, ParameterError
from ciabench.latent.mixture import log_likelihoods
from ciabench.latent.pieces import dense_problem
from ciabench.learners.cov import (
    GRID,
    ZOOMS,
    common_ones,
    covariances,
    rank_one_factor,
    scaled_differences,
    search,
    set_parameters,
    vote_signs,
)

both_estimates = pytest.mark.parametrize("estimate", ["paper", "factor"])


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


@pytest.mark.parametrize("seed", range(20))
def test_factor_of_exact_covariances_is_the_differences(seed):
    model = CIAFamily(10, 2, 0.9).draw(rng=seed)
    psi, delta, alpha = exact_covariances(model)
    expected = np.sqrt(alpha * (1 - alpha)) * delta * np.sign(delta[0])
    np.testing.assert_allclose(rank_one_factor(psi), expected, atol=1e-6)


def principal_factor(psi):
    """Leading eigenvector of ψ whose diagonal is replaced by its own squares, from the paper's estimate on."""
    matrix, diagonal = psi.copy(), scaled_differences(psi) ** 2
    for _ in range(500):
        np.fill_diagonal(matrix, diagonal)
        values, vectors = np.linalg.eigh(matrix)
        diagonal = values[-1] * vectors[:, -1] ** 2
    return np.sqrt(diagonal) * np.sign(vectors[:, -1] * vectors[0, -1])


@pytest.mark.parametrize(("n", "k", "size"), [(10, 2, 50), (10, 5, 200), (40, 2, 30), (75, 2, 200), (75, 5, 1000)])
def test_factor_is_that_of_iterated_principal_factors(n, k, size):
    X, y = CIAFamily(n, k, 0.9).draw(rng=n + k).sample(size, rng=0)
    _, psi = covariances(np.column_stack([y, X]).astype(float), np.ones(size))
    factor = rank_one_factor(psi)
    assert factor[0] >= 0
    np.testing.assert_allclose(factor, principal_factor(psi), atol=1e-4)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 300])
def test_common_ones_are_counted_exactly_in_words_of_64_rows(size):
    rows = np.random.default_rng(size).integers(0, 2, (size, 13), dtype=np.uint8)
    np.testing.assert_array_equal(common_ones(rows), rows.astype(int).T @ rows)
    for counted, summed in zip(covariances(rows), covariances(rows, np.ones(size)), strict=True):
        np.testing.assert_array_equal(counted, summed)


def best_of_all_models(problem, means, g, edge):
    """Model of the largest likelihood on successively finer grids of which every point is examined."""
    low, high, theta = -7.0, 7.0, np.empty((GRID, 2, 1 + means.size))
    for _ in range(ZOOMS):
        grid = np.linspace(low, high, GRID)
        set_parameters(theta, means, g, grid, edge)
        found = log_likelihoods(problem, theta)
        best = int(np.argmax(found))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
    return theta[best], found[best]


@pytest.mark.parametrize(
    ("n", "k", "size", "seed"), [(10, 2, 5, 10), (10, 5, 100, 144), (75, 3, 30, 297), (75, 2, 1000, 4)]
)
def test_search_finds_what_an_exhaustive_one_does_though_it_skips_most_models(n, k, size, seed):
    X, y = CIAFamily(n, k, 0.9).draw(rng=seed).sample(1000, rng=seed)
    rows = np.column_stack([y, X])[:size]
    means, psi = covariances(rows)
    for g in (rank_one_factor(psi), scaled_differences(psi) * vote_signs(psi), np.zeros(n + 1)):
        problem = dense_problem(rows, np.ones(size))
        theta, likelihood = search(problem, means, g, 1 / (size + 2))
        expected, largest = best_of_all_models(problem, means, g, 1 / (size + 2))
        np.testing.assert_array_equal(theta, expected)
        assert likelihood == largest


@pytest.mark.parametrize("seed", range(6))
def test_factor_averages_noise_away_where_absolute_values_do_not(seed):
    """75 attributes, 200 rows: a covariance is 0.006, the error of its estimate 0.018."""
    rng = np.random.default_rng(seed)
    delta = rng.choice([-0.15, 0.15], 76)
    X, y = CIAModel([0.5, 0.5], 0.5 + np.outer(delta, [-0.5, 0.5])).sample(200, rng)
    _, psi = covariances(np.column_stack([y, X]).astype(float), np.ones(200))
    length = np.linalg.norm(0.5 * delta)
    assert np.linalg.norm(scaled_differences(psi)) > 1.5 * length
    assert 0.8 * length < np.linalg.norm(rank_one_factor(psi)) < 1.3 * length


@pytest.mark.parametrize("seed", [16, 20, 57, 58])
def test_target_rises_with_the_hidden_class_also_where_the_factor_overrules_the_vote(seed):
    rows = np.random.default_rng(seed).integers(0, 2, (12, 5)).astype(float)
    factor = rank_one_factor(covariances(rows, np.ones(12))[1])
    assert factor[0] > 1e-3


def test_the_paper_is_the_default():
    X, y = CIAFamily(10, 3, 0.9).draw(rng=0).sample(100, rng=0)
    scores = [COV(**choice).fit(X, y).decision_function(X) for choice in ({}, {"estimate": "paper"})]
    np.testing.assert_array_equal(*scores)
    assert (COV(estimate="factor").fit(X, y).decision_function(X) != scores[0]).any()
    with pytest.raises(ParameterError, match="estimate must be one of 'paper', 'factor'; got 'median'"):
        COV(estimate="median").fit(X, y)


@pytest.mark.parametrize("psi", [np.zeros((4, 4)), np.full((4, 4), 1e-17), np.diag([0.25, 0.25, 0.0])])
def test_no_covariance_has_no_factor(psi):
    np.testing.assert_allclose(rank_one_factor(psi), 0, atol=1e-8)


@pytest.mark.parametrize("size", [2, 5])
def test_a_single_covariance_is_shared(size):
    """Other attributes are constant; averages over triples would find nothing."""
    psi = np.zeros((size, size))
    psi[0, 1] = psi[1, 0] = -0.09
    np.testing.assert_allclose(rank_one_factor(psi), [0.3, -0.3, *np.zeros(size - 2)])


@pytest.mark.parametrize("shape", [(40, 3), (10, 60), (3, 1), (2, 4)])
def test_factor_of_odd_data_gives_finite_scores(shape):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, shape), np.arange(shape[0]) % 2
    for rows in (X, np.zeros_like(X), np.ones_like(X), np.tile(y[:, None], shape[1]), np.hstack([X, np.ones_like(X)])):
        learner = COV(estimate="factor").fit(rows, y)
        assert np.isfinite(learner.decision_function(rows)).all()
        assert np.isfinite(learner.log_likelihood_)
    alone = COV(estimate="factor").fit(X, np.ones(shape[0]))
    assert (alone.predict(X) == 1).all()


def test_a_weight_of_two_is_a_row_twice_for_the_factor():
    X, y = CIAFamily(10, 2, 0.9).draw(rng=1).sample(200, rng=0)
    weights = np.random.default_rng(0).integers(0, 4, 200)
    weighted = COV(estimate="factor").fit(X, y, sample_weight=weights)
    repeated = COV(estimate="factor").fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-4, atol=1e-5)


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


@both_estimates
@pytest.mark.parametrize("seed", range(3))
def test_parameters_are_recovered_from_a_million_rows(seed, estimate):
    model = CIAFamily(10, 2, 0.9).draw(rng=seed)
    X, y = model.sample(1_000_000, rng=seed)
    cov = COV(estimate=estimate).fit(X, y)
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


@both_estimates
def test_likelihood_is_that_of_its_parameters_and_below_the_maximum(estimate):
    X, y = CIAFamily(10, 2, 0.9).draw(rng=5).sample(500, rng=0)
    cov, em = COV(estimate=estimate).fit(X, y), EM(random_state=0).fit(X, y)
    assert cov.log_likelihood_ == pytest.approx(cov.score_samples(X, y).sum())
    assert em.log_likelihood_ - 20 < cov.log_likelihood_ < em.log_likelihood_


def test_alpha_is_the_likeliest_on_its_line():
    X, y = CIAModel([0.8, 0.2], [[0.2, 0.9], [0.3, 0.8], [0.4, 0.9]]).sample(50_000, rng=0)
    assert COV().fit(X, y).alpha_ == pytest.approx(0.2, abs=0.03)


@both_estimates
def test_two_attributes_in_all_still_make_a_rule(estimate):
    X = np.array([[0], [0], [1], [1], [1]])
    cov = COV(estimate=estimate).fit(X, [0, 0, 1, 1, 0])
    np.testing.assert_array_equal(cov.predict([[0], [1]]), [0, 1])


def test_sparse_input_beyond_a_bound_is_refused():
    X = sparse.csr_array(np.eye(2, 50_000, dtype=np.uint8))
    with pytest.raises(DataError, match=r"COV makes sparse input of 2 × 50000 dense, which would take 18.6 GiB"):
        COV().fit(X, [0, 1])


@both_estimates
def test_heavy_rows_do_not_change_what_is_fitted(estimate):
    X, y = CIAFamily(20, 2, 0.9).draw(rng=0).sample(150, rng=0)
    fits = [COV(estimate=estimate).fit(X, y, sample_weight=np.full(150, weight)) for weight in (1e12, 1e16)]
    per_weight = [fit.log_likelihood_ / weight for fit, weight in zip(fits, (1e12, 1e16), strict=True)]
    assert per_weight[0] == pytest.approx(per_weight[1], rel=1e-3)
    assert fits[0].alpha_ == pytest.approx(fits[1].alpha_, abs=0.01)
