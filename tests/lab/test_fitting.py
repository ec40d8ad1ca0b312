import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from ciabench.lab.compute.fitting import Bench, FitError, checked_probabilities, declared_facts, label_codes
from ciabench.lab.plan.learner import from_estimator, resolve

BITS = np.array([0, 1], dtype=np.uint8)
WORDS = np.array(["no", "perhaps", "yes"])
X = np.array([[0, 1], [1, 0], [1, 1], [0, 0]], dtype=np.uint8)
Y = np.array([0, 1, 1, 0], dtype=np.uint8)


class Fixed(ClassifierMixin, BaseEstimator):
    """Answers what it was made with."""

    def __init__(self, labels=None, probabilities=None, classes=(0, 1)):
        self.labels = labels
        self.probabilities = probabilities
        self.classes = classes

    def fit(self, X, y):
        self.classes_ = np.array(self.classes)
        return self

    def predict(self, X):
        return self.labels

    def predict_proba(self, X):
        return self.probabilities


def fitted(estimator, X=X, y=Y, classes=BITS):
    bench = Bench()
    return bench, bench.fit(from_estimator("x", estimator), 0, X, y, classes)


@pytest.mark.parametrize(
    "labels", [[1, 0, 1], [1.0, 0.0, 1.0], [True, False, True], np.array([1, 0, 1], np.uint8), pd.Series([1, 0, 1])]
)
def test_numbers_that_are_equal_are_the_same_label(labels):
    codes = label_codes(labels, BITS, 3)
    assert codes.dtype == np.intp
    assert codes.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "as_labels",
    [np.array, lambda words: np.array(words, dtype=object), lambda words: pd.array(words, dtype="string"), pd.Series,
     pd.Categorical],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [str, object])
def test_texts_of_any_kind_are_labels(as_labels, dtype):
    assert label_codes(as_labels(["yes", "no"]), WORDS.astype(dtype), 2).tolist() == [2, 0]


def test_labels_may_be_many_numbers():
    assert label_codes([3.0, 7, -1], np.array([-1, 3, 7]), 3).tolist() == [1, 2, 0]
    with pytest.raises(FitError, match=r"predict returned 4\.0; expected the labels -1, 3 and 7\."):
        label_codes([3.0, 4], np.array([-1, 3, 7]), 2)


@pytest.mark.parametrize(
    ("labels", "classes", "cause"),
    [
        ([0, 2], BITS, "predict returned 2; expected the labels 0 and 1."),
        ([0, np.nan], BITS, "predict returned nan; expected the labels 0 and 1."),
        ([0, 0.5], BITS, "predict returned 0.5; expected the labels 0 and 1."),
        (["0", "1"], BITS, "predict returned <U1 values; expected the labels 0 and 1."),
        ([0, None], BITS, "predict returned object values; expected the labels 0 and 1."),
        ([0, 1, 1], BITS, "predict returned shape (3,) for 2 rows."),
        ([[0, 1]], BITS, "predict returned shape (1, 2) for 2 rows."),
        (["no", "never"], WORDS, "predict returned 'never'; expected the labels 'no', 'perhaps' and 'yes'."),
        ([0, 1], WORDS, "predict returned int64 values; expected the labels 'no', 'perhaps' and 'yes'."),
        (np.array(["no", None], object), WORDS, "predict returned None; expected the labels 'no', 'perhaps'"),
        (np.array([["no"], 1], object), WORDS, "predict returned labels that cannot be compared; expected the labels"),
        ([10, 11], np.arange(10), "predict returned 10; expected one of 10 labels, such as 0."),
        ([1, 0], np.array([1]), "predict returned 0; expected the label 1."),
    ],
)  # fmt: skip
def test_other_labels_are_failures(labels, classes, cause):
    with pytest.raises(FitError) as failure:
        label_codes(labels, classes, 2)
    assert str(failure.value).startswith(cause)


def test_many_labels_of_bits_are_checked_fast():
    labels = np.ones(320_000, dtype=np.uint8)
    started = time.perf_counter()
    label_codes(labels, BITS, labels.size)
    assert time.perf_counter() - started < 0.1


@pytest.mark.parametrize(
    ("probabilities", "cause"),
    [
        ([[0.5, 0.5]], r"shape (1, 2); expected (4, 2)"),
        ([[1.0]] * 4, r"shape (4, 1); expected (4, 2)"),
        ([[np.nan, 0.5]] * 4, "nan; expected numbers between 0 and 1"),
        ([[np.inf, 0.5]] * 4, "inf; expected numbers between 0 and 1"),
        ([[1.1, -0.1]] * 4, "1.1; expected numbers between 0 and 1"),
        ([["a", "b"]] * 4, "<U1 values; expected numbers"),
        ([[1.0, 1.0]] * 4, "a row with sum 2; expected 1"),
    ],
)
def test_wrong_probabilities_are_failures(probabilities, cause):
    bench, _ = fitted(Fixed(probabilities=probabilities))
    with pytest.raises(FitError) as failure:
        bench.predict_proba(X)
    assert str(failure.value) == f"predict_proba returned {cause}."


def test_rounding_errors_of_probabilities_are_removed():
    found = checked_probabilities(np.array([[1 + 1e-7, -1e-7]], dtype=np.float32), (1, 2))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [[1, 0]])


def test_columns_of_probabilities_follow_the_classes():
    bench, _ = fitted(Fixed(probabilities=[[0.2, 0.8]] * 4, classes=("yes", "no")), classes=WORDS)
    np.testing.assert_array_equal(bench.predict_proba(X), [[0.8, 0, 0.2]] * 4)
    bench, _ = fitted(Fixed(probabilities=[[0.2, 0.8]] * 4, classes=("yes", "never")), classes=WORDS)
    with pytest.raises(FitError, match="classes_ has 'never'; expected the labels 'no'"):
        bench.predict_proba(X)


def test_probabilities_need_classes():
    class Nameless(Fixed):
        def fit(self, X, y):
            return self

    assert fitted(Fixed())[1].has_probabilities
    assert not fitted(Nameless())[1].has_probabilities
    assert not fitted(resolve("sklearn.svm:LinearSVC", "svc", {}).build(0))[1].has_probabilities


@pytest.mark.parametrize(
    ("y", "classes", "code"),
    [(np.ones(4, np.uint8), BITS, 1), (np.array(["yes"] * 4), WORDS, 2), (pd.Series(["no"] * 4), WORDS, 0)],
)
def test_a_sample_of_one_class_makes_a_constant_rule(y, classes, code):
    bench, report = fitted(LogisticRegression(), y=y, classes=classes)
    assert report.has_probabilities
    assert bench.predict(X).tolist() == [code] * 4
    np.testing.assert_array_equal(bench.predict_proba(X), np.tile(np.eye(classes.size)[code], (4, 1)))


def test_other_refusals_are_raised():
    with pytest.raises(ValueError, match="infinity"):
        fitted(LogisticRegression(), X=np.full((4, 2), np.inf))


def test_rows_may_be_a_frame_and_are_not_changed():
    class Spoils(Fixed):
        def fit(self, X, y):
            X.iloc[:, 0], y.iloc[:] = "c", "no"
            return super().fit(X, y)

    frame = pd.DataFrame({"letter": ["a", "b", "b", "a"], "number": [1.0, 2.0, 3.0, 4.0]})
    y = pd.Series(["no", "yes", "yes", "no"])
    before = frame.copy(), y.copy()
    fitted(Spoils(), X=frame, y=y, classes=WORDS)
    pd.testing.assert_frame_equal(frame, before[0])
    pd.testing.assert_series_equal(y, before[1])
    bench, _ = fitted(make_pipeline(OneHotEncoder(), LogisticRegression()), X=frame, y=y, classes=WORDS)
    assert bench.predict(frame).tolist() == [0, 2, 2, 0]


@pytest.mark.parametrize("rows", [X, sparse.csr_array(X)], ids=["dense", "sparse"])
def test_built_in_learners_predict_codes(rows):
    bench = Bench()
    report = bench.fit(resolve("NaiveBayes", "bayes", {}), 0, rows, WORDS[2 * Y], WORDS)
    assert report.has_probabilities
    assert bench.predict(rows).tolist() == [0, 2, 2, 0]
    assert bench.predict_proba(rows)[:, 1].tolist() == [0] * 4


def test_facts_are_plain_values_that_the_class_declares():
    class Sampler:
        facts = (
            "n_iter_",
            "converged_",
            "loss_",
            "way_",
            "count_",
            "many_",
            "infinite_",
            "array_",
            "text_",
            "bad",
            "no",
        )
        n_iter_, converged_, loss_, way_, count_ = np.int64(3), np.True_, np.float32(0.5), np.str_("up"), 2**61
        many_, infinite_, array_, text_ = 2**62, np.inf, np.ones(1), "x" * 10_000

        @property
        def bad(self):
            raise RuntimeError

    facts = declared_facts(Sampler())
    assert facts == {"n_iter": 3, "converged": True, "loss": 0.5, "way": "up", "count": 2**61}
    assert [type(value) for value in facts.values()] == [int, bool, float, str, int]
    assert declared_facts(Fixed()) == {}
    Sampler.facts = "n_iter_"
    assert declared_facts(Sampler()) == {}


UNCOMPILED = """
import gc
import numpy as np
from numba.core.registry import CPUDispatcher
from scipy import sparse
from sklearn.utils import get_tags
from ciabench.lab.compute.fitting import Bench
from ciabench.lab.plan.learner import resolve
from ciabench.learners import builtin_learners

def kernels():
    return sum(len(one.signatures) for one in gc.get_objects() if isinstance(one, CPUDispatcher))

rng, bench = np.random.default_rng(0), Bench()
for name in builtin_learners():
    learner = resolve(name, name, {})
    bench.prepare(learner)
    prepared = kernels()
    for n, size in [(10, 1), (10, 100), (75, 300)]:
        rows = rng.integers(2, size=(size, n + 1), dtype=np.uint8)
        X, y = np.ascontiguousarray(rows[:, 1:]), rows[:, 0].copy()
        for training in (X, sparse.csr_array(X)) if get_tags(learner.build(0)).input_tags.sparse else (X,):
            report = bench.fit(learner, 0, training, y, np.arange(2))
            bench.predict(training)
            report.has_probabilities and bench.predict_proba(training)
    print(name, kernels() - prepared)
assert kernels() > 0
"""


def test_a_prepared_learner_compiles_nothing_more():
    done = subprocess.run([sys.executable, "-c", UNCOMPILED], stdout=subprocess.PIPE, text=True, check=True)
    compiled = dict(line.split() for line in done.stdout.splitlines())
    assert len(compiled) >= 5
    assert set(compiled.values()) == {"0"}
