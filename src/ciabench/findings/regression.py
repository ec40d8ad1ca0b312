"""Regression-testing T curves: two result sets → same, changed, or not enough data, for every point and every curve.

A world is compared *paired*, on the trials that both sets share, if most of these have the same models (equal S_best
and S_const), and otherwise *unpaired*, on all trials. The mean of T is tested at every point, and a mean of T over all
sizes for every curve. T is heavy-tailed and paired differences are mostly zero, so no distribution is
assumed: the studentized differences are compared with those that arise by chance when the signs of whole trials are
flipped at random (paired) or all trials are reassigned to the two sets at random (unpaired). A point or curve has
*changed* if it exceeds the largest statistic of all points and curves in all but `FALSE_ALARMS` of the draws, so that
the false-alarm rate holds for the comparison as a whole; the aim is 0.5%, so that a measurement can confirm 1%. A
curve's mean weights a size by 1 / (noise² + `SMALLEST_DROP`²): the plain mean, dominated by the noise of the smallest
sizes, misses drops that this one detects. `experiments/regression_power.py` measures both rates.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
import pandas as pd

from ciabench.arrays import Floats
from ciabench.errors import StoreError
from ciabench.findings.curves import CURVE, POINT
from ciabench.findings.resampling import Differences, column_means, critical_value, paired, unpaired
from ciabench.findings.selection import SAME_MODEL
from ciabench.lab.storage.rows import Source, read
from ciabench.lab.storage.view import LABELS, MEASURES, WORLD

FALSE_ALARMS = 0.005
"""Probability that a comparison of identically distributed results reports any change."""

SMALLEST_DROP, POWER = 0.05, 0.95
"""A drop in T that must be detectable with this probability before a curve is called the same."""

Z_POWER = NormalDist().inv_cdf(POWER)

LEAST_LIMIT = 1.0
"""|t| of a column in which a single trial differs, by whatever amount."""

NUMBERS = MEASURES[:-1]
"""Columns that are compared: all measures but timings."""

KINDS: dict[str, type] = {WORLD: object, "trial": int, "size": int, "learner": object, **dict.fromkeys(NUMBERS, float)}

Change = Literal["changed", "not enough data", "same"]
CHANGES: tuple[Change, ...] = ("changed", "not enough data", "same")
"""From worst to best."""

Row = Mapping[Any, Any]


@dataclass(frozen=True)
class Comparison:
    """Result of `compare`.

    Attributes
    ----------
    verdict : {"same", "changed", "not enough data"}
        Verdict on all curves together.
    points : DataFrame
        One row per world, learner and size: world, learner, size, is_paired, trials (of the smaller set), old and new
        (mean T), difference, low and high (simultaneous interval), trials_needed (to detect a drop of 0.05), verdict,
        shared (rows that both sets have), differing (those with different numbers).
    curves : DataFrame
        The same for the weighted means over sizes; a curve has also changed if one of its points has.
    unmatched : list of str
        Points that only one of the sets has; they are not compared.
    rows_of_one_set : int
        Rows that only one of the sets has; they do not count as a change.
    """

    verdict: Change
    points: pd.DataFrame
    curves: pd.DataFrame
    unmatched: list[str]
    rows_of_one_set: int = 0

    def report(self) -> str:
        """Describe every curve, and every point that changed, in words."""
        lines: list[str] = [self.verdict]
        for curve in self.curves.to_dict("records"):
            lines.append(_curve_line(curve))
            if curve["verdict"] == "changed":
                its = (self.points[CURVE] == [curve[key] for key in CURVE]).all(axis=1)
                changed = self.points[its & (self.points["verdict"] == "changed")]
                lines += [f"  size {point['size']}: {_numbers(point)}" for point in changed.to_dict("records")]
                lines.append(f"  all sizes, weighted: {_numbers(curve)}")
        if self.unmatched:
            points = _counted(len(self.unmatched), "point", "points")
            lines.append(f"not compared: {points} of one set only, such as {self.unmatched[0]}")
        if self.rows_of_one_set:
            lines.append(f"{_counted(self.rows_of_one_set, 'row is', 'rows are')} in one set only")
        return "\n".join(lines)


def compare(new: Source, baseline: Source, *, exact: bool = False) -> Comparison:
    """Test whether the T curves of two result sets are the same.

    Parameters
    ----------
    new : path or DataFrame
        A store, an exported table, or rows of `learning_curve`.
    baseline : path or DataFrame
        Results to compare with.
    exact : bool
        Whether the rows that both sets have must be bit-identical; for results of one platform.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from ciabench import CIAFamily
    >>> from ciabench.lab.session import learning_curve
    >>> from sklearn.naive_bayes import BernoulliNB
    >>> rows = learning_curve(
    ...     CIAFamily(n=10, k=2, b=0.9), {"bayes": BernoulliNB()}, sizes=[100, 1000], trials=20, random_state=0
    ... )
    >>> compare(rows, rows).verdict
    'same'
    >>> worse = rows.assign(t=rows["t"] - 0.1 * (rows["size"] == 1000))
    >>> print(compare(worse, rows).report())
    changed
    CIA(10, 2, 0.9) bayes: changed (20 trials, paired)
      size 1000: T 0.929 → 0.829, difference -0.100 [-0.100, -0.100], 20 rows differ
      all sizes, weighted: T 0.775 → 0.759, difference -0.017 [-0.017, -0.017], 20 rows differ
    """
    sides = distinct_rows(new), distinct_rows(baseline)
    blocks = list(_blocks(*sides))
    if not blocks:
        raise StoreError("the two result sets have no world, learner and size in common.")
    largest = np.max([block.tested.chance.max(axis=1) for block in blocks], axis=0)
    limit = max(critical_value(largest, FALSE_ALARMS), LEAST_LIMIT)
    n_tests = sum(len(block.labels) for block in blocks)
    table = pd.concat([block.table(limit, n_tests) for block in blocks], ignore_index=True)
    return _concluded(table, _matched(*sides), exact)


@dataclass(frozen=True)
class _Block:
    """Tested points and curves of one world; `labels` has a row for each, without a size for a curve."""

    labels: pd.DataFrame
    is_paired: bool
    tested: Differences

    def table(self, limit: float, n_tests: int) -> pd.DataFrame:
        """Numbers and verdicts; |t| above `limit` is a change."""
        tested, clear = self.tested, self.tested.error == 0
        margin = np.where(clear, 0.0 if math.isfinite(limit) else np.inf, limit * np.where(clear, 1.0, tested.error))
        is_sharp = (limit + Z_POWER) * np.where(clear, np.inf, tested.error) <= SMALLEST_DROP
        is_enough = np.where(clear, tested.difference == 0, is_sharp)
        return self.labels.assign(
            is_paired=self.is_paired,
            trials=tested.trials,
            old=tested.old,
            new=tested.new,
            difference=tested.difference,
            low=tested.difference - margin,
            high=tested.difference + margin,
            trials_needed=np.where(is_enough, tested.trials, _trials_needed(tested, limit, n_tests)),
            verdict=np.select([tested.statistic > limit, is_enough], ["changed", "same"], "not enough data"),
        )


def _trials_needed(tested: Differences, limit: float, n_tests: int) -> Floats:
    """Trials needed to detect the smallest drop, more than there are now; infinite if the error is unknown."""
    planned = min(limit, NormalDist().inv_cdf(1 - FALSE_ALARMS / 2 / n_tests)) + Z_POWER
    needed = np.ceil(np.maximum(tested.trials, 1) * (planned * tested.error / SMALLEST_DROP) ** 2)
    fewest_flips = math.ceil(1 - math.log2(FALSE_ALARMS))
    more_than_now: Floats = np.maximum(tested.trials + 1.0, fewest_flips)
    return np.fmax(needed, more_than_now)


def distinct_rows(source: Source) -> pd.DataFrame:
    """Labels and numbers of a result set, without the parameters of its worlds; refuses duplicate rows."""
    rows = read(source).rows[[*LABELS, *NUMBERS]].astype(KINDS)
    twice = rows[rows.duplicated(LABELS)]
    if len(twice):
        first = twice.to_dict("records")[0]
        name = "rows" if isinstance(source, pd.DataFrame) else source
        raise StoreError(f"{name}: {_point_name(first)}, trial {first['trial']}, occurs twice.")
    return rows


def _blocks(new: pd.DataFrame, old: pd.DataFrame) -> Iterator[_Block]:
    """Test the points that both sets have, and their curves, one world at a time."""
    rng = np.random.default_rng(0)
    shared = new[POINT].drop_duplicates().merge(old[POINT].drop_duplicates()).sort_values(POINT)
    for _, points in shared.groupby(WORLD):
        yield _block(points, new.merge(points), old.merge(points), rng)


def _block(points: pd.DataFrame, new: pd.DataFrame, old: pd.DataFrame, rng: np.random.Generator) -> _Block:
    """Test the points of one world and their curves."""
    wide = [_wide(rows) for rows in (new, old)]
    trials = _shared_trials(new, old)
    if trials is None:
        test, (new_t, old_t) = unpaired, (table.to_numpy(float) for table in wide)
        noise = _variance(np.concatenate([new_t, old_t]))
    else:
        test, (new_t, old_t) = paired, (table.loc[trials].to_numpy(float) for table in wide)
        noise = column_means((new_t - old_t) ** 2)
    weights, learners = 1 / (noise + SMALLEST_DROP**2), points["learner"].to_numpy()
    tested = test(_with_curves(new_t, weights, learners), _with_curves(old_t, weights, learners), rng)
    return _Block(pd.concat([points, points[CURVE].drop_duplicates()]), trials is not None, tested)


def _wide(rows: pd.DataFrame) -> pd.DataFrame:
    """T with one row per trial and one column per learner and size, in order."""
    return rows.pivot(index="trial", columns=["learner", "size"], values="t").sort_index(axis=1)


def _with_curves(values: Floats, weights: Floats, learners: Any) -> Floats:
    """Append to the points of a world each learner's weighted mean over its points, omitting those without any T."""
    own = [(learners == learner) & np.isfinite(weights) for learner in pd.unique(learners)]
    nothing = np.full(len(values), np.nan)
    means = [np.average(values[:, its], axis=1, weights=weights[its]) if its.any() else nothing for its in own]
    return np.column_stack([values, *means])


def _shared_trials(new: pd.DataFrame, old: pd.DataFrame) -> "pd.Index[int] | None":
    """Trials that have the same model in both sets, if most of the shared trials do; otherwise None."""
    models = [rows.groupby("trial")[["best", "constant"]].first() for rows in (new, old)]
    common = models[0].index.intersection(models[1].index)
    is_same = ((models[0].loc[common] - models[1].loc[common]).abs() <= SAME_MODEL).all(axis=1)
    return common[is_same] if is_same.mean() > 0.5 else None


def _variance(values: Floats) -> Floats:
    """Variance of every column."""
    return column_means((values - column_means(values)) ** 2)


def _matched(new: pd.DataFrame, old: pd.DataFrame) -> pd.DataFrame:
    """Rows of either set: labels, whether both sets have the row, and whether its numbers differ."""
    both = new.merge(old, on=LABELS, how="outer", suffixes=("", "_old"), indicator="source")
    values, others = (both[[f"{name}{suffix}" for name in NUMBERS]].to_numpy() for suffix in ("", "_old"))
    is_equal = (values == others) | (np.isnan(values) & np.isnan(others))
    is_shared = both["source"] == "both"
    return both[LABELS].assign(shared=is_shared, differing=is_shared & ~is_equal.all(axis=1))


def _concluded(table: pd.DataFrame, matched: pd.DataFrame, exact: bool) -> Comparison:
    """Comparison in which changed points count for their curves, and curves for the verdict."""
    counted = matched.groupby(POINT)[["shared", "differing"]].sum().reset_index()
    points = table.dropna(subset="size").astype({"size": int}).merge(counted)
    curves = table[table["size"].isna()].drop(columns="size")
    curves = curves.merge(points.groupby(CURVE)[["shared", "differing"]].sum().reset_index())
    if exact:
        for judged in (points, curves):
            is_known = [judged["differing"] > 0, judged["shared"] > 0]
            judged["verdict"] = np.select(is_known, ["changed", "same"], "not enough data")
    changed = points[points["verdict"] == "changed"][CURVE].drop_duplicates()
    curves.loc[curves[CURVE].apply(tuple, axis=1).isin(changed.apply(tuple, axis=1)), "verdict"] = "changed"
    unmatched = counted.merge(points[POINT], how="left", indicator=True).query("_merge == 'left_only'")
    names = [_point_name(point) for point in unmatched.to_dict("records")]
    verdict = next(change for change in CHANGES if change in set(curves["verdict"]))
    return Comparison(verdict, points, curves, names, int((~matched["shared"]).sum()))


def _point_name(point: Row) -> str:
    return f"{_curve_name(point)} at size {point['size']}"


def _curve_name(curve: Row) -> str:
    return f"{curve[WORLD]} {curve['learner']}"


def _curve_line(curve: Row) -> str:
    """Verdict on a curve, and the trials behind it."""
    how = "paired" if curve["is_paired"] else "unpaired"
    line = f"{_curve_name(curve)}: {curve['verdict']} ({curve['trials']} trials, {how})"
    if curve["verdict"] != "not enough data":
        return line
    if not math.isfinite(curve["trials_needed"]):
        return f"{line}; more are needed to detect a drop of {SMALLEST_DROP}"
    return f"{line}; about {curve['trials_needed']:.0f} are needed to detect a drop of {SMALLEST_DROP}"


def _numbers(tested: Row) -> str:
    """Old and new T, and their difference with its interval."""
    return (
        f"T {tested['old']:.3f} → {tested['new']:.3f}, difference {tested['difference']:+.3f} "
        f"[{tested['low']:+.3f}, {tested['high']:+.3f}], {_counted(tested['differing'], 'row differs', 'rows differ')}"
    )


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
