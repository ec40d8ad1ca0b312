"""BayesianMixture; that it predicts the exact averages is tested in `latent/test_gibbs.py`."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ciabench import EM, BayesianMixture, CIAFamily, CIAModel, Scorer, plot_chains
from ciabench.latent.posterior import MOST_COPIES


@pytest.fixture(scope="module")
def data():
    model = CIAModel([0.3, 0.3, 0.4], [[0.9, 0.1, 0.5], [0.9, 0.1, 0.5], [0.8, 0.3, 0.1], [0.1, 0.9, 0.6]])
    return model.sample(300, rng=1)


@pytest.fixture(scope="module")
def fitted(data):
    return BayesianMixture(random_state=0).fit(*data)


@pytest.fixture(scope="module")
def mixed():
    """A table of all kinds of columns, with missing cells, and three labels."""
    rng = np.random.default_rng(3)
    hidden = rng.integers(0, 3, 240)
    y = np.where(rng.random(240) < 0.9, hidden, rng.integers(0, 3, 240))
    table = pd.DataFrame({"number": rng.normal([-2.0, 0.0, 2.0], 1.0, (240, 3))[np.arange(240), hidden]})
    table["level"] = np.array(list("abcd"))[np.minimum(hidden + (rng.random(240) < 0.3), 3)]
    table["bit"] = rng.random(240) < np.array([0.1, 0.5, 0.9])[hidden]
    table["empty cells"] = np.where(rng.random(240) < 0.2, np.nan, rng.normal(hidden))
    return table, np.array(["low", "middle", "high"])[y]


def test_the_same_seed_gives_the_same_draws_and_another_one_does_not(data, fitted):
    same = BayesianMixture(random_state=0).fit(*data)
    np.testing.assert_array_equal(same.predict_proba(data[0]), fitted.predict_proba(data[0]))
    np.testing.assert_array_equal(same.log_likelihoods_, fitted.log_likelihoods_)
    other = BayesianMixture(random_state=1).fit(*data)
    assert (other.predict_proba(data[0]) != fitted.predict_proba(data[0])).any()


def test_the_order_of_rows_does_not_matter(data, mixed, fitted):
    order = np.random.default_rng(0).permutation(len(data[1]))
    shuffled = BayesianMixture(random_state=0).fit(data[0][order], data[1][order])
    np.testing.assert_array_equal(shuffled.predict_proba(data[0]), fitted.predict_proba(data[0]))
    table, y = mixed
    order = order[: len(y)] % len(y)
    order = np.unique(order)[::-1]
    first = BayesianMixture(random_state=0).fit(table.iloc[order], y[order])
    again = BayesianMixture(random_state=0).fit(table.iloc[np.sort(order)], y[np.sort(order)])
    np.testing.assert_allclose(first.predict_proba(table), again.predict_proba(table), rtol=1e-12)


def test_sparse_rows_are_the_dense_ones(data, fitted):
    X, y = data
    np.testing.assert_allclose(fitted.predict_proba(sparse.csr_matrix(X)), fitted.predict_proba(X), rtol=1e-9)
    of_sparse = BayesianMixture(random_state=0).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(of_sparse.predict_proba(X), fitted.predict_proba(X), atol=0.06)


def test_tables_of_any_kind_and_many_labels(mixed):
    table, y = mixed
    fitted = BayesianMixture(random_state=0).fit(table[:160], y[:160])
    chances = fitted.predict_proba(table[160:])
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert fitted.score(table[160:], y[160:]) > 0.7
    assert fitted.kinds_ == {"number": "numeric", "level": "categorical", "bit": "binary", "empty cells": "numeric"}
    assert fitted.concentrations_.shape == (2,)
    unknown = table[160:].assign(number=np.nan, level=None, bit=None)
    unknown["empty cells"] = np.nan
    shares = np.unique(y[:160], return_counts=True)[1] / 160
    np.testing.assert_allclose(fitted.predict_proba(unknown)[0], shares, atol=0.05)


def test_numbers_may_have_any_scale(mixed):
    table, y = mixed
    scaled = table.assign(number=1e6 + 1e3 * table["number"])
    expected = BayesianMixture(random_state=0).fit(table, y).predict_proba(table)
    np.testing.assert_allclose(
        BayesianMixture(random_state=0).fit(scaled, y).predict_proba(scaled), expected, atol=0.05
    )


def test_posterior_of_the_number_of_classes_and_chains(fitted):
    assert fitted.n_classes_.sum() == pytest.approx(1)
    assert fitted.n_classes_.index.name == "classes"
    assert fitted.n_classes_.index.min() >= 2
    assert fitted.log_likelihoods_.shape == (8, fitted.n_sweeps_)
    assert 0.9 < fitted.r_hat_ < 2


def test_more_sweeps_are_spent_only_while_predictions_differ(data):
    settled = BayesianMixture(tol=1.0, random_state=0).fit(*data)
    assert settled.converged_
    spent = BayesianMixture(tol=0.0, max_sweeps=130, random_state=0).fit(*data)
    assert not spent.converged_
    assert (settled.n_sweeps_, spent.n_sweeps_) == (50, 100)
    np.testing.assert_array_equal(spent.log_likelihoods_[:, :50], settled.log_likelihoods_)


def test_one_class_knows_only_the_share_of_the_target(data):
    X, y = data
    chances = BayesianMixture(max_classes=1, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(chances[:, 1], (y.sum() + 0.5) / (y.size + 1), atol=1e-9)


def test_weights_are_powers(data):
    """Halves are between nothing and everything, and a row of a very large weight is taken."""
    X, y = data
    more = np.where((X[:, 0] == 1) & (y == 1), 3.5, 0.5)
    weighted = BayesianMixture(random_state=0).fit(X, y, sample_weight=more)
    assert (
        weighted.predict_proba([[1, 0, 0]])[0, 1]
        > BayesianMixture(random_state=0).fit(X, y).predict_proba([[1, 0, 0]])[0, 1]
    )
    assert weighted.log_likelihoods_.max() < 0
    heavy = np.ones(len(y))
    heavy[0] = 50.0 * MOST_COPIES
    assert np.isfinite(BayesianMixture(random_state=0).fit(X, y, sample_weight=heavy).decision_function(X)).all()


def test_ahead_of_em_where_there_are_more_classes_than_em_has():
    family, leads = CIAFamily(n=10, k=5, b=0.9), []
    for trial in range(5):
        model = family.draw(np.random.default_rng([9, trial]))
        X, y = model.sample(1000, trial)
        scorer = Scorer(model, 0)
        leads.append(
            scorer.t(BayesianMixture(random_state=0).fit(X, y).predict) - scorer.t(EM(random_state=0).fit(X, y).predict)
        )
    assert np.mean(leads) > 0.2


def test_plot_of_the_chains(fitted):
    ax = plot_chains(fitted)
    assert len(ax.get_lines()) == 16
    assert "8 chains" in ax.get_title()
