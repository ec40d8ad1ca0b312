"""Tables that users pass to estimators: scikit-learn's checks of shape and names, then those of every column."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ciabench.arrays import Coded
from ciabench.columns import Columns, as_table, in_order, is_frame, is_mixed
from ciabench.errors import DataError


def training_table(estimator: Any, X: Any, kinds: Any) -> Coded:
    """Codes of the table of `fit`; sets `columns_`, `kinds_`, `n_features_in_` and `feature_names_in_`."""
    table = _checked(estimator, as_table(X), reset=True)
    estimator.columns_ = Columns.of(table, kinds)
    estimator.kinds_ = estimator.columns_.kinds
    empty = [column.name for column in estimator.columns_.discrete if not column.levels]
    if empty:
        warnings.warn(f"column {empty[0]!r} has no values and is ignored.", UserWarning, stacklevel=4)
    coded: Coded = estimator.columns_.coded(table)
    return coded


def next_table(estimator: Any, X: Any) -> Coded:
    """Codes of a table that a fitted estimator is asked about, brought to the columns of training.

    The columns of a DataFrame are matched by name. If all of them hold numbers, scikit-learn's rule applies: another
    order than in training is an error.
    """
    table = as_table(X)
    if is_mixed(table):
        table = in_order(table, [column.name for column in estimator.columns_.columns])
    coded: Coded = estimator.columns_.coded(_checked(estimator, table, reset=False))
    return coded


def _checked(estimator: Any, table: Any, *, reset: bool) -> Any:
    """A DataFrame as it is, anything else as an array (s, n); raise if it has no rows or columns."""
    if not is_frame(table):
        return validate_data(estimator, table, reset=reset, dtype=None, ensure_all_finite=False)
    validate_data(estimator, table, reset=reset, skip_check_array=True)
    for size, what in zip(table.shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise DataError(f"Found array with 0 {what}(s) (shape={table.shape}) while a minimum of 1 is required.")
    return table


def as_floats(coded: Coded) -> Any:
    """Rows of a table of binary columns: bytes if all cells are observed, otherwise floats with NaN."""
    is_missing = coded.codes == 2
    return np.where(is_missing, np.nan, coded.codes) if is_missing.any() else coded.codes.astype(np.uint8, copy=False)
