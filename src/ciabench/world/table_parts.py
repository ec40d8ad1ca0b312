"""The parts of a user's table: labels, attributes, and the columns that rows are split by."""

import re
from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from ciabench.cells import is_small, is_unicode
from ciabench.columns import FIXED_KINDS, MOST_WHOLE_NUMBERS, Columns, as_table
from ciabench.errors import DataError
from ciabench.world.splits import Rows

MOST_CLASSES = 100
"""Whole numbers with more distinct values than this are no labels."""

DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}( .*)?")

SHOWN_COLUMNS = 20

LONGEST_LABEL = 200
"""Most characters of a label: an array of labels has room for the longest one in every row."""


def rows_of(X: Any) -> Any:
    """X as a DataFrame, CSR array or plain array, from which rows can be taken."""
    X = as_table(X)
    if isinstance(X, pd.DataFrame):
        return X
    if sparse.issparse(X):
        return sparse.csr_array(X)
    try:
        rows = np.asarray(X)
    except ValueError:
        raise DataError("the rows of X must have equal lengths.") from None
    if rows.ndim != 2:
        raise DataError(f"X must have shape (rows, columns); its shape is {rows.shape}.")
    return rows


def taken(X: Any, rows: Rows) -> Any:
    """Some rows of a DataFrame or array."""
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def set_aside(rows: Any, names: Sequence[Any], leave_out: Any) -> tuple[Any, Any]:
    """Columns of a table that are named, and the table without these and those of `leave_out`."""
    dropped = list(leave_out) if isinstance(leave_out, list | tuple) else [leave_out]
    named = [name for name in names if name is not None]
    if not [*named, *dropped]:
        return pd.DataFrame(), rows
    if not isinstance(rows, pd.DataFrame):
        raise DataError("only a DataFrame or a file has columns that can be named; X is an array.")
    for name in (*named, *dropped):
        if name not in rows.columns:
            raise DataError(f"there is no column {name!r}; there are {shown_names(rows)}.")
    twice = next((name for place, name in enumerate(named) if name in named[:place] or name in dropped), None)
    if twice is not None:
        raise DataError(
            f"the column {twice!r} is named twice; it can only be one of target, groups, time and left out."
        )
    return rows[named], rows.drop(columns=[*named, *dropped])


def shown_names(table: pd.DataFrame) -> str:
    """Names of the columns, not too many of them."""
    more = ", …" if table.shape[1] > SHOWN_COLUMNS else ""
    return ", ".join(map(str, table.columns[:SHOWN_COLUMNS])) + more


def labels_of(y: Any, n_rows: int, what: str) -> NDArray[Any]:
    """Labels as an array of objects, all of one kind or missing."""
    labels = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if labels.shape != (n_rows,):
        raise DataError(f"{what} must have one label per row of X, {n_rows}; its shape is {labels.shape}.")
    if labels.dtype.kind in "mM":
        raise DataError(f"{what} has dates or times, which are not classes.")
    present = labels[~pd.isna(labels)].tolist()
    _refuse_no_label(present, what)
    if len({type(label) for label in present}) > 1:
        raise DataError(f"{what} must hold labels of one kind, such as only strings or only integers.")
    distinct = set(present)
    if are_measured(distinct):
        raise DataError(f"{what} has {len(distinct)} different numbers; name a column of classes, or make classes.")
    if distinct and all(isinstance(label, float) and label.is_integer() for label in distinct):
        return np.array([None if pd.isna(label) else int(label) for label in labels], dtype=object)
    return labels.astype(object)


def _refuse_no_label(labels: list[Any], what: str) -> None:
    """Raise on the first label that is neither text nor a number, or that an array of labels cannot hold."""
    for kind in set(map(type, labels)):
        if not issubclass(kind, str | Real | np.bool_):
            raise DataError(f"{what} must hold text, numbers or booleans; it has a {kind.__name__}.")
    for label in set(labels):
        if isinstance(label, Real) and not is_small(label):
            raise DataError(f"{what} has a label that is not finite, or too large a number.")
        if isinstance(label, str) and not is_unicode(label):
            raise DataError(f"{what} has the label {label!r}, which is no Unicode text.")
        if isinstance(label, str) and (len(label) > LONGEST_LABEL or label.endswith("\0")):
            problem = "ends with the character NUL" if label.endswith("\0") else f"has {len(label)} characters"
            raise DataError(
                f"{what} has a label that {problem}; labels have at most {LONGEST_LABEL}, none of them NUL."
            )


def are_measured(distinct: set[Any]) -> bool:
    """Whether labels are numbers that measure something: more than ten, and not the codes 0, 1, 2, … of classes."""
    if len(distinct) <= MOST_WHOLE_NUMBERS or not all(isinstance(label, int | float) for label in distinct):
        return False
    has_gaps = max(distinct) - min(distinct) >= len(distinct)
    return len(distinct) > MOST_CLASSES or has_gaps or any(label % 1 for label in distinct)


def attributes(rows: Any, kinds: Any) -> Any:
    """Columns with kinds and levels that are the same in any sample; arrays of numbers remain as they are."""
    if rows.shape[1] == 0:
        raise DataError("there is no column beside the target." if isinstance(rows, pd.DataFrame) else "X is empty.")
    if not isinstance(rows, pd.DataFrame):
        if kinds is None and (sparse.issparse(rows) or rows.dtype.kind in "biuf"):
            return rows
        rows = pd.DataFrame(rows.toarray() if sparse.issparse(rows) else rows).infer_objects()
    for name in rows.columns:
        _refuse_dates(name, rows[name])
    return Columns.of(rows, kinds).fixed(rows)


def groups_of(column: "pd.Series[Any]") -> Rows:
    """Number of the group of every row."""
    _refuse_missing(column, "a group")
    return pd.factorize(column)[0]


def moments_of(column: "pd.Series[Any]") -> Rows:
    """Rank of every row by numbers or dates."""
    _refuse_missing(column, "a time")
    values = column if column.dtype.kind in "iufmM" else _dates(column)
    return np.unique(values.to_numpy(), return_inverse=True)[1]


def described(X: Any) -> Iterator[Any]:
    """Bytes that differ for tables with other columns, kinds, levels or cells."""
    if not isinstance(X, pd.DataFrame):
        columns = X.tocsc() if sparse.issparse(X) else X
        for position in range(X.shape[1]):
            cells = columns[:, [position]]
            yield from _cells(position, None, cells.toarray() if sparse.issparse(cells) else cells)
        return
    for name, column in X.items():
        if column.dtype.name == "category":
            yield repr([str(name), column.cat.categories.tolist()]).encode()
            yield column.cat.codes.to_numpy(dtype=np.int64)
        else:
            yield from _cells(name, X.attrs[FIXED_KINDS].get(name), column.to_numpy())


def _cells(name: Any, kind: str | None, cells: NDArray[Any]) -> Iterator[Any]:
    """Bytes of a column of numbers; there is one zero, and one NaN."""
    yield repr([str(name), kind]).encode()
    numbers = cells.ravel().astype(np.float64) + 0.0
    yield np.where(np.isnan(numbers), np.nan, numbers)


def _dates(column: "pd.Series[Any]") -> "pd.Series[Any]":
    try:
        return pd.to_datetime(column, format="ISO8601", utc=True)
    except (ValueError, TypeError):
        raise DataError(
            f"the column {column.name!r} cannot order the rows: it has neither numbers nor dates such as 2024-12-31."
        ) from None


def _refuse_missing(column: "pd.Series[Any]", what: str) -> None:
    if column.isna().any():
        raise DataError(f"the column {column.name!r} has missing cells; every row needs {what}.")


def has_dates(column: "pd.Series[Any]") -> bool:
    """Whether a column holds dates or times, also if they are text."""
    if column.dtype.kind in "OTU" and column.dtype.name != "category":
        present = column.dropna()
        are_texts = len(present) > 0 and all(isinstance(one, str) for one in present)
        return are_texts and all(DATE.fullmatch(one) for one in present.unique())
    return column.dtype.kind in "mM" or column.dtype.name.startswith("period")


def _refuse_dates(name: Any, column: "pd.Series[Any]") -> None:
    if has_dates(column):
        raise DataError(
            f"column {name!r} has dates; leave it out (leave_out), order the rows by it (time), or turn it into "
            "numbers or categories."
        )
