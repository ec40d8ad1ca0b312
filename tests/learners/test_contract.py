"""What every learner promises, checked for each one that is found in `ciabench.learners`."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logit, softmax
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from ciabench import CIAModel, LatentClass, NaiveBayes
from ciabench.errors import CIABenchError, DataError, ParameterError
from ciabench.learners import builtin_learners
from ciabench.learners.base import MixtureClassifier

LEARNERS = builtin_learners()
WEIGHTED = [name for name, learner in LEARNERS.items() if "sample_weight" in inspect.signature(learner.fit).parameters]  # type: ignore[attr-defined]
PROBABILISTIC = [name for name, learner in LEARNERS.items() if hasattr(learner, "predict_proba")]
ONLINE = [name for name, learner in LEARNERS.items() if hasattr(learner, "partial_fit")]

TAKES_BITS = {name for name, learner in LEARNERS.items() if "binarize" in learner().get_params()}
OF_TABLES = {name for name, learner in LEARNERS.items() if name not in TAKES_BITS or "kinds" in learner().get_params()}
"""Learners of any table and any number of classes."""

OF_BITS = {name: learner for name, learner in LEARNERS.items() if name not in OF_TABLES}

every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
every_learner_of_bits = pytest.mark.parametrize("learner", OF_BITS.values(), ids=OF_BITS)
every_learner_of_tables = pytest.mark.parametrize("learner", [LEARNERS[name] for name in sorted(OF_TABLES)])


CHEAP = {"Adaptive": {"members": [("NaiveBayes", NaiveBayes()), ("smoother", NaiveBayes(smoothing=2.0))]}}
"""Parameters with which a learner of other learners, which fits each of them eleven times, is checked."""


def seeded(learner, **parameters):
    """A learner whose randomness, if it has any, is fixed."""
    made = learner(**{**CHEAP.get(learner.__name__, {}), **parameters})
    return made.set_params(random_state=0) if "random_state" in made.get_params() else made


@pytest.fixture(scope="module")
def data():
    model = CIAModel([0.4, 0.6], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.4], [0.1, 0.6], [0.5, 0.5]])
    return model.sample(300, rng=0)


@parametrize_with_checks(
    [seeded(one, **({"binarize": 0.0} if name in TAKES_BITS else {})) for name, one in LEARNERS.items()]
)
def test_scikit_learn_contract(estimator, check):
    """With `binarize`, as the checks feed real numbers. No check is expected to fail."""
    check(estimator)


SPARSE = dict.fromkeys(
    (
        "check_estimator_sparse_tag",
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "sparse X holds bits, and the check has real numbers",
)
NOT_ON_TABLES = {
    "BayesianMixture": SPARSE,
    "EM": SPARSE,
    "LatentClass": {
        "check_sample_weight_equivalence_on_dense_data": "with 15 rows of 10 numbers, starts at rows in another order "
        "end at other optima",
    },
    "NaiveBayes": SPARSE,
}
"""Checks of scikit-learn that learners of tables do not pass without `binarize`, and why."""


@pytest.mark.filterwarnings("ignore::ciabench.errors.SearchWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::ciabench.errors.LevelWarning", "ignore::ciabench.errors.FloorWarning")
@parametrize_with_checks(
    [seeded(learner) for learner in (*LEARNERS.values(), LatentClass) if "kinds" in learner().get_params()],
    expected_failed_checks=lambda estimator: NOT_ON_TABLES.get(type(estimator).__name__, {}),
)
def test_scikit_learn_contract_on_tables(estimator, check):
    check(estimator)


@every_learner
@pytest.mark.parametrize("labels", [[False, True], [3, 7], ["no", "yes"], [-1.0, 1.0]], ids=str)
def test_any_two_labels(learner, labels, data):
    X, y = data
    named = np.array(labels)[y]
    fitted = seeded(learner).fit(X, named)
    np.testing.assert_array_equal(fitted.classes_, labels)
    plain = seeded(learner).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X), np.array(labels)[plain.predict(X)])
    np.testing.assert_array_equal(fitted.decision_function(X), plain.decision_function(X))


@every_learner
@pytest.mark.parametrize("dtype", [bool, np.int64, np.float32, np.float64])
def test_zero_one_data_of_any_type_are_the_same(learner, dtype, data):
    X, y = data
    expected = seeded(learner).fit(X, y).decision_function(X)
    fitted = seeded(learner).fit(X.astype(dtype), y)
    np.testing.assert_array_equal(fitted.decision_function(X.astype(dtype)), expected)


@every_learner_of_bits
def test_sparse_input_gives_the_dense_result(learner, data):
    X, y = data
    fitted = seeded(learner).fit(sparse.csr_matrix(X), y)
    expected = seeded(learner).fit(X, y)
    np.testing.assert_allclose(fitted.decision_function(sparse.csr_array(X)), expected.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(fitted.decision_function(X), expected.decision_function(X), atol=1e-6)


@every_learner_of_bits
def test_entries_of_sparse_input_that_add_up_to_two_are_refused(learner):
    twice = sparse.csr_matrix((np.ones(3), [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    with pytest.raises(DataError, match=r"column 0 has 2\.0 in row 0"):
        seeded(learner).fit(twice, [0, 1])
    assert twice.nnz == 3


@every_learner_of_bits
def test_linear_rule_has_the_sign_of_the_decision_function(learner, data):
    X, y = data
    fitted = seeded(learner).fit(X, y)
    assert fitted.coef_.shape == (1, X.shape[1])
    assert fitted.intercept_.shape == (1,)
    scores, rule = fitted.decision_function(X), X @ fitted.coef_[0] + fitted.intercept_[0]
    np.testing.assert_array_equal(scores > 0, rule > 0)
    np.testing.assert_array_equal(fitted.predict(X), scores > 0)
    if not isinstance(fitted, MixtureClassifier):
        np.testing.assert_allclose(scores, rule, atol=1e-9)


TARGETS = {"a rule": [0.9, 0.1], "always 0": [0.4, 0.1], "always 1": [0.95, 0.6]}
"""P(y = 1 | z) of models whose Bayes rule is linear, or constant."""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROBABILISTIC)
def test_scores_rank_rows_as_probabilities_do(name, target):
    model = CIAModel([0.4, 0.6], [TARGETS[target], [0.8, 0.2], [0.7, 0.4], [0.1, 0.6], [0.9, 0.3]])
    X, y = model.sample(2_000, rng=0)
    fitted = seeded(LEARNERS[name]).fit(X, y)
    for rows in (X, sparse.csr_matrix(X)) if name in TAKES_BITS else (X,):
        scores, chances = fitted.decision_function(rows), fitted.predict_proba(rows)[:, 1]
        assert roc_auc_score(y, scores) == pytest.approx(roc_auc_score(y, chances), abs=1e-12)
        assert roc_auc_score(y, scores) > 0.6
        np.testing.assert_allclose(scores, logit(chances), atol=1e-9)


@every_learner_of_bits
@pytest.mark.parametrize("value", [2, -1, 0.5])
def test_other_values_are_refused_by_column_and_value(learner, value, data):
    X, y = data
    frame = pd.DataFrame(X.astype(float), columns=list("abcd"))
    frame.loc[5, "c"] = value
    with pytest.raises(
        DataError, match=rf"column 'c' has {float(value)} in row 5.*binarize=threshold to {learner.__name__}"
    ):
        seeded(learner).fit(frame, y)
    with pytest.raises(DataError, match=rf"column 2 has {float(value)} in row 5"):
        seeded(learner).fit(sparse.csr_matrix(frame.to_numpy()), y)
    seeded(learner, binarize=0.7).fit(frame, y)


TEXT = {
    "category": pd.Categorical(["dark red", "blue", "blue", "blue"]),
    "category of digits": pd.Categorical(["0", "1", "1", "1"]),
    "object": np.array(["dark red", 1, 0, None], dtype=object),
    "str": pd.array(["dark red", "blue", "blue", "blue"], dtype="str"),
    "date": pd.to_datetime(["2020-01-01"] * 4),
}


@every_learner_of_bits
@pytest.mark.parametrize("kind", TEXT)
def test_text_is_refused_by_column_and_value(learner, kind):
    frame = pd.DataFrame({"passed": [True, False, True, False], "colour": TEXT[kind]})
    with pytest.raises(DataError, match=r"column 'colour' has .*(dark red|'0'|2020).* in row 0.*BitEncoder"):
        seeded(learner).fit(frame, [0, 1, 0, 1])


@every_learner_of_bits
@pytest.mark.parametrize("dtype", [object, str])
def test_text_in_arrays_is_refused_by_column_and_value(learner, dtype):
    rows = np.array([[1, 1], [0, "dark red"], [0, 1]], dtype=dtype)
    with pytest.raises(DataError, match=r"column 1 has 'dark red' in row 1.*BitEncoder"):
        seeded(learner).fit(rows, [0, 1, 1])


@every_learner
def test_numbers_of_any_kind_of_column_are_taken(learner):
    frame = pd.DataFrame({"a": pd.Categorical([0, 1, 1, 0]), "b": pd.array([True, False] * 2, dtype="boolean")})
    expected = seeded(learner).fit(frame.to_numpy(dtype=float), [0, 1, 0, 1])
    np.testing.assert_array_equal(
        seeded(learner).fit(frame, [0, 1, 0, 1]).predict(frame), expected.predict(frame.to_numpy(dtype=float))
    )


@every_learner
@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_values_are_taken_or_refused(learner, missing):
    """None in an array of objects is as NaN is."""
    rows = np.array([[1, 1], [0, missing], [0, 1]], dtype=object)
    if learner().__sklearn_tags__().input_tags.allow_nan:
        seeded(learner).fit(rows, [0, 1, 1])
    else:
        with pytest.raises(ValueError, match=r"column 1 has nan in row 1.*takes no missing values|contains NaN"):
            seeded(learner).fit(rows, [0, 1, 1])


@every_learner
def test_facts_are_fitted_numbers(learner, data):
    fitted = seeded(learner).fit(*data)
    assert all(np.isscalar(getattr(fitted, name)) for name in learner.facts)
    assert learner.version >= 1
    assert not {"facts", "version"} & set(fitted.get_params())


@every_learner_of_bits
def test_a_threshold_is_a_number(learner):
    for threshold in (True, "mean"):
        with pytest.raises(ParameterError, match=f"binarize must be None or a number.*; got {threshold!r}"):
            learner(binarize=threshold).fit([[0, 1], [1, 0]], [0, 1])


@every_learner_of_bits
def test_binarize_is_thresholding(learner, data):
    X, y = data
    values = np.random.default_rng(0).random(X.shape) + X
    expected = seeded(learner).fit((values > 0.9).astype(int), y).decision_function((values > 0.9).astype(int))
    np.testing.assert_array_equal(seeded(learner, binarize=0.9).fit(values, y).decision_function(values), expected)


@every_learner
def test_columns_have_names_and_an_order(learner, data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcd"))
    fitted = seeded(learner).fit(frame, pd.Series(y))
    assert list(fitted.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(frame[list("bacd")])


@every_learner
def test_plain_bytes_are_taken_as_they_are_and_no_further_than_that(learner, data):
    X, y = (np.ascontiguousarray(values, dtype=np.uint8) for values in data)
    fitted = seeded(learner).fit(X, y)
    assert fitted.n_features_in_ == 4
    np.testing.assert_array_equal(
        fitted.decision_function(X), seeded(learner).fit(X.tolist(), y.tolist()).decision_function(X)
    )
    for wrong in (X[:, :3], X[:0], X[0]):
        with pytest.raises(ValueError, match=r"3 features|0 sample|1D array"):
            fitted.predict(wrong)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        seeded(learner).fit(X, y[:-1])
    with pytest.raises(ValueError, match="y should be a 1d array"):
        seeded(learner).fit(X[:2], "no")
    fitted.fit(pd.DataFrame(X, columns=list("abcd")), y).fit(X[:, :3], y)
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.n_features_in_ == 3


@every_learner
@pytest.mark.parametrize("label", [0, 1, "only"])
def test_one_class_is_always_predicted(learner, label, data):
    X, _ = data
    fitted = seeded(learner).fit(X, np.full(len(X), label))
    assert (fitted.predict(X) == label).all()
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_array_equal(fitted.predict_proba(X), np.ones((len(X), 1)))


@every_learner
@pytest.mark.parametrize("target", [0, 1])
def test_odd_data_give_finite_scores(learner, target):
    rng = np.random.default_rng(target)
    y = rng.integers(0, 2, 40)
    y[:2] = 0, 1
    for X in (np.zeros((40, 3)), np.ones((40, 3)), np.tile(y[:, None], 2), rng.integers(0, 2, (40, 1))):
        fitted = seeded(learner).fit(X, y)
        assert np.isfinite(fitted.decision_function(X)).all()
    one_row = seeded(learner).fit([[0, 1, target]], [target])
    assert one_row.predict([[1, 0, 1]]) == [target]


@every_learner_of_bits
def test_three_classes_are_refused(learner, data):
    X, _ = data
    with pytest.raises(DataError, match="y holds 3 classes"):
        seeded(learner).fit(X, np.arange(len(X)) % 3)


@every_learner_of_tables
def test_three_classes_and_any_columns_are_taken(learner, data):
    rng = np.random.default_rng(0)
    y = np.array(["low", "middle", "high"])[np.arange(300) % 3]
    frame = pd.DataFrame({"text": np.where(rng.random(300) < 0.8, y, "other"), "number": rng.normal(size=300)})
    frame["empty cells"] = np.where(rng.random(300) < 0.3, None, np.where(y == "low", "x", "z"))
    hidden = {"n_classes": 3} if "n_classes" in learner().get_params() else {}
    fitted = seeded(learner, **hidden).fit(frame, y)
    assert fitted.classes_.tolist() == ["high", "low", "middle"]
    assert fitted.score(frame, y) > 0.8
    chances = fitted.predict_proba(frame)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_allclose(softmax(fitted.decision_function(frame), axis=1), chances, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(frame[frame.columns[::-1]]), fitted.predict(frame))
    with pytest.raises(DataError, match="lacks the column 'text'"):
        fitted.predict(frame[["number", "empty cells"]])


@pytest.mark.parametrize("name", WEIGHTED)
def test_a_weight_of_two_is_a_row_twice(name, data):
    X, y = data
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = seeded(LEARNERS[name]).fit(X, y, sample_weight=weights)
    repeated = seeded(LEARNERS[name]).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("weights", [np.ones(3), -np.ones(300), np.zeros(300), np.full(300, np.nan)])
def test_bad_weights_are_refused(name, weights, data):
    with pytest.raises(DataError, match="sample_weight must"):
        LEARNERS[name]().fit(*data, sample_weight=weights)


@pytest.mark.parametrize("name", ONLINE)
def test_partial_fit_refuses_unknown_labels(name, data):
    X, y = data
    learner = seeded(LEARNERS[name]).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(DataError, match="label 5"):
        learner.partial_fit(X, np.where(y, 5, 0))


@every_learner
def test_clone_pickle_and_repr(learner, data):
    X, y = data
    fitted = seeded(learner).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    np.testing.assert_array_equal(clone(fitted).fit(X, y).decision_function(X), fitted.decision_function(X))
    assert learner.__name__ in repr(fitted)
    assert learner.__name__ in fitted._repr_html_()


@every_learner
def test_works_in_pipelines_and_searches(learner, data):
    X, y = data
    pipeline = make_pipeline(Binarizer(threshold=0.5), seeded(learner)).set_output(transform="pandas")
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.6
    if learner.__name__ in TAKES_BITS:
        search = GridSearchCV(seeded(learner), {"binarize": [0.2, 0.6]}, cv=3).fit(X, y)
        assert search.best_score_ > 0.6


@every_learner
def test_every_parameter_is_keyword_only_and_stored_as_given(learner):
    signature = inspect.signature(learner.__init__).parameters
    assert all(parameter.kind == parameter.KEYWORD_ONLY for name, parameter in signature.items() if name != "self")
    sentinels = {name: object() for name in signature if name != "self"}
    made = learner(**sentinels)
    assert all(getattr(made, name) is value for name, value in sentinels.items())


@every_learner
def test_nonsense_parameters_are_refused_at_fit(learner, data):
    for name in set(learner().get_params()) - {"random_state", "binarize"}:
        with pytest.raises((ParameterError, CIABenchError), match=name):
            learner(**{name: "nonsense" if not isinstance(getattr(learner(), name), bool) else "maybe"}).fit(*data)


@every_learner
def test_docstring_has_the_formula_references_and_an_example(learner):
    doc = inspect.getdoc(learner)
    assert all(section in doc for section in ("Parameters", "Attributes", "References", "Examples", ">>>"))
