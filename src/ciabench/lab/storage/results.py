"""Rows of results as pandas frames, from a store, an exported table, or memory."""

import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Callable
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ciabench.errors import StoreError
from ciabench.lab.storage.store import Store

LABELS = ["n", "k", "b", "trial", "size", "learner"]
MEASURES = ["success", "best", "constant", "t", "t_error", "fit_seconds"]
COLUMNS = LABELS + MEASURES
INTEGERS = ["n", "k", "trial", "size"]
RATES = ["b", "success", "best", "constant"]
TASK = "task"
"""Column before all others that names the tasks, in results of which some are pairs of words."""

KINDS: dict[str, type] = {"learner": object, TASK: object, **dict.fromkeys(INTEGERS, np.int64)}
"""Kinds of columns that do not hold floats."""

CHUNK = 2_000
"""Rows that are turned into columns at once."""


class Results:
    """Results of an experiment.

    Parameters
    ----------
    source : path or DataFrame
        A store (`.db`), an exported table (`.csv`, `.csv.gz`), or the rows of `learning_curve`.

    Examples
    --------
    >>> from ciabench import CIAFamily
    >>> from ciabench.lab.session import learning_curve
    >>> from sklearn.naive_bayes import BernoulliNB
    >>> rows = learning_curve(
    ...     CIAFamily(n=10, k=2, b=0.9), {"bayes": BernoulliNB()}, sizes=[10, 1000], trials=20, random_state=0
    ... )
    >>> Results(rows).curves()[["learner", "size", "trials"]]
      learner  size  trials
    0   bayes    10      20
    1   bayes  1000      20
    """

    def __init__(self, source: str | Path | pd.DataFrame) -> None:
        if isinstance(source, pd.DataFrame):
            self._rows = _checked(source, "rows")
        elif str(source).endswith((".csv", ".csv.gz")):
            self._rows = _checked(_read_csv(Path(source)), str(source))
        else:
            with Store(source) as store:
                self._rows = _checked(_frame(store), str(source))

    def __repr__(self) -> str:
        return f"<Results: {self._told()}>"

    def _repr_html_(self) -> str:
        """Table of mean T for notebooks, a row a family and learner, a column a size."""
        table = self.curves().pivot(index=["n", "k", "b", "learner"], columns="size", values="t")
        return f"<p>{escape(self._told())}; mean T:</p>{table.to_html(float_format='{:.2f}'.format, na_rep='')}"

    def _told(self) -> str:
        """Count families, trials and rows, and name the learners."""
        families, trials = self._rows.groupby(["n", "k", "b"]).ngroups, self._rows["trial"].nunique()
        names = ", ".join(sorted(self._rows["learner"].unique()))
        counts = [(families, "family", "families"), (trials, "trial", "trials"), (len(self._rows), "row", "rows")]
        return ", ".join(f"{count:,} {one if count == 1 else many}" for count, one, many in counts) + f" of {names}"

    def rows(self) -> pd.DataFrame:
        """One row a trial, size and learner."""
        return self._rows.copy()

    def curves(self) -> pd.DataFrame:
        """One row a family, learner and size: trials, mean T with its standard error, and the pooled ratio.

        The pooled ratio Σ(S_alg − S_const) / Σ(S_best − S_const) needs no headroom to be defined.
        """
        gain = self._rows["success"] - self._rows["constant"]
        room = self._rows["best"] - self._rows["constant"]
        grouped = self._rows.assign(gain=gain, room=room).groupby(["n", "k", "b", "learner", "size"])
        curves = grouped.agg(trials=("t", "size"), t=("t", "mean"), t_sem=("t", "sem"))
        return curves.assign(pooled=grouped["gain"].sum() / grouped["room"].sum()).reset_index()


def columns_of(store: Store) -> list[str]:
    """Columns of the rows of a store."""
    return [TASK, *COLUMNS] if store.has_pairs() else COLUMNS


def _frame(store: Store) -> pd.DataFrame:
    """Rows of a store as a frame, in less memory than a list of them takes."""
    rows, columns = store.rows(), columns_of(store)
    parts: dict[str, list[NDArray[Any]]] = {column: [np.empty(0, KINDS.get(column, float))] for column in columns}
    try:
        while chunk := list(islice(rows, CHUNK)):
            for column, values in zip(columns, zip(*chunk, strict=True), strict=True):
                parts[column].append(np.array(values, KINDS.get(column, float)))
    except (TypeError, ValueError, OverflowError) as error:
        raise StoreError(f"{store.path}: is damaged; a value is of another kind.") from error
    return pd.DataFrame({column: np.concatenate(parts.pop(column)) for column in columns}, copy=False)


def _read_csv(path: Path) -> pd.DataFrame:
    """Read an exported table to the last bit; one that is not as it was written is refused."""
    try:
        content = path.read_bytes()
        _check_digest(path, content)
        plain = gzip.decompress(content) if path.suffix == ".gz" else content
        if not plain.endswith(b"\n"):
            raise ValueError("it ends in the middle of a line")
        kinds: dict[str, Callable[[str], Any]] = {**dict.fromkeys(["b", *MEASURES], _number), "learner": str, TASK: str}
        return pd.read_csv(io.BytesIO(plain), converters=kinds)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error).strip()
        raise StoreError(f"{path}: can not be read as a table; {reason}.") from error


def _number(text: str) -> float:
    return float(text) if text else np.nan


def _check_digest(path: Path, content: bytes) -> None:
    """Refuse a table that is not the one of which the file beside it tells."""
    try:
        beside = json.loads(path.with_name(f"{path.name}.json").read_bytes())
    except FileNotFoundError:
        return
    if isinstance(beside, dict) and "sha256" in beside and beside["sha256"] != hashlib.sha256(content).hexdigest():
        raise ValueError(f"it has changed since {path.name}.json was written with it; export it again")


def _checked(rows: pd.DataFrame, source: str) -> pd.DataFrame:
    """Rows with the expected columns and values that can be, timings perhaps aside."""
    missing = [column for column in COLUMNS[:-1] if column not in rows.columns]
    if missing:
        raise StoreError(f"{source}: is not a table of results; it lacks {', '.join(missing)}.")
    if not rows.columns.is_unique:
        raise StoreError(f"{source}: is not a table of results; a column is there twice.")
    wrong = next((column for column in COLUMNS if column in rows and not _is_possible(rows[column])), None)
    if wrong and len(rows):
        raise StoreError(f"{source}: is not a table of results; column {wrong!r} has values that can not be.")
    return rows


def _is_possible(column: "pd.Series[Any]") -> bool:
    """Whether a column has the kind and the range that its name asks for; T is undefined without headroom."""
    if column.name == "learner":
        return all(isinstance(name, str) for name in column.unique())
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return False
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if column.name in INTEGERS:
        return bool((np.isfinite(values) & (values == np.floor(values)) & (values >= (column.name != "trial"))).all())
    if column.name in RATES:
        return bool(np.isfinite(values).all())
    return not np.isinf(values).any()
