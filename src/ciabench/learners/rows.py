"""Rows and labels for learners that take any table: bits where all columns are binary, otherwise a coded table."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from ciabench.arrays import Coded, Floats
from ciabench.columns import Column, Columns
from ciabench.errors import DataError
from ciabench.kernels import prepare_kernels
from ciabench.learners.data import NO_TARGET, are_plain, encoded, two_classes, zero_one
from ciabench.tables import as_floats, next_table, training_table


def training_data(learner: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """Rows and label codes of `fit`; sets `classes_`, `columns_` (None for 0/1) and what scikit-learn asks for.

    Rows are bytes, floats with NaN or a CSR matrix of ones where all columns are binary, and otherwise a `Coded`.
    """
    rows, labels = _training_rows(learner, X, y)
    is_byte = labels.dtype.kind in "bu" and labels.max() <= 1
    learner.classes_ = two_classes(labels) if is_byte else np.unique(labels)
    return rows, label_codes(labels, learner.classes_)


def _training_rows(learner: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    prepare_kernels()
    if learner.kinds is None:
        if are_plain(X, y) and X.max() <= 1 and not hasattr(learner, "feature_names_in_"):
            learner.n_features_in_, learner.columns_ = X.shape[1], None
            return X, y
        if sparse.issparse(X) or learner.binarize is not None:
            learner.columns_ = None
            rows, labels = validate_data(learner, X, y, accept_sparse="csr", dtype=None, ensure_all_finite="allow-nan")
            check_classification_targets(labels)
            return zero_one(learner, rows), labels
    elif sparse.issparse(X) or learner.binarize is not None:
        raise DataError("kinds are for tables: leave kinds out for sparse X and with binarize.")
    if y is None:
        validate_data(learner, X, None, dtype=None, ensure_all_finite=False)
    coded = training_table(learner, X, learner.kinds)
    labels = checked_labels(y, coded)
    return (as_floats(coded), labels) if learner.columns_.are_binary else (coded, labels)


def checked_labels(y: Any, coded: Coded) -> NDArray[Any]:
    """Labels (s,), none of them missing, as many as there are rows."""
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    check_consistent_length(coded.codes, labels)
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels


def label_codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Position of every label in `classes`."""
    if classes.size <= 2:
        return encoded(labels, classes)
    codes = np.minimum(np.searchsorted(classes, labels), classes.size - 1)
    is_unknown = classes[codes] != labels
    if is_unknown.any():
        unknown = labels[is_unknown].tolist()[0]
        raise DataError(f"y contains the label {unknown!r}, which is not one of the classes {classes.tolist()}.")
    return codes.astype(np.uint8 if classes.size < 255 else np.uint16)


def next_rows(learner: Any, X: Any) -> Any:
    """Rows that a fitted learner is asked about, in the form of those of training."""
    check_is_fitted(learner)
    prepare_kernels()
    if learner.columns_ is None:
        if (
            are_plain(X, NO_TARGET)
            and X.max() <= 1
            and X.shape[1] == learner.n_features_in_
            and not hasattr(learner, "feature_names_in_")
        ):
            return X
        if sparse.issparse(X) or learner.binarize is not None:
            rows = validate_data(
                learner, X, reset=False, accept_sparse="csr", dtype=None, ensure_all_finite="allow-nan"
            )
            return zero_one(learner, rows)
        return as_floats(next_table(_BitTable(learner), X))
    if sparse.issparse(X):
        raise DataError("sparse X holds bits, and training had other columns; use X.toarray().")
    coded = next_table(learner, X)
    return as_floats(coded) if learner.columns_.are_binary else coded


class _BitTable:
    """A learner trained on bits, as one that was trained on a table of 0/1 columns."""

    def __init__(self, learner: Any) -> None:
        self._learner, self.columns_ = learner, bit_columns(learner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)


def bit_columns(learner: Any) -> Columns:
    """Columns of a learner that was trained on 0/1 data."""
    names = getattr(learner, "feature_names_in_", range(learner.n_features_in_))
    return Columns(tuple(Column(name, "binary", (0, 1)) for name in names))


def as_table_rows(rows: Any) -> Coded:
    """Bits, floats with NaN or a sparse matrix of ones as a coded table."""
    from ciabench.latent.pieces import as_coded

    return as_coded(rows)


def with_label(rows: Any, codes: NDArray[Any], n_classes: int) -> Coded:
    """Table whose first discrete column is the label."""
    table = as_table_rows(rows)
    n_levels = np.append(n_classes, table.n_levels)
    if sparse.issparse(table.codes):
        indicators = sparse.csr_matrix(codes[:, None] == np.arange(1, n_classes), dtype=np.uint8)
        blocks: Any = [indicators, table.codes]
        return Coded(sparse.hstack(blocks, format="csr"), n_levels, table.numbers)
    return Coded(np.column_stack([codes, table.codes]), n_levels, table.numbers)


def softmax(scores: Floats) -> Floats:
    """Probabilities (s, C) from log-probabilities up to a constant."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares
