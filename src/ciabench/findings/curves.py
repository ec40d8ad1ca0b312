"""Rows of results → tidy curves, paired differences, and the sample sizes at which one learner overtakes another."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from ciabench.arrays import Floats
from ciabench.errors import StoreError
from ciabench.lab.storage.view import JUDGED, LABELS, MEASURES, STATED, WORLD

CURVE = [WORLD, "learner"]
POINT = [*CURVE, "size"]
RESAMPLES = 1_000
MOST_COUNTS = 10_000_000
"""Maximum number of resampling counts held at a time: 80 MB."""

CONFIDENCE = 0.95

UNMIXED = 0.02
"""Difference in T between chains that start at random and at the truth from which on the limit is marked."""


def worlds_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Worlds of the rows with their parameters, indexed by name, in order of appearance.

    Examples
    --------
    >>> worlds_of(pd.DataFrame({"world": ["a", "a", "b"], "n": [10, 10, 75], "t": [0.1, 0.2, 0.3]}))
            n
    world
    a      10
    b      75
    """
    parameters = [column for column in rows.columns if column not in (*LABELS, *MEASURES, *STATED, *JUDGED)]
    return rows[[WORLD, *parameters]].drop_duplicates(WORLD).set_index(WORLD)


def learning_curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Learning curves: one row per world, learner and size, with worlds in the order of the rows.

    Returns
    -------
    DataFrame
        world, learner, size, trials, t (mean), t_sem, pooled, pooled_low and pooled_high (95% bootstrap interval over
        trials), success and success_sem, constant and headroom (means); where there is a limit also is_unmixed, whether
        its chains disagree at this size.

    Examples
    --------
    >>> rows = pd.DataFrame({
    ...     "world": "CIA(10, 2, 0.9)", "trial": [0, 1], "size": 100, "learner": "EM", "success": [0.8, 0.7],
    ...     "best": [0.9, 0.8], "constant": [0.5, 0.6], "t": [0.75, 0.5], "t_error": 0.0,
    ... })
    >>> learning_curves(rows)[["t", "pooled", "headroom"]].round(3)
           t  pooled  headroom
    0  0.625   0.667       0.3
    """
    gains = rows.assign(gain=rows["success"] - rows["constant"], room=rows["best"] - rows["constant"])
    groups = gains.assign(**{WORLD: _in_order(rows[WORLD])}).groupby(POINT, observed=True)
    curves = groups.agg(
        trials=("t", "size"),
        t=("t", "mean"),
        t_sem=("t", "sem"),
        pooled=("gain", "sum"),
        success=("success", "mean"),
        success_sem=("success", "sem"),
        constant=("constant", "mean"),
        headroom=("room", "mean"),
    )
    pooled = curves["pooled"] / groups["room"].sum()
    intervals = _pooled_intervals(group[["gain", "room"]].to_numpy() for _, group in groups)
    curves = curves.assign(pooled=pooled, **intervals.set_index(curves.index))
    if {"limit_random", "limit_truth"} <= set(rows):
        curves = curves.assign(is_unmixed=_disagree(gains["limit_random"] - gains["limit_truth"], rows))
    return curves.reset_index().astype({WORLD: object})


def _disagree(differences: "pd.Series[float]", rows: pd.DataFrame) -> "pd.Series[bool]":
    """For every point, whether T of two halves of the limit's chains differs, by more than matters and than errors."""
    groups = differences.groupby([_in_order(rows[WORLD]), rows["learner"], rows["size"]], observed=True)
    mean = groups.mean().abs()
    return (mean > UNMIXED) & (mean > 2 * groups.sem())


def measured_curves(rows: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Mean and standard error of one column per world, learner and size; scores that lack it are left out.

    Examples
    --------
    >>> rows = pd.DataFrame({"world": "my.csv", "trial": [0, 1], "size": 100, "learner": "EM", "auc": [0.8, 0.7]})
    >>> measured_curves(rows, "auc").round(2).to_dict("records")
    [{'world': 'my.csv', 'learner': 'EM', 'size': 100, 'trials': 2, 'auc': 0.75, 'auc_sem': 0.05}]
    """
    present = rows[rows[measure].notna()] if measure in rows else rows[:0].assign(**{measure: np.nan})
    groups = present.assign(**{WORLD: _in_order(present[WORLD])}).groupby(POINT, observed=True)[measure]
    found = groups.agg(["size", "mean", "sem"]).set_axis(["trials", measure, f"{measure}_sem"], axis=1)
    return found.reset_index().astype({WORLD: object})


def _in_order(names: "pd.Series[str]") -> "pd.Series[Any]":
    """Names as categories, in order of appearance."""
    return names.astype(pd.CategoricalDtype(list(names.unique())))


def paired_differences(rows: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """T of `first` minus T of `second` on the same models and samples, one row per world and size.

    Returns
    -------
    DataFrame
        world, size, trials, difference (mean), sem, low and high (95% t interval).

    Examples
    --------
    >>> rows = pd.DataFrame({
    ...     "world": "CIA(10, 2, 0.9)", "trial": [0, 1, 0, 1], "size": 100, "learner": ["EM", "EM", "NB", "NB"],
    ...     "t": [0.9, 0.8, 0.7, 0.7],
    ... })
    >>> paired_differences(rows, "EM", "NB")[["trials", "difference"]].round(2)
       trials  difference
    0       2        0.15
    """
    paired = paired_trials(rows, first, second).reset_index()
    grouped = paired.groupby([WORLD, "size"], sort=False)["difference"]
    found = grouped.agg(trials="size", difference="mean", sem="sem").reset_index()
    half = found["sem"] * special.stdtrit(np.maximum(found["trials"] - 1, 1), (1 + CONFIDENCE) / 2)
    return found.assign(low=found["difference"] - half, high=found["difference"] + half)


def paired_trials(rows: pd.DataFrame, first: str, second: str) -> pd.DataFrame:
    """T of both learners and their `difference`, by world, size and trial; worlds in the order of the rows."""
    chosen = rows[rows["learner"].isin([first, second])]
    if chosen.duplicated(LABELS).any():
        raise StoreError("two rows have the same world, trial, size and learner.")
    wide = chosen.pivot(index=[WORLD, "size", "trial"], columns="learner", values="t")
    for learner in (first, second):
        if learner not in wide:
            known = ", ".join(sorted(rows["learner"].unique()))
            raise StoreError(f"no rows of a learner called {learner!r}; the learners are {known}.")
    wide = wide.loc[list(dict.fromkeys(chosen[WORLD]))]
    return wide.assign(difference=wide[first] - wide[second]).dropna()


def passing_sizes(rows: pd.DataFrame, leader: str, chaser: str, *, seed: int = 0) -> pd.DataFrame:
    """Sample size at which the chaser overtakes the leader for good, one row per world.

    Mean T is interpolated linearly in log size; the last crossing counts. The interval comes from resampling trials.
    Infinity means that the chaser never overtakes, the smallest size that it was always ahead.

    Returns
    -------
    DataFrame
        world, trials, size, low, high.
    """
    found = []
    for world, group in paired_trials(rows, leader, chaser).groupby(WORLD, sort=False):
        lags = group["difference"].unstack("size").dropna()
        sizes = lags.columns.to_numpy(dtype=np.float64)
        point = last_crossing(sizes, lags.to_numpy().mean(axis=0)[None])[0]
        spread = last_crossing(sizes, _resampled_means(lags.to_numpy(), seed))
        low, high = np.quantile(spread, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], method="nearest")
        found.append((world, len(lags), point, low, high))
    return pd.DataFrame(found, columns=[WORLD, "trials", "size", "low", "high"])


def last_crossing(sizes: Floats, lags: Floats) -> Floats:
    """Size after which each row of lags (samples, sizes) is never above zero."""
    behind = lags > 0
    last_behind = np.where(behind.any(axis=1), lags.shape[1] - 1 - np.argmax(behind[:, ::-1], axis=1), -1)
    crossing = np.full(len(lags), sizes[0])
    crossing[last_behind == lags.shape[1] - 1] = np.inf
    inside = np.flatnonzero((last_behind >= 0) & (last_behind < lags.shape[1] - 1))
    left = last_behind[inside]
    before, after = lags[inside, left], lags[inside, left + 1]
    logs = np.log(sizes)
    crossing[inside] = np.exp(logs[left] + (logs[left + 1] - logs[left]) * before / (before - after))
    return crossing


def _resampled_means(values: Floats, seed: int) -> Floats:
    """Column means (RESAMPLES, columns) of trials drawn with replacement."""
    return np.concatenate([counts @ values / len(values) for counts in _draws(len(values), seed)])


def _draws(trials: int, seed: int) -> Iterator[Floats]:
    """How often each trial is drawn in every resample (row), a few resamples at a time if there are many trials."""
    rng = np.random.default_rng(seed)
    at_once = min(RESAMPLES, max(1, MOST_COUNTS // trials))
    for start in range(0, RESAMPLES, at_once):
        size = min(at_once, RESAMPLES - start)
        yield rng.multinomial(trials, np.full(trials, 1 / trials), size).astype(np.float64)


def _pooled_intervals(groups: Iterable[Floats]) -> pd.DataFrame:
    """Bootstrap interval of Σ(S_alg − S_const) / Σ(S_best − S_const) for every group of (gain, room)."""
    columns = list(groups)
    intervals = np.empty((len(columns), 2))
    for trials in {len(values) for values in columns}:
        places = [place for place, values in enumerate(columns) if len(values) == trials]
        means = _resampled_means(np.hstack([columns[place] for place in places]), seed=trials)
        intervals[places] = [_ratio_interval(means[:, 2 * turn : 2 * turn + 2]) for turn in range(len(places))]
    return pd.DataFrame(intervals, columns=["pooled_low", "pooled_high"])


def _ratio_interval(means: Floats) -> Floats:
    """Interval of the ratio of two columns of resampled means."""
    ratios = np.divide(means[:, 0], means[:, 1], out=np.full(RESAMPLES, np.nan), where=means[:, 1] > 0)
    interval: Floats = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return interval
