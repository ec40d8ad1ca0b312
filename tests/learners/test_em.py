import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from stepmix.stepmix import StepMix

from ciabench import EM, CIAFamily, CIAModel
from ciabench.errors import ParameterError
from ciabench.latent import pieces, restarts
from ciabench.probability import bernoulli

STOUFFER_TOBY = [42, 23, 6, 25, 6, 24, 7, 38, 1, 4, 1, 6, 2, 9, 2, 20]
"""Counts of ++++, +++−, … −−−− among 216 persons (Stouffer & Toby 1951, form A)."""


def problem_of(seed, n=6, k=2, size=80, missing=0.0):
    rng = np.random.default_rng(seed)
    model = CIAModel(rng.dirichlet(np.full(k, 2.0)), rng.beta(0.8, 0.8, (n + 1, k)))
    X, y = model.sample(size, rng)
    X = X.astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


@pytest.mark.parametrize(("n_classes", "log_likelihood"), [(2, -504.4677), (3, -503.3011)])
def test_published_likelihoods_of_the_values_table(n_classes, log_likelihood):
    patterns = 1 - bernoulli.all_patterns(4)
    em = EM(n_classes=n_classes, random_state=0).fit(patterns[:, 1:], patterns[:, 0], sample_weight=STOUFFER_TOBY)
    assert em.log_likelihood_ == pytest.approx(log_likelihood, abs=5e-5)
    assert em.n_parameters_ == 5 * n_classes - 1
    assert em.bic_ == pytest.approx(np.log(216) * em.n_parameters_ - 2 * em.log_likelihood_)


def stepmix_log_likelihood(rows, n_classes):
    kind = "binary_nan" if np.isnan(rows).any() else "binary"
    peer = StepMix(n_components=n_classes, measurement=kind, n_init=3, abs_tol=1e-9, random_state=0, progress_bar=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return peer.fit(rows).score(rows) * len(rows)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_likelihood_is_never_below_that_of_stepmix(n_classes, missing):
    for seed in range(13):
        X, y = problem_of(seed, k=n_classes, missing=missing)
        em = EM(n_classes=n_classes, random_state=0).fit(X, y)
        assert em.log_likelihood_ >= stepmix_log_likelihood(np.column_stack([y, X]), n_classes) - 1e-6


def test_acceleration_ends_no_lower_than_plain_em():
    worse, differences = 0, []
    for seed in range(500):
        rng = np.random.RandomState(seed)
        n, size, k = rng.choice([4, 8, 20]), rng.choice([20, 60, 200]), rng.choice([2, 3])
        X, y = problem_of(seed, n=n, k=k, size=size)
        rows = np.column_stack([y, X]).astype(np.uint8)
        problem = pieces.make_problem(rows, np.ones(size))
        starts = restarts.random_starts(problem, 2, 10, rng)
        fast, plain = (
            restarts.maximize(problem, starts, tol=1e-8, max_iter=5_000, accelerate=way).objective.max()
            for way in (True, False)
        )
        worse += fast < plain - 1e-6
        differences.append(fast - plain)
    assert worse <= 5
    assert np.mean(differences) >= 0


@given(seed=st.integers(0, 10_000), n_classes=st.integers(1, 4), accelerate=st.booleans())
@settings(deadline=None, max_examples=60)
def test_likelihood_never_falls_along_the_way(seed, n_classes, accelerate):
    X, y = problem_of(seed, size=40)
    em = EM(n_classes=n_classes, n_init=5, accelerate=accelerate, random_state=seed).fit(X, y)
    for path in em.restart_paths_:
        assert (np.diff(path) >= -1e-9).all()
    assert em.log_likelihood_ == pytest.approx(em.score_samples(X, y).sum(), abs=1e-6)
    assert em.weights_.sum() == pytest.approx(1)


def test_log_likelihoods_of_all_restarts_are_kept():
    X, y = CIAFamily(75, 2, 0.9).draw(rng=0).sample(50, rng=0)
    em = EM(n_init=30, random_state=1).fit(X, y)
    assert em.log_likelihoods_.shape == (30,)
    assert em.log_likelihood_ == em.log_likelihoods_.max()
    close = (em.log_likelihoods_ > em.log_likelihood_ - 1e-4).sum()
    assert em.n_best_reproduced_ == close
    assert 1 <= close < 30


def test_a_fit_that_does_not_converge_gives_a_warning():
    X, y = problem_of(0, size=200)
    with pytest.warns(ConvergenceWarning, match="did not converge in 5 steps"):
        em = EM(max_iter=5, random_state=0).fit(X, y)
    assert not em.converged_
    assert em.n_iter_ == 5


def test_missing_values_are_as_if_the_attribute_were_not_asked():
    X, y = problem_of(1, n=5)
    absent = np.column_stack([X, np.full(len(X), np.nan)])
    with_column, without = EM(random_state=0).fit(absent, y), EM(random_state=0).fit(X, y)
    assert with_column.log_likelihood_ == pytest.approx(without.log_likelihood_, abs=1e-6)
    np.testing.assert_allclose(with_column.predict_proba(absent), without.predict_proba(X), atol=1e-3)


def test_probability_of_a_row_with_missing_values_averages_over_them():
    X, y = problem_of(2, n=3, size=300)
    em = EM(random_state=0).fit(X, y)
    filled = np.array([[0, 1, 0], [0, 1, 1]], dtype=float)
    joint = np.exp(em.score_samples(filled))
    expected = joint @ em.predict_proba(filled)[:, 1] / joint.sum()
    assert em.predict_proba([[0, 1, np.nan]])[0, 1] == pytest.approx(expected)


def test_more_than_two_classes_predict_by_the_posterior():
    model = CIAFamily(10, 5, 0.9).draw(rng=1)
    X, y = model.sample(2_000, rng=0)
    em = EM(n_classes=5, n_init=4, tol=1e-4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(em.predict(X), em.predict_proba(X)[:, 1] > 0.5)
    with pytest.raises(AttributeError, match="EM with 5 hidden classes is not a linear rule"):
        _ = em.coef_
    with pytest.raises(AttributeError, match="call fit first"):
        _ = EM().coef_


def test_smoothing_keeps_probabilities_inside_and_is_a_prior():
    X, y = np.zeros((20, 3)), np.zeros(20)
    em = EM(n_classes=1, smoothing=1.0).fit(X, y)
    np.testing.assert_allclose(em.probs_, 1 / 22)
    assert em.log_likelihood_ == pytest.approx(80 * np.log(21 / 22))


@pytest.mark.parametrize("criterion", ["bic", "aic", "cv"])
def test_number_of_classes_is_chosen_on_the_data(criterion):
    model = CIAModel([0.4, 0.3, 0.3], np.repeat([[0.9, 0.1, 0.5], [0.1, 0.1, 0.9], [0.9, 0.2, 0.2]], 3, axis=0))
    X, y = model.sample(1_500, rng=0)
    em = EM(n_classes=criterion, random_state=0).fit(X, y)
    assert em.n_classes_ in ((3,) if criterion == "bic" else (3, 4))
    assert em.criterion_[em.n_classes_] == min(em.criterion_.values())
    assert em.criterion_[3] < em.criterion_[2] < em.criterion_[1]
    if criterion != "cv":
        assert em.criterion_[em.n_classes_] == pytest.approx(getattr(em, f"{criterion}_"), abs=0.01)


def test_cross_validation_of_a_single_row_does_not_fail():
    assert EM(n_classes="cv").fit([[0, 1]], [1]).predict([[1, 1]]) == [1]


def test_fitted_model_can_be_drawn_from():
    X, y = problem_of(5, n=4, size=2_000)
    em = EM(random_state=0).fit(X, np.where(y, "yes", "no"))
    drawn, labels = em.sample(50_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.01)
    assert np.mean(labels == "yes") == pytest.approx(y.mean(), abs=0.01)


def test_sparse_rows_are_never_made_dense(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((200, 200_000), density=1e-4, rng=rng, format="csr")
    X.data[:] = 1
    y = rng.integers(0, 2, 200)
    monkeypatch.setattr(sparse.csr_matrix, "toarray", None)
    for n_classes in (2, 3):
        em = EM(n_classes=n_classes, n_init=2, max_iter=20, tol=1e-2, random_state=0).fit(X, y)
        assert em.predict(X).shape == (200,)
        np.testing.assert_allclose(em.predict_proba(X).sum(axis=1), 1)
        assert em.score_samples(X, y).sum() == pytest.approx(em.log_likelihood_)


@pytest.mark.parametrize("n_classes", [2, 3, "cv"])
def test_sparse_rows_give_what_dense_ones_give(n_classes):
    X, y = CIAFamily(10, 2, 0.9).draw(rng=5).sample(300, rng=0)
    thick, thin = (EM(n_classes=n_classes, n_init=2, random_state=0).fit(rows, y) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(thick.predict_proba(X), thin.predict_proba(sparse.csr_array(X)), atol=1e-6)
    np.testing.assert_allclose(thick.score_samples(X), thin.score_samples(sparse.csr_array(X)), atol=1e-6)


@pytest.mark.parametrize("bad", [{"n_classes": "many"}, {"n_classes": 0}, {"n_init": 0}, {"tol": 0}, {"smoothing": -1}])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        EM(**bad).fit([[0], [1]], [0, 1])


def test_any_number_of_steps_may_be_allowed():
    X, y = problem_of(0, size=40)
    assert EM(max_iter=10**20, accelerate=False, random_state=0).fit(X, y).converged_


INTERRUPTED = """
import signal, sys
import numpy as np
from ciabench import COV, EM

rng = np.random.default_rng(0)
X = rng.integers(0, 2, (20_000, 75), dtype=np.uint8)
y, learner = X[:, 0], {"EM": EM(n_classes=5, random_state=0), "COV": COV()}[sys.argv[1]]
learner.fit(X[:50], y[:50])
def press(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, press)
signal.setitimer(signal.ITIMER_REAL, 0.02)
try:
    for _ in range(100):
        learner.fit(X, y)
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.parametrize("learner", ["EM", "COV"])
def test_a_fit_can_be_interrupted(learner):
    command = [sys.executable, "-c", INTERRUPTED, learner]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (process.returncode, process.stdout) == (0, "stopped\n"), process.stderr
