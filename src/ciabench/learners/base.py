"""What all learners share: 0/1 input, two classes of any label, linear scores.

Inside the learners X is a C-contiguous uint8 array or a CSR matrix whose stored entries are all 1, and y is uint8 with
0 for `classes_[0]` and 1 for `classes_[1]`.
"""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ciabench.errors import DataError

Bits = NDArray[np.uint8]
Floats = NDArray[np.float64]

DENSE_LIMIT = 2 * 1024**3
"""Bytes that a learner may take to make sparse input dense."""


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def linear_scores(X: Bits, coefficients: Floats, intercept: float) -> Floats:
    """X · coefficients + intercept on bytes, without a float copy of X."""
    scores = np.empty(X.shape[0])
    for row in range(X.shape[0]):
        total = 0.0
        for column in range(X.shape[1]):
            total += X[row, column] * coefficients[column]
        scores[row] = total + intercept
    return scores


class BinaryClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Input checks, label encoding and `predict` for classifiers of 0/1 data into two classes."""

    binarize: float | None
    classes_: NDArray[Any]
    n_features_in_: int

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class of every row: `classes_[1]` where `decision_function` is positive."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    @abstractmethod
    def decision_function(self, X: ArrayLike) -> Floats:
        """Score of every row, positive for `classes_[1]`."""

    def _check_training_data(self, X: ArrayLike, y: ArrayLike, *, reset: bool = True) -> tuple[Any, Bits]:
        """Checked X, and y as 0/1; sets `classes_` and, when `reset`, what the columns are."""
        rows, labels = self._validated(X, y, reset=reset)
        if reset:
            self.classes_ = _two_classes(labels)
        return self._zero_one(rows), self._encoded(labels)

    def _check_rows(self, X: ArrayLike) -> Any:
        """Checked X of a fitted learner."""
        check_is_fitted(self)
        return self._zero_one(self._validated(X, "no_validation", reset=False))

    def _validated(self, X: ArrayLike, y: Any, *, reset: bool) -> Any:
        allow_nan = self.__sklearn_tags__().input_tags.allow_nan
        finite = "allow-nan" if allow_nan else True
        return validate_data(self, X, y, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=finite)

    def _zero_one(self, X: Any) -> Any:
        """X as bytes, thresholded first if `binarize` says so."""
        if sparse.issparse(X):
            return _sparse_bits(self, X)
        X = _numeric(X)
        if self.binarize is not None:
            X = _threshold(X, self.binarize)
        if X.dtype.kind == "b":
            return np.ascontiguousarray(X).view(np.uint8)
        _refuse_other_values(self, X)
        return X if _has_missing(X) else np.ascontiguousarray(X, dtype=np.uint8)

    def _encoded(self, y: NDArray[Any]) -> Bits:
        """Positions of the labels in `classes_`."""
        codes = y == self.classes_[-1] if self.classes_.size == 2 else np.zeros(y.shape, dtype=bool)
        if not (codes | (y == self.classes_[0])).all():
            unknown = y[~(codes | (y == self.classes_[0]))][0]
            raise DataError(f"y holds the label {unknown!r}, which is none of the classes {self.classes_.tolist()}.")
        return codes.view(np.uint8)


class LinearClassifier(BinaryClassifier):
    """A binary classifier that is a linear rule: it sets `coef_` (1, n) and `intercept_` (1,)."""

    coef_: Floats
    intercept_: Floats

    def decision_function(self, X: ArrayLike) -> Floats:
        """X · coef_ + intercept_, shape (s,)."""
        return self._linear_scores(self._check_rows(X))

    def _linear_scores(self, rows: Any) -> Floats:
        if sparse.issparse(rows):
            scores: Floats = rows @ self.coef_[0] + self.intercept_[0]
            return scores
        return linear_scores(rows, self.coef_[0], self.intercept_[0])

    def _set_rule(self, coefficients: Floats, intercept: float) -> Self:
        self.coef_ = np.asarray(coefficients, dtype=np.float64).reshape(1, -1)
        self.intercept_ = np.array([intercept], dtype=np.float64)
        return self


def class_probabilities(log_odds: Floats, n_classes: int) -> Floats:
    """Columns P(classes_[0] | x), P(classes_[1] | x) from log-odds; one column of ones for one class."""
    if n_classes == 1:
        return np.ones((log_odds.size, 1))
    return np.column_stack([expit(-log_odds), expit(log_odds)])


def checked_weights(sample_weight: ArrayLike | None, n_samples: int) -> Floats:
    """Sample weights as floats, ones when there are none."""
    if sample_weight is None:
        return np.ones(n_samples)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_samples,):
        raise DataError(f"sample_weight must have shape ({n_samples},), one for each row; got {weights.shape}.")
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.sum() == 0:
        raise DataError("sample_weight must be finite, not negative, and not zero for every row.")
    return weights


def dense(learner: object, X: Any) -> Any:
    """Return X as an array; sparse input beyond a memory bound is refused."""
    if not sparse.issparse(X):
        return X
    n_samples, n_features = np.shape(X)
    if n_samples * n_features > DENSE_LIMIT:
        raise DataError(
            f"{type(learner).__name__} makes sparse input dense, which would take {n_samples} × {n_features} bytes, "
            f"beyond its limit of {DENSE_LIMIT}; drop rare features or use Winnow, Perceptron or NaiveBayes."
        )
    return np.ascontiguousarray(sparse.csr_matrix(X).toarray(), dtype=np.uint8)


def _two_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Sorted labels, one or two."""
    if y.dtype.kind in "bu" and y.size and y.max() <= 1:
        low, high = y.min(), y.max()
        return np.array([low]) if low == high else np.array([low, high])
    check_classification_targets(y)
    classes = np.unique(y)
    if classes.size > 2:
        raise DataError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"y holds {classes.size} classes, {classes[:3].tolist()} among them."
        )
    return classes


def _numeric(X: NDArray[Any]) -> NDArray[Any]:
    """X as an array of numbers; objects are converted."""
    if X.dtype.kind in "biuf":
        return X
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported: X must hold 0 and 1.")
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"X must hold 0 and 1; {error}.") from None


def _threshold(X: NDArray[Any], threshold: float) -> NDArray[Any]:
    """1 where X exceeds the threshold; missing stays missing."""
    if not _has_missing(X):
        return X > threshold
    return np.where(np.isnan(X), np.nan, X > threshold)


def _has_missing(X: NDArray[Any]) -> bool:
    return X.dtype.kind == "f" and bool(np.isnan(X).any())


def _refuse_other_values(learner: BinaryClassifier, X: NDArray[Any]) -> None:
    """Raise on the first column that holds anything but 0, 1 or, where it is allowed, NaN."""
    if X.dtype == np.uint8 and X.max(initial=0) <= 1:
        return
    good = (X == 0) | (X == 1)
    if X.dtype.kind == "f":
        good |= np.isnan(X)
    if good.all():
        return
    column = int(np.argmin(good.all(axis=0)))
    row = int(np.argmin(good[:, column]))
    raise DataError(_bad_value(learner, X[row, column], row, column))


def _sparse_bits(learner: BinaryClassifier, X: Any) -> Any:
    """CSR matrix of stored ones."""
    if learner.binarize is not None and learner.binarize < 0:
        raise DataError(f"binarize={learner.binarize} would turn the zeros of sparse X into ones; use X.toarray().")
    values = _numeric(X.data)
    stored = values > learner.binarize if learner.binarize is not None else values != 0
    if learner.binarize is None and not (values[stored] == 1).all():
        position = int(np.argmax(stored & (values != 1)))
        row = int(np.searchsorted(X.indptr, position, side="right")) - 1
        raise DataError(_bad_value(learner, values[position], row, int(X.indices[position])))
    bits = sparse.csr_matrix((stored.astype(np.uint8), X.indices, X.indptr), shape=X.shape, copy=True)
    bits.sum_duplicates()
    bits.eliminate_zeros()
    return bits


def _bad_value(learner: BinaryClassifier, value: Any, row: int, column: int) -> str:
    name = learner.feature_names_in_[column] if hasattr(learner, "feature_names_in_") else column
    return (
        f"X must hold 0 and 1 only; column {name!r} has {value} in row {row}. "
        f"Pass binarize=threshold to {type(learner).__name__} to turn values above a threshold into 1."
    )
