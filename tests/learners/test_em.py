import subprocess
import sys
import warnings
from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from stepmix.stepmix import StepMix

from ciabench import EM, CIAFamily, CIAModel, NaiveBayes
from ciabench.errors import ParameterError, SearchWarning
from ciabench.latent import pieces, restarts, starts
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


@pytest.mark.filterwarnings("ignore::ciabench.errors.SearchWarning")
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.soak)])
def test_likelihood_is_never_below_that_of_stepmix(n_classes, missing):
    for seed in range(13):
        X, y = problem_of(seed, k=n_classes, missing=missing)
        em = EM(n_classes=n_classes, n_init=100, random_state=0).fit(X, y)
        assert em.log_likelihood_ >= stepmix_log_likelihood(np.column_stack([y, X]), n_classes) - 1e-6


def test_acceleration_ends_no_lower_than_plain_em():
    worse, differences = 0, []
    for seed in range(500):
        rng = np.random.RandomState(seed)
        n, size, k = rng.choice([4, 8, 20]), rng.choice([20, 60, 200]), rng.choice([2, 3])
        X, y = problem_of(seed, n=n, k=k, size=size)
        rows = np.column_stack([y, X]).astype(np.uint8)
        problem = pieces.make_problem(rows, np.ones(size))
        theta = starts.make_starts(rows, np.ones(size), 2, 10, rng, target=0)
        fast, plain = (
            restarts.maximize(problem, theta, tol=1e-8, max_iter=5_000, accelerate=way).objective.max()
            for way in (True, False)
        )
        worse += fast < plain - 1e-6
        differences.append(fast - plain)
    assert worse <= 5
    assert np.mean(differences) >= 0


@pytest.mark.filterwarnings("ignore::ciabench.errors.SearchWarning")
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
    em = EM(n_init=30, random_state=0).fit(X, y)
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


@pytest.fixture(scope="module")
def rugged():
    """Few rows of many attributes, on which the likelihood has many optima."""
    return CIAFamily(75, 2, 0.9).draw(rng=0).sample(30, rng=0)


def seed_of_a_lonely_best(X, y, n_init):
    """Random state with which only one restart reaches the best optimum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = (EM(n_init=n_init, random_state=seed).fit(X, y) for seed in range(100))
        return next(em.random_state for em in fits if em.n_best_reproduced_ == 1)


def test_an_optimum_that_one_of_many_restarts_reached_gives_one_warning(rugged):
    seed = seed_of_a_lonely_best(*rugged, n_init=5)
    with pytest.warns(SearchWarning, match="only one of 5 restarts reached the best optimum") as caught:
        em = EM(n_init=5, random_state=seed).fit(*rugged)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert not em.is_reproduced_
    few = EM(n_init=4, random_state=seed_of_a_lonely_best(*rugged, n_init=4)).fit(*rugged)
    assert not few.is_reproduced_


def test_one_start_may_be_one_of_ones_own(rugged):
    X, y = rugged
    first = EM(random_state=0, n_init=4).fit(X, y)
    again = EM(init=(first.weights_, first.probs_), n_init=1).fit(X, y)
    assert again.log_likelihoods_.shape == (1,)
    assert first.log_likelihood_ <= again.log_likelihood_ + 1e-9 <= first.log_likelihood_ + 1e-3
    assert again.n_iter_ < first.n_iter_


def test_starts_of_ones_own_stand_beside_others(rugged):
    X, y = rugged
    pairs = [([0.5, 0.5], np.random.default_rng(seed).random((76, 2)).tolist()) for seed in range(3)]
    alone = [EM(init=pair, n_init=1).fit(X, y).log_likelihood_ for pair in pairs]
    together = clone(EM(init=pairs, n_init=4, random_state=0)).fit(X, y)
    np.testing.assert_allclose(together.log_likelihoods_[:3], alone)
    np.testing.assert_allclose(together.log_likelihoods_[3], EM(n_init=1).fit(X, y).log_likelihood_)


@pytest.mark.parametrize(
    ("init", "match"),
    [
        ("rows", r"init must be \(weights, probs\) or a list of such pairs; got 'rows'"),
        ([], "init must be"),
        (([0.5, 0.5], [[0.1], [0.2, 0.3]]), "init must be"),
        (([0.5, 0.5], [[0.1, 0.2]]), r"probs of shape \(2, 2\), the target in row 0; got \(2,\) and \(1, 2\)"),
        ([[0.5, 0.5], [[0.1, 0.2], [0.3, 0.4]]], "init must hold weights of shape"),
        (([0.5, 0.6], np.full((2, 2), 0.5)), "weights in .* that sum to 1; got "),
        (([1.5, -0.5], np.full((2, 2), 0.5)), "weights in .* that sum to 1; got "),
        (([0.5, 0.5], [[0.5, 0.5], [np.nan, 1]]), r"init must hold probs in \[0, 1\]"),
    ],
)
def test_starts_that_are_none_are_refused(init, match):
    with pytest.raises(ParameterError, match=match):
        EM(init=init).fit([[0], [1]], [0, 1])


def test_starts_need_a_number_of_classes():
    with pytest.raises(ParameterError, match="init fixes the number of classes, but n_classes is 'bic'"):
        EM(init=([1.0], [[0.5], [0.5]]), n_classes="bic").fit([[0], [1]], [0, 1])


@pytest.mark.filterwarnings("ignore:column 5 has no values")
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


@pytest.mark.soak
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


def fitted_as(weights, probs, n_features=None):
    """EM with a mixture of one's own."""
    n_features = len(probs) - 1 if n_features is None else n_features
    em = EM(n_init=1).fit(np.eye(max(n_features, 2), n_features), np.arange(max(n_features, 2)) > 0)
    em.weights_, em.probs_ = np.asarray(weights, dtype=float), np.asarray(probs, dtype=float)
    return em


@given(
    logits=st.lists(st.tuples(*[st.floats(-35, 35)] * 2), min_size=2, max_size=8),
    weight=st.floats(-20, 20),
    constant=st.booleans(),
)
@settings(deadline=None, max_examples=200)
def test_log_odds_have_the_sign_of_the_linear_rule(logits, weight, constant):
    probs = np.clip(expit(np.array(logits)), 1e-15, 1 - 1e-15)
    probs[0] *= 0.5 if constant else 1.0
    em = fitted_as([expit(weight), expit(-weight)], probs)
    X = bernoulli.all_patterns(len(logits) - 1)
    scores = em.decision_function(X)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores > 0, em.predict(X))
    np.testing.assert_array_equal(scores > 0, X @ em.coef_[0] + em.intercept_[0] > 0)
    unforced = bernoulli.target_log_odds(X, em.weights_, em.probs_)
    np.testing.assert_allclose(scores, unforced, atol=1e-12)
    np.testing.assert_allclose(expit(scores), em.predict_proba(X)[:, 1], atol=1e-9)


def exact_log_odds(weights, probs, x):
    """Log-odds of attribute 0 in fractions."""
    odds = [Fraction(0), Fraction(0)]
    for z, weight in enumerate(weights):
        joint = Fraction(weight)
        for p, bit in zip(probs[1:], x, strict=True):
            joint *= Fraction(p[z]) if bit else 1 - Fraction(p[z])
        odds = [odds[0] + joint * (1 - Fraction(probs[0][z])), odds[1] + joint * Fraction(probs[0][z])]
    return sum(sign * (log(part.numerator) - log(part.denominator)) for sign, part in zip((-1, 1), odds, strict=True))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_log_odds_are_accurate_where_probabilities_round_to_zero_and_one(n_classes):
    weights = [0.5, 0.25, 0.25][:n_classes]
    probs = [[2.0**-60, 1 - 2.0**-50, 2.0**-70][:n_classes], *[[2.0**-8, 0.75, 2.0**-9][:n_classes]] * 40]
    em = fitted_as(weights, probs)
    X = np.tril(np.ones((41, 40), dtype=np.uint8), -1)
    expected = [exact_log_odds(weights, probs, row.tolist()) for row in X]
    np.testing.assert_allclose(em.decision_function(X), expected, rtol=1e-12)
    assert np.ptp(expected) > 70


def test_log_odds_are_accurate_where_only_an_unlikely_class_allows_the_label():
    weights, probs = [0.5, 0.5], [[0.0, 0.5], *[[2.0**-8, 0.75]] * 600]
    row = np.zeros((1, 600), dtype=np.uint8)
    (log_odds,) = fitted_as(weights, probs).decision_function(row)
    assert log_odds == pytest.approx(exact_log_odds(weights, probs, row[0].tolist()), rel=1e-12)
    assert log_odds < -800


def test_a_constant_rule_still_ranks_rows():
    em = fitted_as([0.5, 0.5], [[0.4, 0.1], [0.9, 0.2], [0.8, 0.3]])
    X = bernoulli.all_patterns(2)
    assert not em.predict(X).any()
    assert (em.coef_ == 0).all()
    assert (np.diff(em.decision_function(X)) > 0).all()


def test_one_against_the_rest_picks_the_class_with_the_largest_log_odds():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 1_000)
    X = (rng.random((1_000, 8)) < np.where(np.arange(8) // 2 == y[:, None], 0.7, 0.2)).astype(np.uint8)
    many = OneVsRestClassifier(EM(random_state=0)).fit(X, y)
    log_odds = np.column_stack([logit(one.predict_proba(X)[:, 1]) for one in many.estimators_])
    np.testing.assert_array_equal(many.predict(X), log_odds.argmax(axis=1))
    assert many.score(X, y) > 0.6


@pytest.mark.filterwarnings("ignore::ciabench.errors.SearchWarning")
def test_ten_digits_one_against_the_rest():
    X, y = load_digits(return_X_y=True)
    seen, tested, y_seen, y_tested = train_test_split(X, y, random_state=0)
    accuracy = {
        type(learner).__name__: OneVsRestClassifier(learner).fit(seen, y_seen).score(tested, y_tested)
        for learner in (EM(n_classes=20, smoothing=0.1, binarize=7, random_state=0), NaiveBayes(binarize=7))
    }
    assert accuracy["NaiveBayes"] > 0.85
    assert accuracy["EM"] > accuracy["NaiveBayes"] - 0.03
