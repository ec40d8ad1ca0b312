"""Rows of results as pandas frames, from a store, an exported table, or memory."""

from html import escape
from pathlib import Path

import pandas as pd

from ciabench.errors import StoreError
from ciabench.lab.store import Store

LABELS = ["n", "k", "b", "trial", "size", "learner"]
MEASURES = ["success", "best", "constant", "t", "t_error", "fit_seconds"]
COLUMNS = LABELS + MEASURES
TASK = "task"
"""Column before all others that names the tasks, in results of which some are pairs of words."""


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
                self._rows = pd.DataFrame(store.rows(), columns=columns_of(store))

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


def _read_csv(path: Path) -> pd.DataFrame:
    """Read an exported table to the last bit."""
    try:
        return pd.read_csv(path, converters=dict.fromkeys(["b", *MEASURES], float))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: can not be read as a table; {str(error).strip()}.") from error


def _checked(rows: pd.DataFrame, source: str) -> pd.DataFrame:
    """Rows with the expected columns, timings perhaps aside."""
    missing = [column for column in COLUMNS[:-1] if column not in rows.columns]
    if missing:
        raise StoreError(f"{source}: is not a table of results; it lacks {', '.join(missing)}.")
    wrong = [column for column in COLUMNS if column in rows and (column != "learner") != _numeric(rows[column])]
    if wrong:
        raise StoreError(f"{source}: is not a table of results; column {wrong[0]!r} has values of another kind.")
    return rows


def _numeric(column: "pd.Series[float]") -> bool:
    return pd.api.types.is_numeric_dtype(column)
