"""Adaptive: its weights are those of the formula, and follow the member that is right."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from ciabench import EM, Adaptive, CIAFamily, NaiveBayes, Perceptron, Scorer, ThresholdFamily
from ciabench.errors import ParameterError

PAIR = [("plain", NaiveBayes()), ("smoother", NaiveBayes(smoothing=20.0)), ("logistic", LogisticRegression(C=0.1))]
BOTH_WAYS = [("EM", EM(n_init=5)), ("logistic", LogisticRegression())]


def table(size, *, seed=0):
    """A table of text, numbers and missing cells, with three labels."""
    rng = np.random.default_rng(seed)
    y = np.array(["low", "middle", "high"])[rng.integers(0, 3, size)]
    text = np.where(rng.random(size) < 0.6, y, "other").astype(object)
    text[rng.random(size) < 0.1] = None
    return pd.DataFrame({"text": text, "number": rng.normal(size=size) + (y == "low")}), y


def test_weights_are_those_of_the_formula():
    """Recomputed row by row and draw by draw, from the same folds and draws."""
    model = CIAFamily(10, 3, 0.9).draw(rng=1)
    X, y = model.sample(60, rng=2)
    fitted = Adaptive(members=PAIR, random_state=5).fit(X, y)
    rng, size = np.random.RandomState(5), len(y)
    seeds = rng.randint(2**31 - 1, size=1)  # of logistic regression, the only member with a random state
    assert seeds[0] == fitted.members_["logistic"].random_state
    logs = np.zeros((size, 3))
    for _ in range(2):
        folds = StratifiedKFold(5, shuffle=True, random_state=rng.randint(2**31 - 1))
        for train, test in folds.split(X, y):
            for m, (_, member) in enumerate(PAIR):
                chances = clone(member).fit(X[train], y[train]).predict_proba(X[test])
                for row, chance in zip(test, chances, strict=True):
                    logs[row, m] += np.log(min(max(chance[y[row]], 1 / 62), 61 / 62)) / 2
    total = np.zeros(3)
    for shares in rng.dirichlet(np.ones(size), 400):
        powers = [np.log(p) + 0.5 * size * sum(shares * logs[:, m]) for m, p in enumerate((0.5, 0.25, 0.25))]
        total += np.exp(powers - logsumexp(powers)) / 400
    np.testing.assert_allclose(list(fitted.weights_.values()), total, rtol=1e-9)
    np.testing.assert_allclose(list(fitted.held_out_loss_.values()), -logs.mean(axis=0), rtol=1e-12)
    expected = sum(w * fitted.members_[name].predict_proba(X) for name, w in fitted.weights_.items())
    np.testing.assert_allclose(fitted.predict_proba(X), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("family", "right"), [(CIAFamily(10, 2, 0.9), "EM"), (ThresholdFamily(10, 5, 0.05, 0.9), "logistic")], ids=str
)
@pytest.mark.filterwarnings("ignore::ciabench.errors.SearchWarning")
def test_the_member_that_is_right_weighs_most(family, right):
    weights, leads = [], []
    for seed in range(4):
        model = family.draw(rng=seed)
        X, y = model.sample(500, rng=seed)
        fitted, scorer = Adaptive(members=BOTH_WAYS, random_state=seed).fit(X, y), Scorer(model)
        weights.append(fitted.weights_[right])
        leads.append(scorer.t(fitted.predict) - scorer.t(fitted.members_[right].predict))
    assert np.mean(weights) > 0.8
    assert np.mean(leads) > -0.03


def test_default_members_take_any_table():
    X, y = table(60)
    fitted = Adaptive(random_state=0).fit(X, y)
    assert list(fitted.weights_) == ["BayesianMixture", "LogisticRegression", "NaiveBayes", "EM"]
    assert sum(fitted.weights_.values()) == pytest.approx(1)
    assert fitted.score(X, y) > 0.6
    again = Adaptive(random_state=0).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize(("rare", "folds"), [(1, 0), (2, 2), (4, 4), (9, 5)])
def test_there_are_no_more_folds_than_rows_of_the_rarest_label(rare, folds):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (30, 3)), np.arange(30) < rare
    fitted = Adaptive(members=PAIR, random_state=0).fit(X, y)
    assert fitted.n_folds_ == folds
    if not folds:
        assert fitted.weights_ == {"plain": 0.5, "smoother": 0.25, "logistic": 0.25}
        assert np.isnan(list(fitted.held_out_loss_.values())).all()
        assert "prior" in str(fitted.explain())


def test_explanation_names_the_heaviest_member_first():
    X, y = table(80)
    explained = Adaptive(members=[("EM", EM(n_init=2)), *PAIR[:2]], random_state=0).fit(X, y).explain()
    assert explained.sentence.startswith(explained.table.index[0])
    assert explained.table["weight"].is_monotonic_decreasing
    assert explained.table["weight"].sum() == pytest.approx(1)
    assert "held-out log-loss" in str(explained)
    assert explained.sentence in explained._repr_html_()


def test_a_single_member_has_all_the_weight():
    X, y = table(40)
    fitted = Adaptive(members=PAIR[:1], random_state=0).fit(X, y)
    assert fitted.weights_ == {"plain": pytest.approx(1)}
    np.testing.assert_allclose(fitted.predict_proba(X), NaiveBayes().fit(X, y).predict_proba(X))
    assert fitted.explain().sentence.count("log-loss") == 1


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], r"members must be a list of \(name, classifier\); got \[\]"),
        ([NaiveBayes()], "must be a list of"),
        ([("a", NaiveBayes()), ("a", EM())], "'a' occurs twice"),
        ([("perceptron", Perceptron())], "must have predict_proba; 'perceptron', a Perceptron, has none"),
        ([("svc", SVC())], "must have predict_proba"),
    ],
)
def test_members_of_other_kinds_are_refused(members, message):
    with pytest.raises(ParameterError, match=message):
        Adaptive(members=members).fit([[0, 1], [1, 0]], [0, 1])
