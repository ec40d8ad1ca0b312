"""Checks that turn what users bring into what learners take: 0/1 rows, two classes, weights."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from ciabench.arrays import Bits, Floats
from ciabench.errors import DataError

DENSE_LIMIT = 2 * 1024**3
"""Bytes that a learner may take for dense copies of sparse input and for a matrix of its attributes."""


NO_TARGET = "no_validation"
"""What scikit-learn is given for y where there is none."""


def are_plain(X: Any, y: Any) -> bool:
    """Whether X is a matrix of bytes, and y, where it is an array, one byte a row: only their values need a look."""
    if type(X) is not np.ndarray or X.dtype != np.uint8 or X.ndim != 2 or not X.size:
        return False
    return (isinstance(y, str) and y == NO_TARGET) or (
        type(y) is np.ndarray and y.dtype == np.uint8 and y.shape == X.shape[:1]
    )


def zero_one(learner: Any, X: Any) -> Any:
    """X as bytes, or floats where it has missing values; thresholded first if the learner's `binarize` says so."""
    if sparse.issparse(X):
        return _sparse_bits(learner, X)
    X = _numeric(X)
    if learner.binarize is not None:
        X = _threshold(X, learner.binarize)
    if X.dtype.kind == "b":
        return np.ascontiguousarray(X).view(np.uint8)
    _refuse_other_values(learner, X)
    return X if _has_missing(X) else np.ascontiguousarray(X, dtype=np.uint8)


def encoded(y: NDArray[Any], classes: NDArray[Any]) -> Bits:
    """Positions of the labels in `classes`."""
    codes = y == classes[-1] if classes.size == 2 else np.zeros(y.shape, dtype=bool)
    known = codes | (y == classes[0])
    if not known.all():
        unknown = y[~known].tolist()[0]
        raise DataError(f"y holds the label {unknown!r}, which is none of the classes {classes.tolist()}.")
    return codes.view(np.uint8)


def with_target(rows: Any, codes: NDArray[np.uint8]) -> Any:
    """Rows (y, x)."""
    if sparse.issparse(rows):
        blocks: Any = [sparse.csr_matrix(codes[:, None]), rows]
        return sparse.hstack(blocks, format="csr")
    return np.column_stack([codes, rows])


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
    matrix: Any = X
    n_samples, n_features = matrix.shape
    needed = 8 * n_features * (n_samples + n_features)
    if needed > DENSE_LIMIT:
        raise DataError(
            f"{type(learner).__name__} makes sparse input of {n_samples} × {n_features} dense, which would take "
            f"{needed / 2**30:.1f} GiB, beyond its limit of {DENSE_LIMIT / 2**30:.0f}; drop rare features or use EM, "
            "Winnow, Perceptron or NaiveBayes."
        )
    return np.ascontiguousarray(matrix.toarray(), dtype=np.uint8)


def two_classes(y: NDArray[Any]) -> NDArray[Any]:
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


def first_classes(y: NDArray[Any], named: NDArray[Any] | None) -> NDArray[Any]:
    """Classes of a first `partial_fit`: as named, or both of them in y."""
    classes = two_classes(y) if named is None else named
    if named is None and classes.size == 1:
        raise DataError(f"y shows only the class {classes[0]!r}; the first call to partial_fit then needs `classes`.")
    return classes


def _numeric(X: NDArray[Any]) -> NDArray[Any]:
    """X as an array of numbers; objects are converted."""
    if X.dtype.kind in "biuf":
        return X
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported: X must hold 0 and 1.")
    try:
        return X.astype(np.float64)
    except ValueError as error:
        raise DataError(f"X must hold 0 and 1; {error}.") from None


def _threshold(X: NDArray[Any], threshold: float) -> NDArray[Any]:
    """1 where X exceeds the threshold; missing stays missing."""
    if not _has_missing(X):
        return X > threshold
    return np.where(np.isnan(X), np.nan, X > threshold)


def _has_missing(X: NDArray[Any]) -> bool:
    return X.dtype.kind == "f" and bool(np.isnan(X).any())


def _refuse_other_values(learner: Any, X: NDArray[Any]) -> None:
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


def _sparse_bits(learner: Any, X: Any) -> Any:
    """CSR matrix of stored ones."""
    if learner.binarize is not None and learner.binarize < 0:
        raise DataError(f"binarize={learner.binarize} would turn the zeros of sparse X into ones; use X.toarray().")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    values = _numeric(X.data)
    stored = values > learner.binarize if learner.binarize is not None else values != 0
    if learner.binarize is None and not (values[stored] == 1).all():
        position = int(np.argmax(stored & (values != 1)))
        row = int(np.searchsorted(X.indptr, position, side="right")) - 1
        raise DataError(_bad_value(learner, values[position], row, int(X.indices[position])))
    bits = sparse.csr_matrix((stored.astype(np.uint8), X.indices, X.indptr), shape=X.shape, copy=True)
    bits.eliminate_zeros()
    return bits


def _bad_value(learner: Any, value: Any, row: int, column: int) -> str:
    name = learner.feature_names_in_[column] if hasattr(learner, "feature_names_in_") else column
    return (
        f"X must hold 0 and 1 only; column {name!r} has {value} in row {row}. "
        f"Pass binarize=threshold to {type(learner).__name__} to turn values above a threshold into 1."
    )
