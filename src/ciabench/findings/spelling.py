"""Accuracies on pairs of words: learners against the majority."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table
from scipy import special

from ciabench.errors import StoreError
from ciabench.lab.storage.view import WORLD
from ciabench.world.spelling import TEST_SHARE

OVERLAP = TEST_SHARE / (1 - TEST_SHARE)
"""Splits of one corpus share examples, which adds this to 1/splits in the variance of a mean (Nadeau & Bengio 2003)."""

SIGNIFICANT = 0.05
REPRODUCED = "n_best_reproduced"
"""Column, where rows have it: number of restarts that reached the best optimum of a fit."""

PARAMETERS = ["pair", "examples"]
"""Parameters by which a pair of words is recognised."""


def is_of_pair(rows: pd.DataFrame) -> "pd.Series[bool]":
    """Whether the world of each row is a pair of words.

    Examples
    --------
    >>> rows = pd.DataFrame({"world": ["lead/led", "a/b"], "pair": ["lead/led", None], "examples": [750, None]})
    >>> is_of_pair(rows).tolist()
    [True, False]
    """
    if not set(PARAMETERS) <= set(rows):
        return pd.Series(False, index=rows.index)
    return rows[PARAMETERS].notna().all(axis=1)


def of_pairs(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows whose world is a pair of words."""
    return rows[is_of_pair(rows)]


def corpora(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Rows of pairs of words by corpus; rows that do not name theirs are of one.

    Examples
    --------
    >>> rows = pd.DataFrame({"pair": "a/b", "examples": 9, "corpus": ["sotu", "brown"]})
    >>> {corpus: len(own) for corpus, own in corpora(rows).items()}
    {'sotu': 1, 'brown': 1}
    """
    pairs = of_pairs(rows)
    if "corpus" not in pairs:
        return {"": pairs}
    return {str(corpus): own for corpus, own in pairs.groupby("corpus", sort=False)}


def accuracies(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per pair, size and learner, from rows of pairs; pairs in the order of the rows.

    Returns
    -------
    DataFrame
        world, size, learner, trials, examples, accuracy (mean over splits), error (its standard error), majority
        (mean accuracy of the commoner word), lead (accuracy − majority), lead_error (its standard error) and p, the
        p-value of a paired two-sided t test of the lead; errors and p allow for the overlap of the splits.
    """
    measured = []
    for (world, size, learner), group in rows.groupby([WORLD, "size", "learner"], sort=False):
        success, lead = group["success"].to_numpy(), (group["success"] - group["constant"]).to_numpy()
        label = (world, size, learner, len(group), int(group["examples"].iloc[0]))
        means = success.mean(), split_error(success), group["constant"].mean(), lead.mean(), split_error(lead)
        measured.append((*label, *means, _p_value(lead)))
    columns = [
        WORLD,
        "size",
        "learner",
        "trials",
        "examples",
        "accuracy",
        "error",
        "majority",
        "lead",
        "lead_error",
        "p",
    ]
    worlds = list(dict.fromkeys(rows[WORLD]))
    return pd.DataFrame(sorted(measured, key=lambda row: (worlds.index(row[0]), row[1])), columns=columns)


def leads(rows: pd.DataFrame, learner: str, rival: str | None = None) -> pd.DataFrame:
    """Lead of a learner over a rival, or the majority, at the largest size: one row per pair, one column per split.

    A split in which one of the two failed is NaN.
    """
    pairs = of_pairs(rows)
    chosen = pairs[(pairs["size"] == pairs["size"].max()) & pairs["learner"].isin([learner, rival or learner])]
    if missing := {learner, rival or learner} - set(chosen["learner"]):
        raise StoreError(f"no rows of {min(missing)} for pairs of words")
    wide = chosen.pivot(index=[WORLD, "trial"], columns="learner", values="success")
    base = chosen.groupby([WORLD, "trial"])["constant"].first() if rival is None else wide[rival]
    by_split: pd.DataFrame = (wide[learner] - base).unstack("trial")
    return by_split


def to_table(rows: pd.DataFrame, learners: Sequence[str] = ()) -> Table:
    """Table of accuracies in percent; * marks a lead over the majority with p < 0.05, ° a lag.

    † marks a learner whose best optimum only one restart reached in at least one of the splits, so that there may be a
    better one; rows say so if they have the column `n_best_reproduced`, as those of `lab.spelling.measure`.

    Parameters
    ----------
    rows : DataFrame
        Rows of pairs at one size.
    learners : sequence of str
        Columns that are shown even if all their scores failed, before those of any other learner.
    """
    measured, once = accuracies(rows), reached_once(rows)
    shown = list(dict.fromkeys([*learners, *measured["learner"]]))
    table = Table("pair", "examples", "majority", *shown, box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for world, group in measured.groupby(WORLD, sort=False):
        by_learner = {row["learner"]: _cell(row, (world, row["learner"]) in once) for _, row in group.iterrows()}
        cells = [by_learner.get(learner, "failed") for learner in shown]
        first = group.iloc[0]
        table.add_row(str(world), str(first["examples"]), f"{100 * first['majority']:.1f}", *cells)
    return table


def reached_once(rows: pd.DataFrame) -> set[tuple[Any, Any]]:
    """Worlds and learners with a fit whose best optimum only one restart reached, as far as the rows say.

    Examples
    --------
    >>> rows = pd.DataFrame({"world": "a/b", "learner": ["EM", "EM", "Winnow"], "n_best_reproduced": [20, 1, None]})
    >>> reached_once(rows)
    {('a/b', 'EM')}
    """
    if REPRODUCED not in rows:
        return set()
    chosen = rows[rows[REPRODUCED] == 1]
    return set(zip(chosen[WORLD], chosen["learner"], strict=True))


def split_error(values: Any) -> float:
    """Standard error of a mean over splits that overlap."""
    return float(np.std(values, ddof=1) * np.sqrt(1 / len(values) + OVERLAP)) if len(values) > 1 else np.nan


def _p_value(leads: Any) -> float:
    """P-value of the hypothesis that the mean is zero; NaN of a single split."""
    if len(leads) < 2:
        return np.nan
    error = split_error(leads)
    if not error > 0:
        return float(np.all(leads == 0))
    return float(2 * special.stdtr(len(leads) - 1, -abs(leads.mean()) / error))


def _cell(measured: "pd.Series[Any]", is_reached_once: bool) -> str:
    mark = ("*" if measured["lead"] > 0 else "°") if measured["p"] < SIGNIFICANT else " "
    error = "" if np.isnan(measured["error"]) else f"±{100 * measured['error']:.1f}"
    return f"{100 * measured['accuracy']:.1f}{error}{mark}{'†' if is_reached_once else ' '}"
