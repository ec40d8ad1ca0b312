"""A person's table as it is meant: columns that cannot help, or tell too much, are named and left out."""

import re
import shlex
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ciabench.cells import are_cells
from ciabench.columns import Columns, as_table, is_frame
from ciabench.errors import DataError, TableWarning
from ciabench.lab.plan.registry import close_match
from ciabench.world.table import TableByRow
from ciabench.world.table_file import file_name, read_table
from ciabench.world.table_parts import are_measured, has_dates, shown_names

TEST_SHARE = 1 / 3

MOST_CLASSES = 50
MOST_LEVELS = 255
"""Levels that gradient boosting in scikit-learn takes."""

FEW_LEVELS = 10
"""Text with up to so many levels is never taken for one value per row."""

LEAST_PRESENT = 0.05

IDENTIFIER = re.compile(r"(^|[^a-z])(id|index|idx|key|nr|uuid|guid|unnamed: 0)$|[a-z]I[Dd]$")


class LeftOut(NamedTuple):
    """A column that is left out, and why."""

    column: str
    reason: str


@dataclass(frozen=True)
class Reading:
    """A table as it is read.

    Parameters
    ----------
    world : TableByRow
        Its rows with fixed kinds, as a world of splits.
    target : str
        Column of the labels.
    left_out : list of LeftOut
        Columns that are left out.
    notes : list of str
        What else has to be known about it, in sentences.
    n_missing : int
        Missing cells of the columns that are kept.
    """

    world: TableByRow
    target: str
    left_out: list[LeftOut]
    notes: list[str]
    n_missing: int

    @property
    def kinds(self) -> list[str]:
        """Kinds of the columns that are kept."""
        return list(Columns.of(self.world.attributes).kinds.values())

    @property
    def frame(self) -> pd.DataFrame:
        """The columns that are kept and, as the last one, the target as categories."""
        attributes: pd.DataFrame = self.world.attributes
        return attributes.assign(**{self.target: pd.Categorical(self.world.labels)})


def as_meant(
    table: Any, target: str, keep: Sequence[str] = (), leave_out: Sequence[str] = (), name: str | None = None
) -> Reading:
    """Read a DataFrame or file, and leave out the columns that cannot help or tell too much.

    Parameters
    ----------
    table : DataFrame or path
        The file may be CSV, TSV or Parquet.
    target : str
        Column of the labels.
    keep, leave_out : sequence of str
        Columns that are kept or left out in any case.
    name : str, optional
        Name of the table (default: the file's).

    Examples
    --------
    >>> people = pd.DataFrame({"id": range(20), "age": np.arange(20) % 7 + 0.5, "paid": ["no", "yes"] * 10})
    >>> reading = as_meant(people, "paid")
    >>> reading.left_out, list(reading.world.attributes)
    ([LeftOut(column='id', reason='identifier: whole numbers, all different')], ['age'])
    """
    place = f"{table}: " if isinstance(table, str | Path) else ""
    frame = read_table(table) if place else _frame(table)
    try:
        _check_names(frame, target, [*keep, *leave_out])
        _check_kept(frame, keep)
        labelled = frame[frame[target].notna()]
        _check_classes(target, labelled[target])
        found = list(_left_out(labelled, target, keep, leave_out))
        kept = frame.drop(columns=[one.column for one in found])
        if kept.shape[1] == 1:
            reasons = "; ".join(f"{one.column!r} is left out: {one.reason}" for one in found)
            raise DataError(f"there is no column beside the target{f' ({reasons})' if reasons else ''}.")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            name = name or (file_name(table) if place else "table")
            world = TableByRow(kept, target=target, name=name, test_share=TEST_SHARE)
    except DataError as error:
        raise type(error)(f"{place}{error}") from error
    notes = [str(one.message).removeprefix(f"{name}: ") for one in caught if issubclass(one.category, TableWarning)]
    notes += [_suspicion(column) for column in world.attributes if _tells_all(world.attributes[column], world.labels)]
    return Reading(world, target, found, notes, int(world.attributes.isna().to_numpy().sum()))


def _frame(table: Any) -> pd.DataFrame:
    """The table as a DataFrame whose columns have texts for names."""
    frame = as_table(table)
    if not is_frame(frame):
        raise DataError(f"advise takes a DataFrame, or the path of a file; got a {type(table).__name__}.")
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError("the columns of the table have several levels of names; give each a single name.")
    named = frame.set_axis([str(column) for column in frame.columns], axis=1).reset_index(drop=True)
    return pd.DataFrame(as_table(named))


def _check_names(frame: pd.DataFrame, target: str, others: Sequence[str]) -> None:
    """Raise if there are no rows, or a column that is named does not exist."""
    for name in (target, *others):
        if name not in frame.columns:
            guess = close_match(str(name), frame.columns)
            raise DataError(f"there is no column {name!r}{guess}; there are {shown_names(frame)}.")
    if target in others:
        raise DataError(f"{target!r} is the target; it is neither kept nor left out as an attribute.")
    if len(frame) < 2:
        raise DataError("there is only one row." if len(frame) else "there are no rows.")


def _check_kept(frame: pd.DataFrame, keep: Sequence[str]) -> None:
    """Raise if a column of dates is to be kept."""
    for name in keep:
        if has_dates(frame[name]):
            raise DataError(f"{name!r} has dates, which learners cannot use; to keep it, turn them into numbers.")


def _check_classes(target: str, labels: "pd.Series[Any]") -> None:
    """Raise if the labels are no classes, or all the same."""
    if labels.dtype.kind == "O" and not are_cells(labels):
        raise DataError(f"the target {target!r} must hold text, numbers or booleans.")
    n_classes = labels.nunique()
    if n_classes < 2:
        found = f"has one class only, {labels.iloc[0]!r}" if n_classes else "has no values"
        raise DataError(f"the target {target!r} {found}; advice needs two classes.")
    if n_classes > MOST_CLASSES or are_measured(set(labels.tolist())):
        kind = "numbers" if pd.api.types.is_numeric_dtype(labels) else "values"
        what = "name a column of classes, or cut its range into classes" if kind == "numbers" else "merge rare ones"
        raise DataError(
            f"the target {target!r} has {n_classes} different {kind}, and advice is about at most {MOST_CLASSES} "
            f"classes; {what}."
        )


def _left_out(frame: pd.DataFrame, target: str, keep: Sequence[str], leave_out: Sequence[str]) -> Iterator[LeftOut]:
    """Columns that are left out, in their order."""
    for column in frame.columns.drop(target):
        if column in leave_out:
            yield LeftOut(column, "as you asked")
        elif column not in keep and (reason := _reason(column, frame[column], frame[target])):
            yield LeftOut(column, reason)


def _reason(name: str, column: "pd.Series[Any]", labels: "pd.Series[Any]") -> str | None:
    """Reason to leave a column out, if there is one."""
    if column.dtype.kind == "O" and not are_cells(column):
        return "neither text nor numbers"
    present = column.dropna()
    n_distinct = present.nunique()
    if n_distinct == 0:
        return "empty"
    if n_distinct == 1:
        return "constant" if present.size == column.size else "one value only, or missing"
    if present.size < LEAST_PRESENT * column.size:
        return f"{1 - present.size / column.size:.1%} missing"
    if has_dates(column):
        return "dates"
    if _is_copy(column, labels):
        return "copy of the target"
    return _of_numbers(name, present) if pd.api.types.is_numeric_dtype(present) else _of_texts(present, n_distinct)


def _of_numbers(name: str, present: "pd.Series[Any]") -> str | None:
    """Reason to leave numbers out: whole ones, all different, that are a run, in order, or have the name of a key."""
    if not present.is_unique or present.dtype.kind not in "iuf" or present.size <= FEW_LEVELS:
        return None
    numbers = present.to_numpy(dtype=np.float64)
    if (numbers % 1 != 0).any():
        return None
    is_run = numbers.max() - numbers.min() < 2 * numbers.size
    if is_run or (np.diff(numbers) > 0).all() or IDENTIFIER.search(name) or IDENTIFIER.search(name.lower()):
        return "identifier: whole numbers, all different"
    return None


def _of_texts(present: "pd.Series[Any]", n_distinct: int) -> str | None:
    """Reason to leave text out: almost one value per row, or too many levels."""
    if n_distinct == present.size and n_distinct > FEW_LEVELS:
        return "one value per row"
    if n_distinct > max(FEW_LEVELS, present.size / 2):
        return f"almost one value per row: {n_distinct:,} different ones in {present.size:,} rows"
    return f"{n_distinct:,} levels, more than {MOST_LEVELS}" if n_distinct > MOST_LEVELS else None


def _is_copy(column: "pd.Series[Any]", labels: "pd.Series[Any]") -> bool:
    """Whether each value of a column goes with one class, and each class with one value."""
    n_classes = labels.nunique()
    if column.nunique() != n_classes:
        return False
    pairs = pd.DataFrame({"value": column, "label": labels}).dropna()
    return pairs["label"].nunique() == n_classes == len(pairs.drop_duplicates())


def _tells_all(column: "pd.Series[Any]", labels: NDArray[Any]) -> bool:
    """Whether a column alone tells the class of every row: by its levels, or by cuts between classes."""
    is_present = column.notna().to_numpy()
    if not is_present.all():
        return False
    if column.dtype.name == "category":
        pairs = pd.DataFrame({"value": column.cat.codes.to_numpy(), "label": labels}).drop_duplicates()
        return column.nunique() < column.size / FEW_LEVELS and len(pairs) == column.nunique()
    order = np.argsort(column.to_numpy(), kind="stable")
    values, classes = column.to_numpy()[order], labels[order]
    changes = classes[1:] != classes[:-1]
    n_classes = np.unique(labels).size
    return bool(changes.sum() == n_classes - 1 and (values[1:][changes] > values[:-1][changes]).all())


def _suspicion(column: str) -> str:
    return (
        f"{column!r} alone tells the class of every row; if it is not known before the target is, leave it out "
        f"(--leave-out {shlex.quote(column)})."
    )
