"""One learner's lead over another against the departure from the binary model: slopes and crossing points by kind.

The kind of a world is its name up to the bracket, such as Tree. A crossing point is the departure from which on the
lead is lost: a decreasing step function is fitted to the lead (isotonic regression), and drawn as a line between the
middles of its steps. Intervals are from resampled models.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import isotonic_regression

from ciabench.arrays import Floats
from ciabench.errors import StoreError
from ciabench.findings.curves import CONFIDENCE, RESAMPLES, paired_trials
from ciabench.findings.evidence import Sample, Trials
from ciabench.findings.points import DEPARTURE, LEAST_SPREAD
from ciabench.lab.storage.view import WORLD

MODEL = [WORLD, "trial"]


def departures_of(rows: pd.DataFrame) -> "pd.Series[float]":
    """Departure of each model, by world and trial, as far as the rows have it.

    Examples
    --------
    >>> rows = pd.DataFrame({"world": "CIA(10, 3, 0.9)", "trial": [0, 0, 1], "departure": [0.1, None, None]})
    >>> departures_of(rows).to_dict()
    {('CIA(10, 3, 0.9)', 0): 0.1}
    """
    if DEPARTURE not in rows:
        return pd.Series(dtype=np.float64)
    found: pd.Series[float] = rows.groupby(MODEL, sort=False)[DEPARTURE].first().dropna()
    return found


def measured(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of models whose departure is known, at the sizes and of the learners that it was measured with."""
    if DEPARTURE not in rows:
        return rows.iloc[:0]
    known = rows[rows[DEPARTURE].notna()]
    of_models = pd.MultiIndex.from_frame(rows[MODEL]).isin(departures_of(rows).index)
    return rows[of_models & rows["size"].isin(known["size"]) & rows["learner"].isin(known["learner"])]


def kind_of(world: str) -> str:
    """Kind of a world: its name up to the bracket.

    Examples
    --------
    >>> kind_of("Tree(10, 0.5, 0.9)")
    'Tree'
    """
    return world.partition("(")[0]


def leads_by_departure(rows: pd.DataFrame, first: str, second: str, size: int) -> pd.DataFrame:
    """T of `first` minus T of `second` for every model whose departure is known.

    Returns
    -------
    DataFrame
        kind, world, trial, departure and lead; kinds and worlds in the order of the rows.
    """
    known = departures_of(rows)
    paired = paired_trials(rows[rows["size"] == size], first, second)["difference"].droplevel("size")
    found = pd.concat([known, paired.rename("lead")], axis=1, join="inner").reset_index()
    if found.empty:
        raise StoreError(f"no rows of {first} and {second} at size {size} in worlds whose departure is known")
    kinds = found[WORLD].map(kind_of)
    return found.assign(kind=kinds).sort_values("kind", key=_order, kind="stable", ignore_index=True)


def _order(kinds: "pd.Series[str]") -> "pd.Series[int]":
    """Position of each kind among them, in order of appearance."""
    return kinds.map({kind: place for place, kind in enumerate(kinds.unique())})


def slope(leads: pd.DataFrame, *, within_worlds: bool = False) -> Sample:
    """Slope of the lead on the departure, per nat, with a standard error that holds for any variances (HC3).

    Parameters
    ----------
    leads : DataFrame
        Of one kind, as from `leads_by_departure`.
    within_worlds : bool
        Whether models are compared only with others of the same parameters.

    Examples
    --------
    >>> leads = pd.DataFrame({"world": "a", "departure": [0.0, 0.1, 0.2, 0.4], "lead": [0.2, 0.1, 0.05, -0.2]})
    >>> round(slope(leads).mean, 2)
    -0.99
    """
    worlds = leads[WORLD] if within_worlds else pd.Series("all", index=leads.index)
    means = leads.groupby(worlds)[[DEPARTURE, "lead"]].transform("mean")
    x, y = ((leads[name] - means[name]).to_numpy(dtype=np.float64) for name in (DEPARTURE, "lead"))
    total, freedom = float(x @ x), len(leads) - worlds.nunique() - 1
    if freedom < 1 or np.abs(x).max() < LEAST_SPREAD:
        raise StoreError("models of at least two departures are needed for a slope.")
    steepness = float(x @ y) / total
    leverage = x**2 / total + 1 / leads.groupby(worlds)["lead"].transform("size").to_numpy()
    residuals = (y - steepness * x) / np.maximum(1 - leverage, 1e-9)
    error = float(np.sqrt((x**2) @ (residuals**2))) / total
    return Sample(steepness, error, freedom, trials_per_world(leads))


def trials_per_world(leads: pd.DataFrame) -> Trials:
    """Fewest and most models of a world."""
    counts = leads.groupby(WORLD).size()
    return Trials(int(counts.min()), int(counts.max()))


class Crossing(NamedTuple):
    """Departure at which a lead is lost: 0 if there is none at the smallest one measured, infinity if it is kept.

    Parameters
    ----------
    nats : float
    low : float
        Lower end of the 95% interval.
    high : float
        Upper end of the 95% interval.
    log_error : float
        Standard error of its logarithm; NaN if a resample has no crossing.
    """

    nats: float
    low: float
    high: float
    log_error: float


def crossing(leads: pd.DataFrame, seed: int = 0) -> Crossing:
    """Find the crossing point of one kind of world.

    Examples
    --------
    >>> departure = np.linspace(0, 1, 101)
    >>> leads = pd.DataFrame({"departure": departure, "lead": 0.3 - departure})
    >>> round(crossing(leads).nats, 2)
    0.3
    """
    ordered = leads.sort_values(DEPARTURE, kind="stable")
    x, y = (ordered[name].to_numpy(dtype=np.float64) for name in (DEPARTURE, "lead"))
    rng, found = np.random.default_rng(seed), np.empty(RESAMPLES)
    for number in range(RESAMPLES):
        chosen = np.sort(rng.integers(0, x.size, x.size))
        found[number] = _crossing(x[chosen], y[chosen])
    low, high = np.quantile(found, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], method="nearest")
    is_inside = np.isfinite(found) & (found > 0)
    log_error = float(np.std(np.log(found), ddof=1)) if is_inside.all() else np.nan
    return Crossing(_crossing(x, y), float(low), float(high), log_error)


def _crossing(x: Floats, y: Floats) -> float:
    """Where a decreasing fit to y, in order of x, falls to zero."""
    fit = isotonic_regression(y, increasing=False)
    bounds = fit.blocks
    levels, middles = fit.x[bounds[:-1]], np.add.reduceat(x, bounds[:-1]) / np.diff(bounds)
    after = int(np.searchsorted(-levels, 0))
    if after in (0, levels.size):
        return 0.0 if after == 0 else np.inf
    share = levels[after - 1] / (levels[after - 1] - levels[after])
    return float(middles[after - 1] + share * (middles[after] - middles[after - 1]))


class Heterogeneity(NamedTuple):
    """Cochran's test of whether crossing points are the same, and their common value if they are."""

    statistic: float
    critical: float
    p_value: float
    common: Crossing


def heterogeneity(crossings: list[Crossing]) -> Heterogeneity:
    """Test whether several crossing points differ, on the scale of their logarithms.

    Examples
    --------
    >>> near, far = Crossing(0.03, 0.02, 0.04, 0.1), Crossing(0.15, 0.1, 0.2, 0.1)
    >>> heterogeneity([near, far]).p_value < 0.05, heterogeneity([near, near]).p_value < 0.05
    (True, False)
    """
    logs = np.log([one.nats for one in crossings])
    weights = 1 / np.array([one.log_error for one in crossings]) ** 2
    center, error = float(weights @ logs / weights.sum()), float(1 / np.sqrt(weights.sum()))
    statistic, freedom = float(weights @ (logs - center) ** 2), len(crossings) - 1
    half = error * stats.norm.ppf((1 + CONFIDENCE) / 2)
    common = Crossing(float(np.exp(center)), float(np.exp(center - half)), float(np.exp(center + half)), error)
    critical = float(stats.chi2.ppf(CONFIDENCE, freedom))
    return Heterogeneity(statistic, critical, float(stats.chi2.sf(statistic, freedom)), common)
