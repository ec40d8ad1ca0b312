"""Numbers of rows, means and standard errors of groups, from rows that come in parts."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

Groups = Any
"""A DataFrame that is grouped by columns."""

Grouped = TypeVar("Grouped", pd.DataFrame, "pd.Series[Any]")


def moments(groups: Groups, columns: Sequence[str]) -> pd.DataFrame:
    """Moments of columns by group: `trials` (rows), and of each column its name, `…_sem` and `…_count` (values).

    Examples
    --------
    >>> rows = pd.DataFrame({"learner": ["EM", "EM", "COV"], "t": [0.9, 0.7, 0.5]})
    >>> moments(rows.groupby(["learner"]), ["t"]).round(2)
             trials    t  t_sem  t_count
    learner
    COV           1  0.5    NaN        1
    EM            2  0.8    0.1        2
    """
    found = {"trials": groups.size()}
    for column in columns:
        own = groups[column]
        found |= {column: own.mean(), f"{column}_sem": own.sem(), f"{column}_count": own.count()}
    return _named(pd.DataFrame(found))


def sums(groups: Groups, columns: Sequence[str]) -> pd.DataFrame:
    """Sums of columns by group."""
    return _named(groups[columns].sum())


def joined_moments(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Moments of all rows from the `moments` of parts; those of a group that is in one part stay as they are.

    Examples
    --------
    >>> rows = pd.DataFrame({"learner": "EM", "t": [0.9, 0.7, 0.5]})
    >>> parts = [moments(part.groupby(["learner"]), ["t"]) for part in (rows[:1], rows[1:])]
    >>> joined_moments(parts).round(3)
             trials    t  t_sem  t_count
    learner
    EM            3  0.7  0.115        3
    """
    every = pd.concat(parts)
    is_split = every.index.duplicated(keep=False)
    if not is_split.any():
        return every
    split = every[is_split]
    found = {"trials": _by_group(split["trials"])}
    for column in (name.removesuffix("_sem") for name in map(str, split) if name.endswith("_sem")):
        mean, sem, count = (split[f"{column}{ending}"] for ending in ("", "_sem", "_count"))
        total = _by_group(count)
        center = _by_group(mean.fillna(0) * count) / total
        apart = (mean - center.loc[mean.index].to_numpy()).fillna(0)
        squares = _by_group(sem.fillna(0) ** 2 * count * (count - 1) + apart**2 * count)
        error = np.sqrt(squares / (total - 1).where(total > 1) / total)
        found |= {column: center, f"{column}_sem": error, f"{column}_count": total}
    together = pd.concat([every[~is_split], pd.DataFrame(found)])
    return together.loc[every.index.unique()]


def joined_sums(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Sums of all rows from those of parts."""
    return _by_group(pd.concat(parts))


def _by_group(values: Grouped) -> Grouped:
    """Sums of all values of a group, in order of appearance."""
    found: Grouped = values.groupby(level=list(range(values.index.nlevels)), sort=False).sum()
    return found


def _named(table: pd.DataFrame) -> pd.DataFrame:
    """A table by group whose names are no categories, so that parts can be put together."""
    index = table.index
    if isinstance(index, pd.MultiIndex):
        index = pd.MultiIndex.from_tuples(index.tolist(), names=index.names)
    return table.set_axis(index)
