"""T by world, learner and size, one value per trial index; and the quantities that claims make of it.

A quantity is computed trial by trial, from the trials that have all its points. So differences between worlds pair
trials of the same index, which are independent, and every mean has one value per trial.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.errors import StoreError
from ciabench.findings.evidence import TOO_FEW, Estimate, Point
from ciabench.lab.storage.view import LABELS, WORLD

DEPARTURE = "departure"
"""Column of the rows, and learner of the points that hold the departure of a trial's model in place of T."""

LEAST_SPREAD = 1e-6
"""Departures that differ by less, in nats, tell nothing about a slope."""


class Values(Protocol):
    """What quantities are computed from."""

    def of(self, point: Point) -> Floats:
        """T of one point by trial; NaN where a trial is missing."""


class Quantity(Protocol):
    """Something that has one value per trial: hashable, with a name that says what it is."""

    @property
    def points(self) -> tuple[Point, ...]:
        """Points that it is computed from."""

    def name(self) -> str:
        """Name under which statistics are kept."""

    def by_trial(self, values: Values) -> Floats:
        """Values of the trials that have all its points."""


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of T at several points.

    Examples
    --------
    >>> contrast = Contrast.of({("CIA(10, 2, 0.9)", "EM", 100): 1.0, ("CIA(10, 2, 0.9)", "COV", 100): -1.0})
    >>> contrast.name()
    'CIA(10, 2, 0.9)|COV|100*-1 + CIA(10, 2, 0.9)|EM|100*1'
    """

    terms: tuple[tuple[Point, float], ...]

    @classmethod
    def of(cls, weights: Mapping[Point, float]) -> "Contrast":
        """The contrast with these weights."""
        return cls(tuple(sorted(weights.items())))

    @property
    def points(self) -> tuple[Point, ...]:
        """Points that it is computed from."""
        return tuple(point for point, _ in self.terms)

    def name(self) -> str:
        """Name under which statistics are kept."""
        return " + ".join(f"{'|'.join(map(str, point))}*{weight:.6g}" for point, weight in self.terms)

    def by_trial(self, values: Values) -> Floats:
        """Values of the trials that have all its points."""
        total: Floats = sum(weight * values.of(point) for point, weight in self.terms)  # type: ignore[assignment]
        return total[~np.isnan(total)]

    def __add__(self, other: "Contrast") -> "Contrast":
        """Sum of two contrasts."""
        weights = dict(self.terms)
        for point, weight in other.terms:
            weights[point] = weights.get(point, 0.0) + weight
        return Contrast.of(weights)

    def __mul__(self, factor: float) -> "Contrast":
        """A multiple of the contrast."""
        return Contrast(tuple((point, factor * weight) for point, weight in self.terms))

    def __sub__(self, other: "Contrast") -> "Contrast":
        """Difference of two contrasts."""
        return self + other * -1


class Slope(NamedTuple):
    """Slope of a lead on the departure from the binary model, over several worlds at one size, per nat.

    The value of a trial is the slope plus the influence of the trial on it (a cluster of one model per world), so that
    the mean is the least-squares slope and its error is the one that holds for any variances.
    """

    worlds: tuple[str, ...]
    first: str
    second: str
    size: int
    within_worlds: bool

    @property
    def points(self) -> tuple[Point, ...]:
        """Points that it is computed from."""
        learners = (self.first, self.second, DEPARTURE)
        return tuple((world, learner, self.size) for world in self.worlds for learner in learners)

    def name(self) -> str:
        """Name under which statistics are kept."""
        where = " within worlds" if self.within_worlds else ""
        return f"slope{where} of {self.first} - {self.second}|{self.size} on {DEPARTURE}: {'; '.join(self.worlds)}"

    def by_trial(self, values: Values) -> Floats:
        """Values of the trials that have all its points."""
        x = np.stack([values.of((world, DEPARTURE, self.size)) for world in self.worlds])
        leads = [
            values.of((world, self.first, self.size)) - values.of((world, self.second, self.size))
            for world in self.worlds
        ]
        y = np.stack(leads)
        is_whole = ~np.isnan(x + y).any(axis=0)
        x, y = x[:, is_whole], y[:, is_whole]
        if not is_whole.any():
            return np.empty(0)
        axis = 1 if self.within_worlds else None
        x, y = x - x.mean(axis=axis, keepdims=True), y - y.mean(axis=axis, keepdims=True)
        if np.abs(x).max() < LEAST_SPREAD:
            raise StoreError("models of at least two departures are needed for a slope.")
        spread = (x**2).sum(axis=0)
        slope = float((x * y).sum() / spread.sum())
        influence: Floats = slope + ((x * y).sum(axis=0) - slope * spread) / spread.mean()
        return influence


class Points:
    """T by world, learner and size, as arrays over the trials of all rows."""

    def __init__(self, values: Mapping[Point, Floats], trials: int) -> None:
        self._values, self._missing = values, np.full(trials, np.nan)

    @classmethod
    def of_rows(cls, rows: pd.DataFrame) -> Self:
        """Points of rows of results."""
        if rows.duplicated(LABELS).any():
            raise StoreError("two rows have the same world, trial, size and learner.")
        trials, places = np.unique(rows["trial"].to_numpy(), return_inverse=True)
        table = pd.DataFrame({"place": places, "t": rows["t"].to_numpy()})
        keys = [rows[WORLD].to_numpy(), rows["learner"].to_numpy(), rows["size"].to_numpy()]
        values = _arrays(table, keys, len(trials))
        if DEPARTURE in rows:
            known = rows[rows[DEPARTURE].notna()].drop_duplicates([WORLD, "trial", "size"])
            stated = pd.DataFrame({"place": np.searchsorted(trials, known["trial"]), "t": known[DEPARTURE].to_numpy()})
            named = np.full(len(known), DEPARTURE, dtype=object)
            values |= _arrays(stated, [known[WORLD].to_numpy(), named, known["size"].to_numpy()], len(trials))
        return cls(values, len(trials))

    def known(self) -> Iterable[Point]:
        """All points, in the order of the rows."""
        return self._values.keys()

    def of(self, point: Point) -> Floats:
        """T of one point by trial; NaN where a trial is missing."""
        return self._values.get(point, self._missing)

    def estimate(self, quantity: Quantity) -> Estimate:
        """Estimate the mean of a quantity."""
        values = quantity.by_trial(self)
        if len(values) < 2:
            raise StoreError(TOO_FEW)
        return Estimate.of(values)._replace(points=quantity.points)


def _arrays(table: pd.DataFrame, keys: list[NDArray[Any]], trials: int) -> dict[Point, Floats]:
    """Values of each point, by the place of their trial."""
    found: dict[Point, Floats] = {}
    group: pd.DataFrame
    label: Any
    for label, group in table.groupby(keys, sort=False):
        world, learner, size = label
        values = np.full(trials, np.nan)
        values[group["place"].to_numpy()] = group["t"].to_numpy()
        found[str(world), str(learner), int(size)] = values
    return found
