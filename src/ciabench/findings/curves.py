"""Rows of results → tidy curves, paired differences, and the sample sizes at which one learner overtakes another."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from ciabench.arrays import Floats
from ciabench.errors import StoreError
from ciabench.findings.moments import joined_moments, joined_sums, moments, sums
from ciabench.lab.storage.view import JUDGED, LABELS, MEASURES, STATED, WORLD

CURVE = [WORLD, "learner"]
POINT = [*CURVE, "size"]
SUMMED = ["gain", "room", "gain gain", "gain room", "room room"]
RESAMPLES = 1_000
MOST_RESAMPLED = 10_000
"""Trials of a point up to which the interval of its pooled ratio is a bootstrap interval."""

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
        world, learner, size, trials, t (mean), t_sem, pooled, pooled_low and pooled_high (95% interval: bootstrap over
        trials, for more than 10,000 trials the delta method), success and success_sem, constant and headroom (means);
        where there is a limit also is_unmixed, whether its chains disagree at this size.

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
    return curves_of([summary(rows)])


class Summary(NamedTuple):
    """What learning curves are made of, by point.

    Parameters
    ----------
    moments : DataFrame
        Of T, success, constant and room and, where there is a limit, of what its chains differ by.
    sums : DataFrame
        Of gain = S_alg − S_const, of room = S_best − S_const, and of their products.
    few : dict
        Gain and room of every trial, of points that have few enough trials for a bootstrap.
    """

    moments: pd.DataFrame
    sums: pd.DataFrame
    few: dict[Any, Floats]


def summary(rows: pd.DataFrame) -> Summary:
    """Summarise some rows; `curves_of` makes the learning curves of one or more summaries."""
    gain, room = rows["success"] - rows["constant"], rows["best"] - rows["constant"]
    needed = rows[[*POINT, "t", "success", "constant"]].assign(
        **{WORLD: _in_order(rows[WORLD]), "gain": gain, "room": room},
        **{"gain gain": gain**2, "gain room": gain * room, "room room": room**2},
    )
    measured = ["t", "success", "constant", "room"]
    if {"limit_random", "limit_truth"} <= set(rows):
        needed = needed.assign(apart=rows["limit_random"] - rows["limit_truth"])
        measured.append("apart")
    groups = needed.groupby(POINT, observed=True)
    pairs = groups[["gain", "room"]]
    few = {point: group.to_numpy() for point, group in pairs if len(group) <= MOST_RESAMPLED}
    return Summary(moments(groups, measured), sums(groups, SUMMED), few)


def curves_of(parts: Sequence[Summary]) -> pd.DataFrame:
    """Learning curves of rows that were summarised in parts."""
    means = joined_moments([part.moments for part in parts])
    worlds = {world: place for place, world in enumerate(means.index.unique(WORLD))}
    means = means.loc[sorted(means.index, key=lambda point: (worlds[point[0]], *point[1:]))]
    summed = joined_sums([part.sums for part in parts]).loc[means.index]
    ends = _delta_intervals(summed, means["trials"])
    is_few = (means["trials"] <= MOST_RESAMPLED).to_numpy()
    ends[is_few] = _resampled_intervals(
        [np.concatenate([part.few[point] for part in parts if point in part.few]) for point in means.index[is_few]]
    )
    curves = means[["trials", "t", "t_sem"]].assign(
        pooled=summed["gain"] / summed["room"],
        success=means["success"],
        success_sem=means["success_sem"],
        constant=means["constant"],
        headroom=means["room"],
        pooled_low=ends[:, 0],
        pooled_high=ends[:, 1],
    )
    if "apart" in means:
        apart = means["apart"].abs()
        curves = curves.assign(is_unmixed=(apart > UNMIXED) & (apart > 2 * means["apart_sem"]))
    return curves.reset_index().astype({WORLD: object})


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


def _delta_intervals(summed: pd.DataFrame, trials: "pd.Series[int]") -> Floats:
    """Interval of Σ(S_alg − S_const) / Σ(S_best − S_const) by the delta method, for every point."""
    ratio = (summed["gain"] / summed["room"]).where(summed["room"] > 0)
    squares = summed["gain gain"] - 2 * ratio * summed["gain room"] + ratio**2 * summed["room room"]
    error = np.sqrt(squares.clip(lower=0) * trials / np.maximum(trials - 1, 1)) / summed["room"]
    half = error * special.ndtri((1 + CONFIDENCE) / 2)
    return np.stack([ratio - half, ratio + half], axis=1)


def _resampled_intervals(columns: Sequence[Floats]) -> Floats:
    """Bootstrap interval of the same ratio, for every point with (gain, room) of its trials."""
    intervals = np.empty((len(columns), 2))
    for trials in {len(values) for values in columns}:
        places = [place for place, values in enumerate(columns) if len(values) == trials]
        means = _resampled_means(np.hstack([columns[place] for place in places]), seed=trials)
        intervals[places] = [_ratio_interval(means[:, 2 * turn : 2 * turn + 2]) for turn in range(len(places))]
    return intervals


def _ratio_interval(means: Floats) -> Floats:
    """Interval of the ratio of two columns of resampled means."""
    ratios = np.divide(means[:, 0], means[:, 1], out=np.full(RESAMPLES, np.nan), where=means[:, 1] > 0)
    interval: Floats = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return interval
