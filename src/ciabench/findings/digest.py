"""What figures show of results, gathered from rows that come in parts, so that memory does not grow with trials."""

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import pandas as pd

from ciabench.findings.curves import MOST_RESAMPLED, Summary, curves_of, summary, worlds_of
from ciabench.findings.departures import MODEL, departures_of
from ciabench.findings.limits import LIMIT, joined_losses, loss_moments
from ciabench.findings.points import DEPARTURE
from ciabench.findings.spelling import is_of_pair
from ciabench.lab.storage.view import WORLD

MOST_SHOWN = MOST_RESAMPLED
"""Trials of a world that are drawn model by model; of more, the first ones are."""


class Digest(NamedTuple):
    """What figures show of results.

    Parameters
    ----------
    learners : list of str
    worlds : DataFrame
        Parameters of the worlds, as `worlds_of` returns them; pairs of words are not among them.
    curves : DataFrame
        Their `learning_curves`.
    pairs : DataFrame
        Rows of pairs of words.
    models : DataFrame
        Rows of the first models of every world whose departure from the binary model is known.
    losses : DataFrame
        What the sample and the method cost, as `losses` gives it; empty without a limit.
    """

    learners: list[str]
    worlds: pd.DataFrame
    curves: pd.DataFrame
    pairs: pd.DataFrame
    models: pd.DataFrame
    losses: pd.DataFrame


def digest(parts: Iterable[pd.DataFrame]) -> Digest:
    """Gather what figures show.

    Examples
    --------
    >>> rows = pd.DataFrame({
    ...     "world": "CIA(10, 2, 0.9)", "trial": [0, 1], "size": 100, "learner": "EM", "success": [0.8, 0.7],
    ...     "best": [0.9, 0.8], "constant": [0.5, 0.6], "t": [0.75, 0.5], "t_error": 0.0,
    ... })
    >>> digest([rows[:1], rows[1:]]).curves[["trials", "t"]]
       trials      t
    0       2  0.625
    """
    gathered = [_of_part(part) for part in parts]
    worlds = worlds_of(pd.concat([own.firsts for own in gathered], ignore_index=True))
    losses = [own.losses for own in gathered if own.losses is not None]
    return Digest(
        list(dict.fromkeys(chain.from_iterable(own.learners for own in gathered))),
        worlds,
        curves_of([own.summary for own in gathered]),
        pd.concat([own.pairs for own in gathered], ignore_index=True),
        pd.concat([own.models for own in gathered], ignore_index=True),
        joined_losses(losses) if losses else pd.DataFrame(),
    )


class _Part(NamedTuple):
    """What is kept of a part."""

    learners: list[str]
    firsts: pd.DataFrame
    summary: Summary
    pairs: pd.DataFrame
    models: pd.DataFrame
    losses: pd.DataFrame | None


def _of_part(part: pd.DataFrame) -> _Part:
    is_pair, learners = is_of_pair(part), list(part["learner"].unique())
    own = part[~is_pair] if is_pair.any() else part
    return _Part(
        learners,
        _plain(own.drop_duplicates(WORLD)),
        summary(own),
        _plain(part[is_pair]),
        _known(part),
        loss_moments(part) if LIMIT in learners else None,
    )


def _known(part: pd.DataFrame) -> pd.DataFrame:
    """Rows of models whose departure is known."""
    if DEPARTURE not in part:
        return part[:0].copy()  # a slice would keep the whole part
    first = _plain(part[part["trial"] < MOST_SHOWN])
    return first[pd.MultiIndex.from_frame(first[MODEL]).isin(departures_of(first).index)]


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with names as text in place of categories."""
    names = [column for column in (WORLD, "learner") if isinstance(rows[column].dtype, pd.CategoricalDtype)]
    return rows.astype({column: rows[column].cat.categories.dtype for column in names})
