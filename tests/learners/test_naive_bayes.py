import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit
from sklearn.naive_bayes import BernoulliNB

from ciabench.errors import DataError, ParameterError
from ciabench.learners.naive_bayes import NaiveBayes

KINDS = {"dense": np.asarray, "sparse": sparse.csr_matrix, "float": lambda X: X.astype(float)}


def problem(seed, n_samples=300, n_features=20):
    rng = np.random.default_rng(seed)
    y = np.append([0, 1], rng.integers(0, 2, n_samples - 2))
    probs = rng.beta(0.5, 0.5, (2, n_features))
    return (rng.random((n_samples, n_features)) < probs[y]).astype(np.uint8), y, rng


def assert_same_probabilities(ours, peer, X):
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.predict_log_proba(X), peer.predict_log_proba(X), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), smoothing=st.floats(1e-3, 10), weighted=st.booleans())
def test_agrees_with_bernoulli_nb(kind, seed, smoothing, weighted):
    X, y, rng = problem(seed)
    weights = rng.uniform(0.1, 3, y.size) if weighted else None
    peer = BernoulliNB(alpha=smoothing).fit(X, y, sample_weight=weights)
    ours = NaiveBayes(smoothing=smoothing).fit(KINDS[kind](X), y, sample_weight=weights)
    assert_same_probabilities(ours, peer, X)


@pytest.mark.parametrize("kind", KINDS)
def test_partial_fit_agrees_with_bernoulli_nb_and_with_fit(kind):
    X, y, rng = problem(1)
    weights = rng.uniform(0.1, 3, y.size)
    ours, peer = NaiveBayes(), BernoulliNB()
    for rows in np.array_split(np.argsort(y, kind="stable"), 7):
        ours.partial_fit(KINDS[kind](X[rows]), y[rows], classes=[0, 1], sample_weight=weights[rows])
        with np.errstate(divide="ignore"):
            peer.partial_fit(X[rows], y[rows], classes=[0, 1], sample_weight=weights[rows])
        np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=0, atol=1e-12)
    assert_same_probabilities(ours, NaiveBayes().fit(X, y, weights), X)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_probability_is_the_sigmoid_of_the_linear_score(seed):
    X, y, _ = problem(seed, n_samples=50)
    learner = NaiveBayes().fit(X, y)
    score = X @ learner.coef_[0] + learner.intercept_[0]
    np.testing.assert_allclose(learner.predict_proba(X)[:, 1], expit(score), rtol=0, atol=1e-14)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_weight_is_a_number_of_rows(seed):
    X, y, rng = problem(seed, n_samples=40)
    times = np.append([1, 1], rng.integers(0, 4, 38))
    weighted = NaiveBayes().fit(X, y, sample_weight=times)
    repeated = NaiveBayes().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    np.testing.assert_array_equal(weighted.intercept_, repeated.intercept_)


def test_a_class_declared_but_not_yet_seen_is_never_predicted():
    learner = NaiveBayes().partial_fit([[0, 1], [1, 1]], ["a", "a"], classes=["a", "b"])
    np.testing.assert_array_equal(learner.predict_proba([[0, 0], [1, 1]]), [[1, 0], [1, 0]])
    assert learner.predict([[1, 0]]) == ["a"]


def test_one_class_alone_is_certain():
    learner = NaiveBayes().fit([[0], [1]], ["a", "a"])
    np.testing.assert_array_equal(learner.predict_proba([[0], [1]]), [[1], [1]])
    np.testing.assert_array_equal(learner.predict_log_proba([[0], [1]]), [[0], [0]])
    np.testing.assert_array_equal(learner.predict([[0], [1]]), ["a", "a"])


@pytest.mark.parametrize("smoothing", [-1, np.nan, np.inf, "1", None])
def test_smoothing_must_not_be_negative(smoothing):
    with pytest.raises(ParameterError, match="smoothing, the pseudo-count, must be a number in"):
        NaiveBayes(smoothing=smoothing).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("weights", [[1], [1, -1], [0, 0], [1, np.nan]])
def test_bad_weights_are_refused_and_leave_the_counts(weights):
    learner = NaiveBayes().fit([[0], [1]], [0, 1])
    with pytest.raises(DataError, match="sample_weight must"):
        learner.partial_fit([[0], [1]], [0, 1], sample_weight=weights)
    np.testing.assert_array_equal(learner.class_count_, [1, 1])
