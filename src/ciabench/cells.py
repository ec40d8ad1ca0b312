"""The cells of one column of any type: numbers with NaN, or positions among levels; what is neither is refused."""

from collections.abc import Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Number, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.errors import CellError, DataError

LARGEST = 1e150
"""Numbers beyond this have no square."""

NEED = f"numbers must be between −{LARGEST:g} and {LARGEST:g}"


class Cells(NamedTuple):
    """The cells of one column: numbers with NaN, or positions in `levels` with −1 where missing."""

    numbers: Floats | None
    positions: NDArray[np.intp] | None
    levels: tuple[Any, ...]
    is_bool: bool = False


def cells_of(name: Any, values: Any) -> Cells:
    """Cells of a Series or array of any type."""
    dtype = values.dtype
    if dtype.name == "category":
        return _of_categories(name, values)
    if dtype.kind == "b" or dtype.name == "boolean":
        return Cells(_floats(values), None, (), is_bool=True)
    if dtype.kind in "iuf":
        return Cells(_finite(name, _floats(values)), None, ())
    if dtype.kind == "c":
        raise DataError(f"Complex data not supported: column {name!r} has complex numbers.")
    if dtype.kind in "mM" or dtype.name.startswith("period"):
        raise DataError(f"column {name!r} has dates or times; turn it into numbers or categories first.")
    return _of_objects(name, np.asarray(values, dtype=object))


def _floats(values: Any) -> Floats:
    if hasattr(values, "to_numpy"):
        numbers: Floats = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers
    return np.asarray(values, dtype=np.float64)


def _finite(name: Any, numbers: Floats) -> Floats:
    is_large = np.abs(numbers) > LARGEST
    if is_large.any():
        row = int(np.argmax(is_large))
        need = "numbers must be finite, or NaN if missing" if np.isinf(numbers[row]) else NEED
        raise DataError(f"column {name!r} has {numbers[row]} in row {row}; {need}.")
    return numbers


def _of_categories(name: Any, values: Any) -> Cells:
    """Categories that occur, in their order."""
    present = values.cat.remove_unused_categories()
    levels = tuple(present.cat.categories.tolist())
    _refuse_twins(name, levels)
    return Cells(None, present.cat.codes.to_numpy(dtype=np.intp), levels)


def _of_objects(name: Any, values: NDArray[Any]) -> Cells:
    """Text, numbers or both in an array of objects."""
    import pandas as pd

    is_missing = pd.isna(values)
    types = _types(values, is_missing)
    if not all(map(_is_cell, types)):
        _refuse_cell(name, values, is_missing)
    if types and all(issubclass(one, bool | np.bool_) for one in types):
        return Cells(np.where(is_missing, np.nan, values).astype(np.float64), None, (), is_bool=True)
    if not any(issubclass(one, str) for one in types):
        return Cells(_finite(name, _converted(name, np.where(is_missing, np.nan, values))), None, ())
    positions, found = pd.factorize(values, use_na_sentinel=True)
    levels = found.tolist()
    _refuse_twins(name, levels)
    order = sorted(range(len(levels)), key=lambda i: (isinstance(levels[i], str), levels[i]))
    places = np.empty(len(levels) + 1, dtype=np.intp)
    places[order], places[-1] = np.arange(len(levels)), -1
    return Cells(None, places[positions], tuple(levels[i] for i in order))


def _converted(name: Any, values: NDArray[Any]) -> Floats:
    """Numbers of any type as floats."""
    try:
        return values.astype(np.float64)
    except OverflowError:
        raise DataError(f"column {name!r} has an integer that is too large for a float; {NEED}.") from None


def is_small(number: Any) -> bool:
    """Whether a number of any type is finite and has a square."""
    return bool(-LARGEST <= number <= LARGEST)


def are_cells(values: Any) -> bool:
    """Whether a Series of objects holds text and numbers only, so that its values can be compared."""
    objects = np.asarray(values, dtype=object)
    return all(map(_is_cell, _types(objects, values.isna().to_numpy())))


def _types(values: NDArray[Any], is_missing: NDArray[np.bool_]) -> set[type]:
    return set(map(type, values[~is_missing]))


def _is_cell(kind: type) -> bool:
    """Whether a cell may have this type: text, a real number or a bool."""
    isplain_number = issubclass(kind, str | Number | np.bool_)
    return isplain_number and not issubclass(kind, complex | np.complexfloating | np.timedelta64)


def _refuse_cell(name: Any, values: NDArray[Any], is_missing: NDArray[np.bool_]) -> None:
    """Raise on the first cell that is neither text nor a number."""
    for row, value in enumerate(values):
        if not is_missing[row] and not _is_cell(type(value)):
            if isinstance(value, date | time | timedelta | np.datetime64 | np.timedelta64):
                raise DataError(f"column {name!r} has dates or times; turn it into numbers or categories first.")
            raise CellError(
                f"every cell of an argument must be a string, a number or missing; column {name!r} has a "
                f"{type(value).__name__} in row {row}."
            )


def _refuse_twins(name: Any, levels: Sequence[Any]) -> None:
    """Raise on levels that differ only in type, and on numbers and text that a column cannot have."""
    seen: dict[str, Any] = {}
    for level in levels:
        if isinstance(level, str) and not is_unicode(level):
            raise DataError(
                f"column {name!r} has {level!r}, which is no Unicode text; remove or replace its surrogates."
            )
        if isinstance(level, Real | Decimal) and not is_small(level):
            raise DataError(f"column {name!r} has a level that is not finite, or too large; {NEED}.")
        text = str(plain_number(level) if isinstance(level, float) else level)
        twin = seen.setdefault(text, level)
        if twin is not level:
            raise DataError(f"column {name!r} has levels {twin!r} and {level!r}, which differ only in type; use one.")


def is_unicode(text: str) -> bool:
    """Whether text can be encoded: lone surrogates cannot.

    Examples
    --------
    >>> is_unicode("naïve"), is_unicode(chr(0xD800))
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def plain_number(number: float) -> int | float:
    """A whole number as an integer."""
    return int(number) if number.is_integer() else float(number)
