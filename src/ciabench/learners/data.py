"""Checks of the data that users pass to learners: rows of 0/1, two classes, sample weights, starts."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ciabench.arrays import Bits, Coded, Floats
from ciabench.errors import DataError, ParameterError
from ciabench.probability.product import Parameters

DENSE_LIMIT = 2 * 1024**3
"""Most bytes that a learner may use for a dense copy of sparse input and a matrix of its attributes."""

MOST_WEIGHT = 1e304
"""Largest sum of sample weights: log-likelihoods are thousands of times as large."""

ROUNDING = 1e-6
"""How far the weights of a start may be from a sum of 1."""

ENCODE = "put ciabench.BitEncoder before it in a pipeline"

NO_TARGET = "no_validation"
"""Passed to scikit-learn as y where there is none."""


def are_plain(X: Any, y: Any) -> bool:
    """Whether X is a matrix of bytes and y, if given, an array of one byte per row: only their values need a check."""
    if type(X) is not np.ndarray or X.dtype != np.uint8 or X.ndim != 2 or not X.size:
        return False
    return (isinstance(y, str) and y == NO_TARGET) or (
        type(y) is np.ndarray and y.dtype == np.uint8 and y.shape == X.shape[:1]
    )


def zero_one(learner: Any, X: Any) -> Any:
    """X as bytes, or floats if values are missing; thresholded first if the learner's `binarize` is not None."""
    _check_threshold(learner.binarize)
    if sparse.issparse(X):
        return _sparse_bits(learner, X)
    X = _numeric(learner, X)
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
        raise DataError(f"y contains the label {unknown!r}, which is not one of the classes {classes.tolist()}.")
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
        raise DataError(f"sample_weight must have shape ({n_samples},), one per row; got {weights.shape}.")
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.max() == 0:
        raise DataError("sample_weight must be finite and not negative, and not zero for all rows.")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total > MOST_WEIGHT:
        raise DataError(f"sample_weight must sum to at most {MOST_WEIGHT:g}; got {total:g}. Divide it by a constant.")
    return weights


def checked_starts(init: Any, n_classes: int | str, n_attributes: int) -> list[tuple[Floats, Floats]]:
    """Starts of one's own as pairs of arrays, weights (k,) and probabilities (a, k); none if `init` is None.

    Examples
    --------
    >>> checked_starts(([0.4, 0.6], [[0.9, 0.1], [0.2, 0.7]]), n_classes=2, n_attributes=2)
    [(array([0.4, 0.6]), array([[0.9, 0.1],
           [0.2, 0.7]]))]
    """
    if init is None:
        return []
    if isinstance(n_classes, str):
        raise ParameterError(f"init fixes the number of classes, but n_classes is {n_classes!r}; give a number.")
    if not isinstance(init, list | tuple) or not init:
        raise ParameterError(f"init must be (weights, probs) or a list of such pairs; got {init!r}.")
    return [_start(pair, n_classes, n_attributes) for pair in (init if isinstance(init, list) else [init])]


def checked_parameters(init: Any, n_classes: int | str, table: Coded, *, full: bool) -> list[Parameters]:
    """Starts of one's own for a table, as `parameters_` of a fitted mixture has them; none if `init` is None."""
    if init is None:
        return []
    if isinstance(n_classes, str):
        raise ParameterError(f"init fixes the number of classes, but n_classes is {n_classes!r}; give a number.")
    starts = init if isinstance(init, list) else [init]
    if not starts or not all(isinstance(start, Parameters) for start in starts):
        raise ParameterError(f"init must be Parameters, such as parameters_ of a fitted mixture; got {init!r}.")
    for start in starts:
        shapes = start.weights.shape, tuple(one.shape for one in start.tables), start.means.shape, start.is_full
        n_numbers = table.numbers.shape[1]
        tables = tuple((levels, n_classes) for levels in table.n_levels.tolist())
        if shapes != ((n_classes,), tables, (n_numbers, n_classes), full and n_numbers > 0):
            raise ParameterError(
                f"init must have {n_classes} classes and the columns of X, with {tables} as shapes of its tables."
            )
    return starts


def _start(pair: Any, n_classes: int, n_attributes: int) -> tuple[Floats, Floats]:
    """Weights and probabilities of one start."""
    try:
        weights, probs = (np.asarray(values, dtype=np.float64) for values in pair)
    except (TypeError, ValueError):
        raise ParameterError(f"init must be (weights, probs) or a list of such pairs; got {pair!r}.") from None
    if weights.shape != (n_classes,) or probs.shape != (n_attributes, n_classes):
        raise ParameterError(
            f"init must hold weights of shape ({n_classes},) and probs of shape ({n_attributes}, {n_classes}), the "
            f"target in row 0; got {weights.shape} and {probs.shape}."
        )
    if not (((weights >= 0) & (weights <= 1)).all() and abs(weights.sum() - 1) < ROUNDING):
        raise ParameterError(f"init must hold weights in [0, 1] that sum to 1; got {weights.tolist()}.")
    if not ((probs >= 0) & (probs <= 1)).all():
        raise ParameterError("init must hold probs in [0, 1].")
    return weights, probs


def dense(learner: object, X: Any) -> Any:
    """Return X as an array; raise if sparse input would need more memory than `DENSE_LIMIT`."""
    if not sparse.issparse(X):
        return X
    matrix: Any = X
    n_samples, n_features = matrix.shape
    needed = 8 * n_features * (n_samples + n_features)
    if needed > DENSE_LIMIT:
        raise DataError(
            f"{type(learner).__name__} makes sparse input of {n_samples} × {n_features} dense, which would take "
            f"{needed / 2**30:.1f} GiB, more than the limit of {DENSE_LIMIT / 2**30:.0f}; drop rare features or use "
            "EM, Winnow, Perceptron or NaiveBayes."
        )
    return np.ascontiguousarray(matrix.toarray(), dtype=np.uint8)


def column_names(learner: Any, names: Sequence[str] | None = None) -> Sequence[str]:
    """Names of a fitted learner's attributes: as given, as in the data frame of `fit`, or x0, x1 and so on."""
    check_is_fitted(learner)
    n_features = learner.n_features_in_
    if names is None:
        return getattr(learner, "feature_names_in_", [f"x{i}" for i in range(n_features)])
    if len(names) != n_features:
        raise DataError(f"feature_names must be {n_features} names, one per attribute; got {len(names)}.")
    return names


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
            f"y holds {classes.size} classes, among them {classes[:3].tolist()}. Use OneVsRestClassifier of "
            "scikit-learn, or EM or NaiveBayes."
        )
    return classes


def first_classes(y: NDArray[Any], named: NDArray[Any] | None) -> NDArray[Any]:
    """Classes of a first `partial_fit`: as named, or those of y if it contains both."""
    classes = two_classes(y) if named is None else named
    if named is None and classes.size == 1:
        raise DataError(
            f"y contains only the class {classes.tolist()[0]!r}; the first call of partial_fit then needs `classes`."
        )
    return classes


def refuse_text_columns(X: Any) -> None:
    """Raise on the first column of a data frame with a value that is not a number."""
    if not (hasattr(X, "dtypes") and hasattr(X, "iloc")):
        return
    for position, (name, dtype) in enumerate(X.dtypes.items()):
        if dtype.kind not in "biuf":
            values = X.iloc[:, position].to_numpy(dtype=object)
            row = _first_text(values, digits_count=dtype.name == "category")
            if row is not None:
                raise DataError(_text(values[row], row, name))


def _first_text(values: NDArray[Any], *, digits_count: bool) -> int | None:
    """Position of the first value that is neither a number nor None; digits such as "1" count as text if asked for."""
    for position, value in enumerate(values):
        if digits_count and isinstance(value, str):
            return position
        try:
            float(np.nan if value is None else value)
        except (TypeError, ValueError):
            return position
    return None


def _numeric(learner: Any, X: NDArray[Any]) -> NDArray[Any]:
    """X as an array of numbers; objects are converted."""
    if X.dtype.kind in "biuf":
        return X
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported: X must hold 0 and 1.")
    try:
        return X.astype(np.float64)
    except ValueError:
        found = ((_first_text(values, digits_count=False), column) for column, values in enumerate(X.T))
        row, column = next((row, column) for row, column in found if row is not None)
        raise DataError(_text(X[row, column], row, _column_name(learner, column))) from None


def _check_threshold(threshold: object) -> None:
    """Refuse True, which would turn 1 into 0, and whatever is not a number."""
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, Real)):
        raise ParameterError(f"binarize must be None or a number, above which values become 1; got {threshold!r}.")


def _threshold(X: NDArray[Any], threshold: float) -> NDArray[Any]:
    """1 where X exceeds the threshold; missing stays missing."""
    if not _has_missing(X):
        return X > threshold
    return np.where(np.isnan(X), np.nan, X > threshold)


def _has_missing(X: NDArray[Any]) -> bool:
    return X.dtype.kind == "f" and bool(np.isnan(X).any())


def _refuse_other_values(learner: Any, X: NDArray[Any]) -> None:
    """Raise on the first column that holds anything but 0, 1 or, if the learner accepts it, NaN."""
    if X.dtype == np.uint8 and X.max(initial=0) <= 1:
        return
    good = (X == 0) | (X == 1)
    if _has_missing(X) and learner.__sklearn_tags__().input_tags.allow_nan:
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
    values = _numeric(learner, X.data)
    stored = values > learner.binarize if learner.binarize is not None else values != 0
    if learner.binarize is None and not (values[stored] == 1).all():
        position = int(np.argmax(stored & (values != 1)))
        row = int(np.searchsorted(X.indptr, position, side="right")) - 1
        raise DataError(_bad_value(learner, values[position], row, int(X.indices[position])))
    bits = sparse.csr_matrix((stored.astype(np.uint8), X.indices, X.indptr), shape=X.shape, copy=True)
    bits.eliminate_zeros()
    return bits


def _column_name(learner: Any, column: int) -> Any:
    return learner.feature_names_in_[column] if hasattr(learner, "feature_names_in_") else column


def _bad_value(learner: Any, value: Any, row: int, column: int) -> str:
    kind = type(learner).__name__
    remedy = f"Pass binarize=threshold to {kind} to turn values above a threshold into 1, or {ENCODE}."
    if np.isnan(value):
        remedy = f"{kind} takes no missing values: {ENCODE}, or use EM or NaiveBayes."
    return f"X must hold 0 and 1 only; column {_column_name(learner, column)!r} has {value} in row {row}. {remedy}"


def _text(value: Any, row: int, column: Any) -> str:
    shown = str(value) if isinstance(value, str) else value
    return (
        f"X must hold 0 and 1 only; column {column!r} has {shown!r} in row {row}. "
        f"Turn the table into columns of 0 and 1 first: {ENCODE}, or use EM or NaiveBayes."
    )
