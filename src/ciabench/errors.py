"""The exceptions that users may see, each a single clear sentence, and the checks that raise them."""

import math
from numbers import Integral, Real


class CIABenchError(ValueError):
    """Base of every error this package raises on purpose.

    Examples
    --------
    >>> from ciabench import CIAFamily
    >>> try:
    ...     CIAFamily(n=0, k=2, b=0.9)
    ... except CIABenchError as error:
    ...     print(error)
    n, the number of attributes, must be an integer of at least 1; got 0.
    """


class ParameterError(CIABenchError):
    """A parameter has an invalid value."""


class ModelError(CIABenchError):
    """Weights and probabilities that do not define a model."""


class FamilyError(CIABenchError):
    """A family of models that does not exist, or is too rare to draw from."""


class RuleError(CIABenchError):
    """A prediction rule that does not return one valid class per row."""


class ExperimentError(CIABenchError):
    """An experiment that cannot be run; the message gives the key, its value, and what was expected."""


class StoreError(CIABenchError):
    """A result file that cannot be read, written or continued."""


class RunError(CIABenchError):
    """A run that cannot start or continue, for example because a cluster does not answer."""


class CorpusError(CIABenchError):
    """Text that cannot be read, or that contains too few examples of a pair of words."""


class DataError(CIABenchError):
    """Data that cannot be learned from: values other than 0/1, too few or too many classes, invalid weights."""


class CellError(DataError, TypeError):
    """A cell of a table that is neither text nor a number, such as a list."""


class LevelWarning(UserWarning):
    """A table has levels that training did not have; they count as missing."""


class TableWarning(UserWarning):
    """Rows of a table are left out, or sizes exceed the training rows."""


class FloorWarning(UserWarning):
    """Every restart has a class with almost no variance in a numeric column."""


class BoundaryWarning(UserWarning):
    """Estimates are at the boundary, or the model is not identified, so that standard errors may mislead."""


class SearchWarning(UserWarning):
    """Only one of many restarts reached the best optimum, so that there may be a better one."""


def shown(value: object, most: int = 60) -> str:
    """A value as it is written in Python, of which not too much is shown.

    Examples
    --------
    >>> shown([1, "a"]), shown(10**5000)
    ("[1, 'a']", 'an integer of 16610 bits')
    """
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python writes no integers of more than 4,300 digits
        return f"an integer of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def check_integer(what: str, value: object, least: int, most: int | None = None) -> None:
    """Raise unless `value` is an integer of at least `least` and, if given, at most `most`."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or value < least:  # type: ignore[operator]
        raise ParameterError(f"{what} must be an integer of at least {least}; got {shown(value)}.")
    if most is not None and value > most:  # type: ignore[operator]
        raise ParameterError(f"{what} must be at most {most}; got {shown(value)}.")


def check_between(what: str, value: object, low: float, high: float, *, closed: bool = False) -> None:
    """Raise unless `value` is a number in (low, high), or in [low, high] if `closed`."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not (low <= number <= high if closed else low < number < high):
        interval = f"[{low:g}, {high:g}]" if closed else f"({low:g}, {high:g})"
        raise ParameterError(f"{what} must be a number in {interval}; got {shown(value)}.")


def check_choice(what: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        raise ParameterError(f"{what} must be one of {', '.join(map(repr, choices))}; got {shown(value)}.")
