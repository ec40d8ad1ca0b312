import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone

from ciabench.errors import ParameterError
from ciabench.learners.perceptron import VARIANTS, Perceptron
from ciabench.probability.bernoulli import all_patterns


def noisy_problem(seed, n_samples=120, n_features=9):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n_samples, n_features), dtype=np.uint8)
    y = (X @ rng.normal(size=n_features) + rng.normal(size=n_samples) > 0).astype(np.uint8)
    y[:2] = 0, 1
    return X, y


def survivors(X, y, n_passes=1, margin=0.0):
    """Weights and bias after every step, by the definition."""
    weights, history = np.zeros(X.shape[1] + 1), []
    signed = np.insert(X, X.shape[1], 1, axis=1) * (2.0 * y - 1)[:, None]
    for row in np.tile(signed, (n_passes, 1)):
        if row @ weights <= margin:
            weights = weights + row
        history.append(weights)
    return np.array(history)


def largest_margin(X, y):
    """Distance of the nearest (x, 1) to the best plane through 0, as 1 / |w| of the hard-margin SVM."""
    signed = np.insert(X, X.shape[1], 1, axis=1) * (2.0 * y - 1)[:, None]
    constraint = {"type": "ineq", "fun": lambda w: signed @ w - 1, "jac": lambda w: signed}
    start = survivors(X, y, 500)[-1]
    start = start / (signed @ start).min()
    found = minimize(lambda w: w @ w / 2, start, jac=lambda w: w, constraints=constraint, method="SLSQP")
    return max((signed @ w).min() / np.linalg.norm(w) for w in (start, found.x))


def test_mistake_bound_on_separable_problems():
    """At most R²/γ² mistakes, in as many passes as it takes to make none."""
    rng, problems = np.random.default_rng(0), 0
    while problems < 200:
        n = int(rng.integers(2, 8))
        X = all_patterns(n)[rng.permutation(2**n)][: int(rng.integers(2, 30))]
        y = (X @ rng.integers(-3, 4, n) > rng.integers(-3, 4)).astype(np.uint8)
        if y.min() == y.max():
            continue
        problems += 1
        learner = Perceptron(n_passes=500).fit(X, y)
        assert learner.score(X, y) == 1
        longest = X.sum(axis=1).max() + 1
        assert learner.n_mistakes_ <= longest / largest_margin(X, y) ** 2 + 1e-9


@pytest.mark.parametrize("margin", [0.0, 2.5])
@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), n_passes=st.integers(1, 4))
def test_variants_by_their_definitions(margin, seed, n_passes):
    X, y = noisy_problem(seed)
    history = survivors(X, y, n_passes, margin)
    fitted = {name: Perceptron(variant=name, n_passes=n_passes, margin=margin).fit(X, y) for name in VARIANTS}
    np.testing.assert_array_equal(fitted["plain"].coef_[0], history[-1, :-1])
    np.testing.assert_array_equal(fitted["plain"].intercept_[0], history[-1, -1])
    np.testing.assert_allclose(fitted["averaged"].coef_[0], history[:, :-1].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(fitted["averaged"].intercept_[0], history[:, -1].mean(), atol=1e-12)
    votes = np.where(np.insert(X, X.shape[1], 1, axis=1) @ history.T > 0, 1, -1).mean(axis=1)
    np.testing.assert_allclose(fitted["voted"].decision_function(X), votes, atol=1e-12)
    changes = np.diff(history, axis=0, prepend=0).any(axis=1).sum()
    assert {learner.n_mistakes_ for learner in fitted.values()} == {changes}


@pytest.mark.parametrize("variant", VARIANTS)
def test_sparse_rows_and_pieces_give_the_same_rule(variant):
    X, y = noisy_problem(3)
    whole = Perceptron(variant=variant, n_passes=3).fit(X, y)
    sparse_whole = Perceptron(variant=variant, n_passes=3).fit(sparse.csr_matrix(X), y)
    pieces = Perceptron(variant=variant, n_passes=1)
    for _ in range(3):
        pieces.partial_fit(X[:50], y[:50], classes=[0, 1]).partial_fit(sparse.csr_matrix(X[50:]), y[50:])
    for other in (sparse_whole, pieces, pickle.loads(pickle.dumps(whole))):
        np.testing.assert_array_equal(whole.decision_function(X), other.decision_function(X))
        scores = other.decision_function(sparse.csr_matrix(X))
        np.testing.assert_allclose(whole.decision_function(X), scores, atol=1e-12)
        assert whole.n_mistakes_ == other.n_mistakes_


def test_votes_are_counted_in_blocks(monkeypatch):
    X, y = noisy_problem(4)
    learner = Perceptron(variant="voted").fit(X, y)
    at_once = learner.decision_function(X)
    monkeypatch.setattr("ciabench.learners.perceptron.VOTES_AT_ONCE", 7 * learner.n_mistakes_)
    np.testing.assert_array_equal(learner.decision_function(X), at_once)


def test_a_variant_stays_until_the_next_fit():
    X, y = noisy_problem(0)
    perceptron = Perceptron().partial_fit(X, y).set_params(variant="averaged")
    with pytest.raises(ParameterError, match="was 'plain' at the start and is now 'averaged'; call fit"):
        perceptron.partial_fit(X, y)
    expected = Perceptron(variant="averaged").fit(X, y).coef_
    np.testing.assert_array_equal(perceptron.fit(X, y).coef_, expected)


def test_a_first_call_that_was_refused_has_begun_nothing():
    X, y = noisy_problem(0)
    perceptron = Perceptron(variant="mean")
    with pytest.raises(ParameterError, match="variant"):
        perceptron.partial_fit(X, y)
    expected = Perceptron(variant="averaged").partial_fit(X, y).coef_
    np.testing.assert_array_equal(perceptron.set_params(variant="averaged").partial_fit(X, y).coef_, expected)


def test_a_voted_perceptron_has_no_linear_rule_and_says_so():
    learner = Perceptron(variant="voted").fit(*noisy_problem(5))
    with pytest.raises(AttributeError, match="a voted Perceptron is not a linear rule, so it has no coef_"):
        _ = learner.coef_
    with pytest.raises(AttributeError, match="has no attribute 'weight_'"):
        _ = clone(learner).weight_


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_class_one_row_one_column(variant):
    alone = Perceptron(variant=variant).fit([[1], [0]], ["a", "a"])
    np.testing.assert_array_equal(alone.predict([[0], [1]]), ["a", "a"])
    single = Perceptron(variant=variant).partial_fit([[1]], ["b"], classes=["a", "b"])
    np.testing.assert_array_equal(single.predict([[1], [0]]), ["b", "b"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"variant": "fast"}, "'plain', 'averaged', 'voted'"), ({"margin": -1}, "margin"), ({"n_passes": 0}, "n_passes")],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        Perceptron(**parameters).fit([[0], [1]], [0, 1])
