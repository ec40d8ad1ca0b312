"""Tree-augmented naive Bayes against a plain one, and networks with edges of one's own."""

import importlib

import numpy as np
import pandas as pd
import pytest

from ciabench import EM, CIAModel, NaiveBayes, NetworkClassifier, learning_curve
from ciabench.errors import CIABenchError
from ciabench.learners.network_classifier import chow_liu_tree, conditional_information, cuts


@pytest.fixture
def textbook(request, monkeypatch):
    monkeypatch.syspath_prepend(request.path.parent)
    return importlib.import_module("textbook_tan").TextbookTAN


def integers(rng, size=150, n=5):
    """Columns of up to four levels that depend on the class and on the column before."""
    y = rng.integers(0, 3, size)
    X = np.empty((size, n), dtype=int)
    X[:, 0] = (y + rng.integers(0, 2, size)) % 3
    for column in range(1, n):
        X[:, column] = (X[:, column - 1] * (column % 2) + y * (column % 3) + (rng.random(size) < 0.3)) % (
            2 + column % 3
        )
    return X, y


@pytest.mark.parametrize("seed", range(5))
def test_tan_is_the_textbook_one(seed, textbook):
    X, y = integers(np.random.default_rng(seed))
    table = pd.DataFrame(X, columns=list("abcde")).astype(str)
    plain, fitted = textbook().fit(table, y), NetworkClassifier().fit(table, y)
    tree = {frozenset(edge) for edge in fitted.edges_ if edge[0] != "y"}
    assert tree == {frozenset("abcde"[i] for i in edge) for edge in plain.parent.items() if edge[1] is not None}
    expected = plain.log_joint(table)
    expected -= np.logaddexp.reduce(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_log_proba(table), expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(fitted.predict(table), plain.predict(table))


def test_conditional_information_of_pairs_that_are_observed(textbook):
    rng = np.random.default_rng(0)
    X, y = integers(rng, 200, 3)
    rows = np.where(rng.random(X.shape) < 0.2, -1, X).astype(np.int32)
    found = conditional_information(rows, X.max(axis=0) + 1, y, 3, np.ones(200))
    for i, j in ((0, 1), (1, 2), (0, 2)):
        both = (rows[:, [i, j]] >= 0).all(axis=1)
        counts = np.zeros((3, 5, 5))
        np.add.at(counts, (y[both], rows[both, i], rows[both, j]), 1)
        expected = textbook()._information(counts)
        assert found[i, j] == pytest.approx(expected, abs=1e-12)
        assert found[j, i] == pytest.approx(expected, abs=1e-12)


def test_tree_spans_columns_without_information():
    rows = np.zeros((3, 4), dtype=np.int32)
    edges = chow_liu_tree(rows, np.ones(4, dtype=np.int64), np.zeros(3, dtype=int), 1, np.ones(3))
    assert len(edges) == 3
    assert chow_liu_tree(rows[:, :1], np.ones(1, dtype=np.int64), np.zeros(3, dtype=int), 1, np.ones(3)) == []


def test_cuts_are_quantiles():
    numbers = np.append(np.arange(12.0), np.nan)
    np.testing.assert_array_equal(cuts(numbers, np.ones(13), 4), [2, 5, 8])
    np.testing.assert_array_equal(cuts(np.array([0, 0, 0, 1.0]), np.ones(4), 5), [0])
    np.testing.assert_array_equal(cuts(np.array([1.0, 5.0]), np.array([1.0, 0.0]), 3), [])


def test_edges_from_the_class_are_naive_bayes():
    X = np.random.default_rng(0).integers(0, 2, (200, 4), dtype=np.uint8)
    y = np.arange(200) % 2
    fitted = NetworkClassifier(structure=[("y", i) for i in range(4)]).fit(X, y)
    np.testing.assert_allclose(fitted.predict_proba(X), NaiveBayes().fit(X, y).predict_proba(X), rtol=0, atol=1e-9)


def test_edges_from_a_hidden_variable_are_em():
    model = CIAModel([0.4, 0.6], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.4], [0.1, 0.6], [0.5, 0.5]])
    X, y = model.sample(300, rng=0)
    edges = [("z", "y"), *(("z", i) for i in range(4))]
    fitted = NetworkClassifier(structure=edges, hidden={"z": 2}, smoothing=0, random_state=0).fit(X, y)
    em = EM(random_state=0).fit(X, y)
    assert fitted.log_likelihood_ == pytest.approx(em.log_likelihood_, abs=1e-6)
    np.testing.assert_allclose(fitted.predict_proba(X), em.predict_proba(X), atol=1e-3)


def test_missing_cells_help_where_they_can():
    """With 30% of the cells missing, TAN predicts better than by leaving out every row that lacks one."""
    leads = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = integers(rng, 1_000)
        X = np.where(rng.random(X.shape) < 0.3, np.nan, X)
        train, test = slice(0, 100), slice(100, None)
        complete = ~np.isnan(X[train]).any(axis=1)
        fitted = NetworkClassifier(kinds="categorical").fit(X[train], y[train])
        dropped = NetworkClassifier(kinds="categorical").fit(X[train][complete], y[train][complete])
        leads.append(fitted.score(X[test], y[test]) - dropped.score(X[test], y[test]))
    assert np.mean(leads) > 2 * np.std(leads) / np.sqrt(5)


def test_tables_with_numbers_and_missing_cells_come_close_to_the_textbook(textbook):
    """Same splits; the textbook takes a missing cell as a level, TAN sums it out."""
    rng = np.random.default_rng(0)
    X, y = integers(rng, 1_000)
    table = pd.DataFrame(X, columns=list("abcde")).astype(str).assign(number=y + rng.normal(size=1_000))
    table = table.mask(rng.random(table.shape) < 0.02)
    both = {"TAN": NetworkClassifier(), "textbook": textbook()}
    rows = learning_curve((table, y), both, sizes=[800], trials=5, random_state=0)
    success = rows.groupby("learner")["success"].mean()
    assert success["TAN"] > success["textbook"] - 0.005


def test_runs_in_the_lab():
    X, y = integers(np.random.default_rng(0), 120)
    rows = learning_curve((X, y), {"TAN": NetworkClassifier()}, sizes=[40, 80], trials=2, random_state=0)
    assert (rows["success"] > 0.4).all()


BAD = {
    "structure": ({"structure": "tree"}, 'structure must be "tan"'),
    "unknown": ({"structure": [("y", "q")]}, "'q', which is neither a column"),
    "both": ({"structure": [("y", 0)], "hidden": {0: 2}}, "both a column and hidden"),
    "hidden": ({"hidden": {"z": 2}}, "hidden needs edges"),
    "cycle": ({"structure": [("y", 0), (0, "y")]}, "cycle"),
    "bins": ({"n_bins": 1}, "n_bins"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_are_one_sentence(case):
    parameters, message = BAD[case]
    with pytest.raises(CIABenchError, match=message):
        NetworkClassifier(**parameters).fit([[0, 1], [1, 0]], [0, 1])
