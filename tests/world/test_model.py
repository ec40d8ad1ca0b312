import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from ciabench import CIAModel
from ciabench.errors import ModelError, ParameterError
from ciabench.probability.bernoulli import all_patterns
from ciabench.world import bit_model


def random_model(n, k, rng, concentration=1.0):
    return CIAModel(rng.dirichlet(np.full(k, concentration)), rng.beta(concentration, concentration, (n + 1, k)))


def test_bayes_rule_is_linear_for_two_hidden_values():
    """Claim C11: exactly, on all patterns of 200 models, those with a constant rule included."""
    rng = np.random.default_rng(0)
    constants = 0
    for _ in range(200):
        model = random_model(int(rng.integers(1, 11)), 2, rng)
        X = all_patterns(model.n)
        coefficients, intercept = model.linear_rule()
        np.testing.assert_array_equal(model.predict(X), X @ coefficients + intercept > 0)
        constants += not coefficients.any()
    assert 50 < constants < 150


def test_bayes_rule_of_three_hidden_values_has_no_linear_rule():
    with pytest.raises(ModelError, match="k = 2 hidden values only; this model has 3"):
        random_model(4, 3, np.random.default_rng(0)).linear_rule()


def test_target_probability_agrees_with_the_formula_of_the_paper():
    rng = np.random.default_rng(1)
    model = random_model(6, 2, rng)
    (q_0, p_0), (q, p) = model.probs[0], model.probs[1:].T
    X = all_patterns(6)
    log_odds = np.log(model.weights[1] / model.weights[0]) + np.log((1 - p) / (1 - q)).sum()
    log_odds = log_odds + X @ (np.log(p / (1 - p)) - np.log(q / (1 - q)))
    np.testing.assert_allclose(model.target_probability(X), q_0 + (p_0 - q_0) * expit(log_odds), rtol=1e-10)


def test_difficulty_by_enumeration_agrees_with_sampling(monkeypatch):
    model = random_model(8, 3, np.random.default_rng(2))
    exact = model.difficulty()
    monkeypatch.setattr(bit_model, "ENUMERATION_LIMIT", 0)
    assert model.difficulty(rng=1) == pytest.approx(exact, abs=0.003)
    assert model.difficulty(rng=1) != exact


@given(seed=st.integers(0, 2**32 - 1))
def test_relabelling_hidden_values_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    model = random_model(5, 4, rng)
    order = rng.permutation(4)
    swapped = CIAModel(model.weights[order], model.probs[:, order])
    X = all_patterns(5)
    np.testing.assert_allclose(swapped.target_probability(X), model.target_probability(X), atol=1e-12)
    assert swapped.difficulty() == pytest.approx(model.difficulty(), abs=1e-12)
    assert swapped.constant_success == pytest.approx(model.constant_success, abs=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
def test_sampling_frequencies_match_the_joint_distribution(seed):
    rng = np.random.default_rng(seed)
    model = random_model(2, 3, rng)
    X, y = model.sample(20_000, rng)
    codes = np.bincount(4 * y + 2 * X[:, 0] + X[:, 1], minlength=8) / 20_000
    chances = np.concatenate([model.enumeration.masses * chance for chance in _target_chances(model)])
    assert np.abs(codes - chances).max() < 6 * np.sqrt(0.25 / 20_000)


def _target_chances(model):
    one = model.target_probability(all_patterns(model.n))
    return 1 - one, one


def test_probabilities_zero_and_one_are_kept_exactly():
    model = CIAModel([0.5, 0.5], [[0, 1], [0, 1], [1, 1]])
    X, y = model.sample(1000, rng=0)
    np.testing.assert_array_equal(X[:, 0], y)
    assert X[:, 1].all()
    assert model.difficulty() == 1.0


def test_parameters_are_frozen_copies():
    weights = np.array([0.5, 0.5])
    model = CIAModel(weights, [[0.1, 0.9], [0.2, 0.8]])
    weights[0] = 7
    assert model.weights[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        model.probs[0, 0] = 0.5


@pytest.mark.parametrize(
    ("weights", "probs", "message"),
    [
        ([0.5, 0.6], [[0.1, 0.9]] * 2, "sum to 1; they sum to 1.1"),
        ([1.5, -0.5], [[0.1, 0.9]] * 2, ">= 0"),
        ([0.5, 0.5], [[0.1, 1.9]] * 2, r"probs must lie in \[0, 1\]"),
        ([0.5, 0.5], [[0.1, 0.9]], "n >= 1"),
        ([0.5, 0.5], [[0.1, 0.2, 0.9]] * 2, "k = 2 as in weights"),
        ([[0.5, 0.5]], [[0.1, 0.9]] * 2, r"weights must have shape \(k,\)"),
        ([0.5, np.nan], [[0.1, 0.9]] * 2, "weights must be finite"),
        ([0.5, 0.5], "abc", "probs must be an array of numbers"),
        ([0.5, 0.5], [[0.1, 0.9j]] * 2, "probs must be an array of numbers; complex numbers are not supported"),
    ],
)
def test_what_is_no_model_is_refused(weights, probs, message):
    with pytest.raises(ModelError, match=message):
        CIAModel(weights, probs)


@pytest.mark.parametrize("size", [-1, 2.5, "3", True])
def test_sample_size_must_be_a_count(size):
    with pytest.raises(ParameterError, match="size must be an integer of at least 0"):
        random_model(2, 2, np.random.default_rng(0)).sample(size)


def test_rows_of_the_wrong_width_are_refused():
    with pytest.raises(ParameterError, match=r"X must have shape \(s, 2\); got \(1, 3\)"):
        random_model(2, 2, np.random.default_rng(0)).predict([[0, 1, 1]])
