"""Rows of results as DataFrames, from a store, an exported table, or memory; all of them are built here."""

import csv
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ciabench.errors import StoreError
from ciabench.files import content_of
from ciabench.lab.storage.export import is_table
from ciabench.lab.storage.records import Counts, Failure
from ciabench.lab.storage.store import Store
from ciabench.lab.storage.view import JUDGED, LABELS, MEASURES, STATED, WORLD, Table, View
from ciabench.seeds import digest

INTEGERS = ["trial", "size"]
RATES = ["success", "best", "constant"]
TEXTS = [WORLD, "learner"]
NUMBERS = [*MEASURES, *STATED, *JUDGED]
KINDS: dict[str, type] = {**dict.fromkeys(INTEGERS, np.int64), **dict.fromkeys(NUMBERS, np.float64)}
"""Types of the numeric columns that tables have."""

ROWS_OF_PART = 100_000
"""Rows from which on a part ends."""

MOST_TIMES = 200
"""Times its size to which a compressed table may unpack; exported ones unpack to 5 to 10 times theirs."""

Source = str | Path | pd.DataFrame


@dataclass(frozen=True)
class Reading:
    """Results read from a source.

    Parameters
    ----------
    rows : DataFrame
        One row per world, trial, size and learner.
    provenance : dict, optional
        How they were made, if known.
    failures : list of Failure
        Failed scores and trials; empty for a table, which does not record them.
    counts : Counts, optional
        How much of its experiment a store holds; None for a table.
    """

    rows: pd.DataFrame
    provenance: dict[str, Any] | None = None
    failures: list[Failure] = field(default_factory=list)
    counts: Counts | None = None


def read(source: Source, facts: Sequence[str] = ()) -> Reading:
    """Read a store (`.db`), an exported table (`.csv`, `.csv.gz`), or rows in memory; facts of stores become columns.

    Examples
    --------
    >>> from ciabench import CIAFamily, NaiveBayes, learning_curve
    >>> rows = learning_curve(CIAFamily(n=10, k=2, b=0.9), {"NB": NaiveBayes()}, sizes=[10], trials=2, random_state=0)
    >>> len(read(rows).rows)
    2
    """
    if isinstance(source, pd.DataFrame):
        return Reading(checked(upgraded(source), "rows"))
    path = Path(source)
    if is_table(path):
        return Reading(checked(upgraded(_read_csv(path)), str(path)), _beside(path))
    with Store(path) as store:
        return Reading(frame(store, facts), store.provenance(), list(store.failures()), store.counts())


def frame(store: Store, facts: Sequence[str] = ()) -> pd.DataFrame:
    """Rows of a store as a DataFrame; facts become further columns."""
    view = replace(store.view(), facts=tuple(facts))
    columns = _joined(view, list(store.tables(view)), store.path)
    names = {column: known[columns[column]] for column, known in view.labels.items()}
    return _table({**columns, **names}, store.path)


def parts(path: Path, whole: int) -> Iterator[pd.DataFrame]:
    """Rows of a store, some at a time, with names as categories.

    Every trial is in one part, and so is a world of up to `whole` trials.
    """
    with Store(path) as store:
        view = store.view()
        for tables in _portions(store.tables(view), whole):
            columns = _joined(view, tables, path)
            names = {
                name: pd.Categorical.from_codes(columns[name], pd.Index(known)) for name, known in view.labels.items()
            }
            yield _table({**columns, **names}, path)


def _portions(tables: Iterable[Table], whole: int) -> Iterator[list[Table]]:
    """Tables that make a part each; one may be empty if there are no rows."""
    portion: list[Table] = []
    n_rows, n_trials, world = 0, 0, -1
    for table in tables:
        is_same = table[WORLD][0] == world
        if n_rows >= ROWS_OF_PART and (n_trials > whole or not is_same):
            yield portion
            portion, n_rows, n_trials = [], 0, 0
        portion.append(table)
        world, n_rows = table[WORLD][0], n_rows + len(table["trial"])
        n_trials = n_trials * is_same + np.unique(table["trial"]).size
    yield portion


def _joined(view: View, tables: list[Table], path: Path) -> dict[str, Any]:
    """Columns of several tables, in one piece each; the tables are emptied, to save memory."""
    empty: dict[str, NDArray[Any]] = {column: np.empty(0, KINDS.get(column, object)) for column in view.columns}
    empty |= dict.fromkeys(view.labels, np.empty(0, np.int64))
    try:
        return {
            column: np.concatenate([nothing, *(table.pop(column) for table in tables)]).astype(nothing.dtype)
            for column, nothing in empty.items()
        }
    except (TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"{path}: is damaged; a value has the wrong type.") from error


def _table(columns: dict[str, Any], path: Path) -> pd.DataFrame:
    """Columns as a table, parameters of worlds with the types of their values."""
    table = pd.DataFrame(columns, copy=False)
    parameters = [column for column in columns if column not in (*LABELS, *NUMBERS)]
    return checked(table.assign(**{column: table[column].infer_objects() for column in parameters}), str(path))


def spec_of(path: Path) -> dict[str, Any]:
    """Read the experiment behind a store, an export, or the `.json` file beside an export."""
    if path.suffix == ".json":
        described = _json(path)
        described = described.get("provenance", described) if isinstance(described, dict) else None
    elif str(path).endswith((".csv", ".csv.gz", ".parquet")):
        described = _beside(path)
    else:
        with Store(path) as store:
            described = store.provenance()
    if not isinstance(described, dict) or not isinstance(described.get("experiment"), dict):
        raise StoreError(f"{path}: does not say what experiment it comes from; is {path.name}.json beside it?")
    spec: dict[str, Any] = described["experiment"]
    if "hash" in described and described["hash"] != digest(spec):
        raise StoreError(f"{path}: its experiment is not the one that it was written with; its hash differs.")
    return spec


def upgraded(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the column `world` to rows of ciabench 0.1, which had n, k, b and perhaps `task`; return others unchanged.

    Examples
    --------
    >>> upgraded(pd.DataFrame({"n": [10], "k": [2], "b": [0.9]}))[WORLD].tolist()
    ['CIA(10, 2, 0.9)']
    """
    if WORLD in rows or not {"n", "k", "b"} <= set(rows):
        return rows
    names = [f"CIA({n:g}, {k:g}, {b:g})" for n, k, b in zip(rows["n"], rows["k"], rows["b"], strict=True)]
    if "task" not in rows:
        return rows.assign(**{WORLD: np.array(names, dtype=object)})
    pairs = rows["task"].where(rows["task"] != pd.Series(names, index=rows.index))
    added = {WORLD: rows["task"], "pair": pairs, "examples": rows["n"]}
    return rows.drop(columns=["task", "n", "k", "b"]).assign(**added)


def _read_csv(path: Path) -> pd.DataFrame:
    """Read an exported table exactly; one that has changed since it was written is refused."""
    try:
        content = content_of(path)
        described = _beside(path)
        digested = hashlib.sha256(content).hexdigest()
        if described and described.get("sha256", digested) != digested:
            raise ValueError(f"it has changed since {path.name}.json was written with it; export it again")
        plain = _unpacked(content) if path.suffix == ".gz" else content
        if not plain.endswith(b"\n"):
            raise ValueError("it ends in the middle of a line")
        columns = next(csv.reader([plain.partition(b"\n")[0].decode()]))
        if len(set(columns)) < len(columns):
            raise ValueError("a column occurs twice")
        kinds: dict[str, Callable[[str], Any]] = {**dict.fromkeys(NUMBERS, _number), **dict.fromkeys(TEXTS, str)}
        return pd.read_csv(io.BytesIO(plain), converters=kinds)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error).strip()
        raise StoreError(f"{path}: cannot be read as a table; {reason}.") from error


def _unpacked(content: bytes) -> bytes:
    """Content of a gzip file, which is unpacked no further than tables of results go."""
    most = MOST_TIMES * len(content)
    with gzip.open(io.BytesIO(content)) as file:
        plain = file.read(most + 1)
    if len(plain) > most:
        raise ValueError(f"it unpacks to more than {MOST_TIMES} times its size, which no exported table does")
    return plain


def _number(text: str) -> float:
    return float(text) if text else np.nan


def _beside(path: Path) -> dict[str, Any] | None:
    """Content of the `.json` file beside a table, if there is one."""
    beside = path.with_name(f"{path.name}.json")
    described = _json(beside) if beside.exists() else None
    return described if isinstance(described, dict) else None


def _json(path: Path) -> Any:
    try:
        return json.loads(content_of(path))
    except OSError as error:
        raise StoreError(f"{path}: cannot be read; {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path}: is not JSON.") from error


def checked(rows: pd.DataFrame, source: str) -> pd.DataFrame:
    """Rows, after checking that they have the expected columns and valid values; timings may be missing."""
    expected = [*LABELS, *MEASURES[:-1]]
    missing = [column for column in expected if column not in rows.columns]
    if missing:
        raise StoreError(f"{source}: is not a table of results; it lacks {', '.join(missing)}.")
    if not rows.columns.is_unique:
        raise StoreError(f"{source}: is not a table of results; a column occurs twice.")
    wrong = next((one for one in (*LABELS, *NUMBERS) if one in rows and not _is_possible(rows[one])), None)
    if wrong and len(rows):
        raise StoreError(f"{source}: is not a table of results; column {wrong!r} contains invalid values.")
    return rows


def _is_possible(column: "pd.Series[Any]") -> bool:
    """Whether a column has the type and range that its name implies; T may be NaN, as it is without headroom."""
    if column.name in TEXTS:
        return all(isinstance(name, str) for name in column.unique())
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return False
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if column.name in INTEGERS:
        return bool((np.isfinite(values) & (values == np.floor(values)) & (values >= (column.name != "trial"))).all())
    if column.name in RATES:
        return bool(np.isfinite(values).all())
    return not np.isinf(values).any()
