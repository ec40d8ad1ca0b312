"""What the columns of a table are, and how a new table is brought to the columns of training.

A column is *binary* (bool, 0/1, or any two values), *categorical* (text, pandas categories, or at most ten whole
numbers) or *numeric* (any other numbers). Cells may be missing: None, NaN, pandas' NA. The two levels of a 0/1 column
are known even if a sample shows only one; other levels are those seen in training, and a new one counts as missing.
"""

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Coded, Floats
from ciabench.cells import Cells, cells_of, plain_number
from ciabench.errors import DataError, LevelWarning, ParameterError

KINDS = ("binary", "categorical", "numeric")

MOST_WHOLE_NUMBERS = 10
"""Whole numbers with more distinct values than this are numeric."""

GLANCE = 1000
"""Rows from which many distinct values are recognised without sorting all."""

FIXED_KINDS = "ciabench_kinds"
"""Key of `DataFrame.attrs` with kinds by name that hold for any rows of a table, as `Columns.fixed` sets it."""

MOST_LEVELS = 2**16 - 2
"""Most levels of a column, so that codes fit into two bytes."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : hashable
        Its name, or its position in a table without names.
    kind : {"binary", "categorical", "numeric"}
    levels : tuple
        Values of a binary or categorical column in their order.
    """

    name: Hashable
    kind: str
    levels: tuple[Any, ...] = ()

    @property
    def is_numeric(self) -> bool:
        """Whether it holds numbers rather than levels."""
        return self.kind == "numeric"

    @property
    def is_bit(self) -> bool:
        """Whether its levels are 0 and 1, or False and True."""
        return self.levels == (0, 1)


@dataclass(frozen=True)
class Columns:
    """The columns of a training table.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [31.5, 40, None, 25], "paid": ["yes", "no", "no", "yes"], "rate": [1, 5, 3, 1]})
    >>> columns = Columns.of(table)
    >>> columns.kinds
    {'age': 'numeric', 'paid': 'binary', 'rate': 'categorical'}
    >>> coded = columns.coded(table)
    >>> coded.codes.tolist(), coded.n_levels.tolist(), coded.numbers.ravel().tolist()
    ([[1, 0], [0, 2], [0, 1], [1, 0]], [2, 3], [31.5, 40.0, nan, 25.0])
    """

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, table: Any, kinds: str | Mapping[Any, str] | None = None) -> "Columns":
        """Columns of a DataFrame or array (s, n); `kinds` overrides what is inferred, for all or by name."""
        names = [name for name, _ in _each(table)]
        chosen = {**_fixed_kinds(table, names), **_chosen_kinds(kinds, names)}
        found = []
        for name, values in _each(table):
            found.append(_column(name, cells_of(name, values), chosen.get(name)))
        return cls(tuple(found))

    @property
    def kinds(self) -> dict[Any, str]:
        """Kind of every column by name."""
        return {column.name: column.kind for column in self.columns}

    @property
    def discrete(self) -> tuple[Column, ...]:
        """The binary and categorical columns."""
        return tuple(column for column in self.columns if not column.is_numeric)

    @property
    def numeric(self) -> tuple[Column, ...]:
        """The numeric columns."""
        return tuple(column for column in self.columns if column.is_numeric)

    @property
    def are_binary(self) -> bool:
        """Whether every column has two levels."""
        return all(len(column.levels) == 2 for column in self.columns)

    @property
    def are_bits(self) -> bool:
        """Whether the levels of every column are 0 and 1."""
        return all(column.is_bit for column in self.columns)

    def coded(self, table: Any) -> Coded:
        """Codes and numbers of a table with these columns in this order; unseen levels are missing, with a warning."""
        n_rows, discrete = len(table), self.discrete
        n_levels = np.array([max(1, len(column.levels)) for column in discrete], dtype=np.int64)
        codes = np.empty((n_rows, len(discrete)), dtype=np.uint8 if n_levels.max(initial=0) < 255 else np.uint16)
        numbers, unseen = np.empty((n_rows, len(self.columns) - len(discrete))), []
        next_code = next_number = 0
        for column, (_, values) in zip(self.columns, _each(table), strict=True):
            cells = cells_of(column.name, values)
            if column.is_numeric:
                numbers[:, next_number] = _numbers(column.name, cells)
                next_number += 1
            else:
                codes[:, next_code], strange = _codes(column, cells, int(n_levels[next_code]))
                unseen += [f"{column.name!r} (such as {strange[0]!r})"] if strange and column.levels else []
                next_code += 1
        if unseen:
            text = f"levels that training did not have count as missing, in column {', '.join(unseen)}."
            warnings.warn(text, LevelWarning, stacklevel=4)
        return Coded(codes, n_levels, numbers)

    def decoded(self, table: Coded) -> Any:
        """DataFrame of a coded table, as these columns show it; missing cells are None or NaN."""
        import pandas as pd

        codes, numbers, found = iter(np.asarray(table.codes).T), iter(table.numbers.T), {}
        for column in self.columns:
            if column.is_numeric:
                found[column.name] = next(numbers)
            else:
                levels = np.array([*column.levels, None], dtype=object)
                found[column.name] = pd.Series(levels[np.minimum(next(codes), len(column.levels))]).infer_objects()
        return pd.DataFrame(found)

    def fixed(self, table: Any) -> Any:
        """The table as a DataFrame of which any rows have the same kinds: categories, or floats for numbers and bits.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": range(20), "town": ["Bath", "York"] * 10})
        >>> first = Columns.of(table).fixed(table)[:3]
        >>> Columns.of(table[:3]).kinds, Columns.of(first).kinds
        ({'age': 'categorical', 'town': 'binary'}, {'age': 'numeric', 'town': 'binary'})
        """
        import pandas as pd

        coded, found = self.coded(table), {}
        codes, numbers = iter(coded.codes.T), iter(coded.numbers.T)
        for column in self.columns:
            if column.is_numeric:
                found[column.name] = next(numbers)
            elif column.is_bit:
                found[column.name] = np.array([0.0, 1.0, np.nan])[next(codes)]
            else:
                positions = next(codes).astype(np.intp)
                positions[positions >= len(column.levels)] = -1
                found[column.name] = pd.Categorical.from_codes(positions, pd.Index(column.levels))
        frame = pd.DataFrame(found, index=table.index)
        frame.attrs[FIXED_KINDS] = {column.name: column.kind for column in self.numeric}
        return frame


def as_table(X: Any) -> Any:
    """A DataFrame for anything that is one or has `to_pandas()`, with unique names; otherwise X itself."""
    if is_frame(X):
        table = X
    elif hasattr(X, "to_pandas"):
        table = X.to_pandas()
    else:
        return X
    if table.columns.has_duplicates:
        twice = table.columns[table.columns.duplicated()][0]
        raise DataError(f"X has more than one column {twice!r}; names must be unique.")
    return table


def is_frame(table: Any) -> bool:
    """Whether a table is a DataFrame of pandas."""
    return hasattr(table, "iloc") and hasattr(table, "columns")


def is_mixed(table: Any) -> bool:
    """Whether a table is a DataFrame with a column that does not hold numbers: its columns are matched by name."""
    return is_frame(table) and any(dtype.kind not in "biuf" for dtype in table.dtypes)


def in_order(table: Any, names: Sequence[Any]) -> Any:
    """The columns of a DataFrame in the order of training."""
    places = {name: place for place, name in enumerate(table.columns)}
    lacking = [name for name in names if name not in places]
    if lacking:
        raise DataError(f"X lacks the column {lacking[0]!r}, which it had in training.")
    extra = places.keys() - set(names)
    if extra:
        first = min(extra, key=places.__getitem__)
        raise DataError(f"X has a column {first!r} that it did not have in training; leave it out.")
    return table.iloc[:, [places[name] for name in names]]


def _each(table: Any) -> Iterator[tuple[Any, Any]]:
    """Names and values of the columns; those of an array have numbers for names."""
    if is_frame(table):
        yield from table.items()
    else:
        yield from enumerate(table.T)


def _chosen_kinds(kinds: Any, names: list[Any]) -> dict[Any, str]:
    """Kinds by name, as chosen by the user."""
    chosen = dict.fromkeys(names, kinds) if isinstance(kinds, str) else kinds or {}
    if not isinstance(chosen, Mapping) or not all(kind in KINDS for kind in chosen.values()):
        raise ParameterError(f"kinds must be one of {', '.join(KINDS)}, or name one for a column; got {kinds!r}.")
    for name in chosen.keys() - set(names):
        raise ParameterError(f"kinds names the column {name!r}, which X does not have.")
    return dict(chosen)


def _fixed_kinds(table: Any, names: list[Any]) -> dict[Any, str]:
    """Kinds that `Columns.fixed` found on the whole table; a file may say anything in their place."""
    fixed = getattr(table, "attrs", {}).get(FIXED_KINDS)
    return {name: "numeric" for name in names if isinstance(fixed, Mapping) and fixed.get(name) == "numeric"}


def _column(name: Any, cells: Cells, kind: str | None) -> Column:
    """Column of the kind that is asked for, or else inferred from its cells."""
    if cells.numbers is not None:
        observed = cells.numbers[~np.isnan(cells.numbers)]
        varies = observed.size > 0 and observed.min() < observed.max()
        if varies and (kind == "numeric" or (kind is None and _is_numeric(observed))):
            return Column(name, "numeric")
        distinct, kind = np.unique(observed), None if kind == "numeric" else kind
        levels = (0, 1) if distinct.size and np.isin(distinct, (0, 1)).all() else tuple(map(plain_number, distinct))
        levels = (False, True) if cells.is_bool else levels
    elif kind == "numeric" and cells.levels:
        raise DataError(f"column {name!r} cannot be numeric: it has {cells.levels[0]!r}.")
    else:
        levels, kind = cells.levels, None if kind == "numeric" else kind
    if kind == "binary" and len(levels) > 2:
        raise DataError(f"column {name!r} cannot be binary: it has {len(levels)} levels.")
    if len(levels) > MOST_LEVELS:
        raise DataError(f"column {name!r} has {len(levels)} levels; at most {MOST_LEVELS} are possible.")
    return Column(name, kind or ("binary" if len(levels) == 2 else "categorical"), levels)


def _is_numeric(observed: Floats) -> bool:
    """Whether numbers are too many, or not whole, to be levels; one or two values are levels in any case."""
    glance = np.unique(observed[:GLANCE])
    if glance.size > MOST_WHOLE_NUMBERS:
        return True
    distinct = np.unique(observed)
    return distinct.size > MOST_WHOLE_NUMBERS or (distinct.size > 2 and bool((distinct % 1 != 0).any()))


def _numbers(name: Any, cells: Cells) -> Floats:
    if cells.numbers is None and cells.levels:
        raise DataError(f"column {name!r} was numeric in training and now has {cells.levels[0]!r}.")
    if cells.numbers is not None:
        return cells.numbers
    assert cells.positions is not None
    return np.full(cells.positions.size, np.nan)


def _codes(column: Column, cells: Cells, missing: int) -> tuple[NDArray[Any], list[Any]]:
    """Codes of the cells, and levels among them that training did not have."""
    known = {level: code for code, level in enumerate(column.levels)}
    if cells.numbers is None:
        assert cells.positions is not None
        table = np.array([*(known.get(level, missing) for level in cells.levels), missing], dtype=np.intp)
        return table[cells.positions], [level for level in cells.levels if level not in known]
    if not column.levels:
        return np.full(cells.numbers.size, missing), []
    if column.is_bit:
        codes = np.where(cells.numbers == 1, 1, np.where(cells.numbers == 0, 0, missing))
        strange = cells.numbers[(codes == missing) & ~np.isnan(cells.numbers)][:1]
        return codes, [plain_number(value) for value in strange]
    numbers = np.array([level if isinstance(level, Number) else np.nan for level in column.levels], dtype=np.float64)
    order = np.argsort(numbers)  # NaN, which stands for text, comes last and equals nothing
    places = np.minimum(np.searchsorted(numbers[order], cells.numbers), numbers.size - 1)
    is_known = numbers[order][places] == cells.numbers
    strange = cells.numbers[~is_known & ~np.isnan(cells.numbers)][:1]
    return np.where(is_known, order[places], missing), [plain_number(value) for value in strange]
