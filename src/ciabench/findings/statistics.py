"""The reference as sufficient statistics of all its trials, of which only the first are kept as rows.

For every quantity that claims rest on: the number of trials, mean, standard deviation and skewness. For every world:
numbers of trials, means and covariances of T between all learners and sizes. And the learning curves of the figures.
"""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ciabench.arrays import Floats
from ciabench.errors import StoreError
from ciabench.files import written_whole
from ciabench.findings.claims import CLAIMS, Finding
from ciabench.findings.curves import CONFIDENCE, RESAMPLES, last_crossing, learning_curves, worlds_of
from ciabench.findings.evidence import Estimate, Point
from ciabench.findings.points import Points, Quantity
from ciabench.findings.selection import Data, combined
from ciabench.findings.spelling import is_of_pair
from ciabench.findings.tester import findings_of
from ciabench.lab import shipped
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.view import WORLD

STATISTICS, CURVES = "statistics.json.gz", "curves.csv"
DIGITS = 10
"""Significant digits of moments and curves; estimates that decide claims are kept exactly."""


class Moments(NamedTuple):
    """T of the learners at all sizes of one world.

    Parameters
    ----------
    points : sequence of (str, int)
        Learners and sizes.
    trials : array (points, points)
        Trials that have both.
    means : array (points,)
    covariances : array (points, points)
    """

    points: Sequence[tuple[str, int]]
    trials: Floats
    means: Floats
    covariances: Floats

    @classmethod
    def of(cls, points: Sequence[tuple[str, int]], values: Floats) -> "Moments":
        """Moments of values (trials, points), NaN where missing; covariances are about the means of all trials."""
        present = (~np.isnan(values)).astype(np.float64)
        trials, means = present.T @ present, np.nansum(values, axis=0) / present.sum(axis=0)
        centered = np.nan_to_num(values - means)
        return cls(points, trials, means, centered.T @ centered / np.maximum(trials - 1, 1))

    def lead(self, first: str, second: str) -> tuple[Floats, Floats, Floats]:
        """Sizes that both learners have, the mean lead at each, and the covariances of these means."""
        known = set(self.points)
        sizes = sorted(size for learner, size in known if learner == first and (second, size) in known)
        design = np.zeros((len(sizes), len(self.points)))
        for place, size in enumerate(sizes):
            design[place, self.points.index((first, size))] = 1
            design[place, self.points.index((second, size))] = -1
        own = np.diag(self.trials)
        of_means = self.covariances * self.trials / np.outer(own, own)
        return np.array(sizes, dtype=np.float64), design @ self.means, design @ of_means @ design.T


class Recorder(Points):
    """Points that remember which quantities were asked for."""

    def __init__(self, values: Mapping[Point, Floats], trials: int) -> None:
        super().__init__(values, trials)
        self.asked: dict[str, Estimate] = {}

    def estimate(self, quantity: Quantity) -> Estimate:
        """Estimate the mean of a quantity."""
        found = self.asked[quantity.name()] = super().estimate(quantity)
        return found


class Statistics:
    """Sufficient statistics of rows; a source of estimates in their place.

    Parameters
    ----------
    estimates : dict
        Estimates by the name of the quantity.
    moments : dict of Moments
        By world.
    curves : DataFrame
        `learning_curves` of all worlds, with the parameters of the worlds.
    """

    def __init__(self, estimates: dict[str, Estimate], moments: dict[str, Moments], curves: pd.DataFrame) -> None:
        self.estimates, self.moments, self.curves = estimates, moments, curves

    @classmethod
    def of_rows(cls, rows: pd.DataFrame) -> "Statistics":
        """Statistics of rows; pairs of words, whose claims rest on splits, are left out."""
        rows = rows[~is_of_pair(rows)]
        recorder = Recorder.of_rows(rows)
        data = Data(rows, recorder)
        for claim in CLAIMS.values():
            try:
                claim.test(data)
            except StoreError:
                continue
        points: dict[str, list[tuple[str, int]]] = {}
        for world, learner, size in recorder.known():
            points.setdefault(world, []).append((learner, size))
        moments = {
            world: Moments.of(own, np.stack([recorder.of((world, *point)) for point in own], axis=1))
            for world, own in points.items()
        }
        return cls(recorder.asked, moments, learning_curves(rows).join(worlds_of(rows), on=WORLD))

    def known(self) -> Iterable[Point]:
        """All points, in the order of the rows."""
        return [(world, *point) for world, moments in self.moments.items() for point in moments.points]

    def estimate(self, quantity: Quantity) -> Estimate:
        """Estimate of a quantity that some claim rests on."""
        if quantity.name() not in self.estimates:
            raise StoreError(f"the statistics lack {quantity.name()}; make them again from rows")
        return self.estimates[quantity.name()]._replace(points=quantity.points)

    def passing_size(self, world: str, leader: str, chaser: str, seed: int = 0) -> tuple[float, float, float]:
        """Size from which on the chaser is ahead, with a 95% interval, by resampling mean leads from their covariances.

        Infinity means that the chaser never overtakes, the smallest size that it was always ahead.
        """
        sizes, means, covariances = self.moments[world].lead(leader, chaser)
        variances, axes = np.linalg.eigh(covariances)
        noise = np.random.default_rng(seed).standard_normal((RESAMPLES, len(sizes))) * np.sqrt(np.maximum(variances, 0))
        spread = last_crossing(sizes, means + noise @ axes.T)
        low, high = np.quantile(spread, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], method="nearest")
        return float(last_crossing(sizes, means[None])[0]), float(low), float(high)

    def write(self, folder: Path, digests: Mapping[str, Any]) -> None:
        """Write the statistics, with digests of the rows that they are of; equal statistics give equal bytes."""
        content = {
            "rows": dict(digests),
            "estimates": {name: list(one[:4]) for name, one in self.estimates.items()},
            "moments": {world: _listed(moments) for world, moments in self.moments.items()},
        }
        text = json.dumps(content, separators=(",", ":"), allow_nan=False)
        with written_whole(folder / STATISTICS) as unfinished:
            unfinished.write_bytes(gzip.compress(text.encode(), mtime=0))
        with written_whole(folder / CURVES) as unfinished:
            self.curves.to_csv(unfinished, index=False, float_format=f"%.{DIGITS}g")

    @classmethod
    def read(cls, folder: Path) -> "Statistics":
        """Read statistics that were written."""
        content = json.loads(gzip.decompress((folder / STATISTICS).read_bytes()))
        estimates = {name: Estimate(*values) for name, values in content["estimates"].items()}
        moments = {world: _unlisted(listed) for world, listed in content["moments"].items()}
        return cls(estimates, moments, pd.read_csv(folder / CURVES))


def reference_findings() -> list[Finding]:
    """Findings on the committed reference: on its statistics, and on its rows where claims rest on rows."""
    rows = combined(read(table).rows for table in shipped.reference_tables().values())
    return findings_of(CLAIMS, Data(rows, Statistics.read(shipped.reference_folder())), {})


def _listed(moments: Moments) -> dict[str, Any]:
    """Moments as JSON; of symmetric matrices the lower half."""
    lower = np.tril_indices(len(moments.points))
    return {
        "points": moments.points,
        "trials": moments.trials[lower].astype(int).tolist(),
        "means": _rounded(moments.means),
        "covariances": _rounded(moments.covariances[lower]),
    }


def _rounded(values: Floats) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]


def _unlisted(listed: dict[str, Any]) -> Moments:
    points = [(learner, size) for learner, size in listed["points"]]
    trials, covariances = (_whole(listed[name], len(points)) for name in ("trials", "covariances"))
    return Moments(points, trials, np.array(listed["means"]), covariances)


def _whole(lower: Sequence[float], size: int) -> Floats:
    """A symmetric matrix from its lower half."""
    found = np.zeros((size, size))
    found[np.tril_indices(size)] = lower
    return np.asarray(found + np.tril(found, -1).T)
