"""Where claims stand with the trials that there are so far, and of which points more are wanted."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ciabench.arrays import Floats
from ciabench.errors import StoreError
from ciabench.findings.claims import CLAIMS
from ciabench.findings.evidence import Estimate, Evidence, Level, Point
from ciabench.findings.points import Quantity
from ciabench.findings.selection import Data
from ciabench.findings.sequences import FIRST_LOOK
from ciabench.findings.statements import IntervalStatement, decided
from ciabench.findings.tester import Verdict, claims_about, deciding, error_rate, verdict

GROWTH, STEP = 1.2, 100
"""From one look to the next the number of trials grows by this factor, up to a multiple of 100."""


class Standing(NamedTuple):
    """Where a claim stands: its id and verdict, and the evidence that decides it."""

    id: str
    verdict: Verdict
    evidence: Evidence | None

    @property
    def is_decided(self) -> bool:
        """Whether more trials are not needed for its verdict."""
        return self.verdict in ("reproduced", "not reproduced", "on the margin")


class Trials:
    """T of all points that experiments offer, trial by trial, and how many trials are wanted of each.

    Parameters
    ----------
    offered : iterable of tuple
        Points: world, learner, size.
    most : int
        Most trials of a point.
    """

    def __init__(self, offered: Iterable[Point], most: int) -> None:
        self.most = most
        self.wanted = dict.fromkeys(offered, 0)
        self.is_tried = {point: np.zeros(most, dtype=bool) for point in self.wanted}
        self._t = {point: np.full(most, np.nan) for point in self.wanted}
        self._shown = most

    def known(self) -> Iterable[Point]:
        """All points on offer."""
        return self.wanted

    def fill(self, point: Point, places: Any, values: Any) -> None:
        """Record scores of some trials of a point, NaN where they failed."""
        if point in self.wanted:
            inside = np.asarray(places) < self.most
            self.is_tried[point][np.asarray(places)[inside]] = True
            self._t[point][np.asarray(places)[inside]] = np.asarray(values)[inside]

    def of(self, point: Point) -> Floats:
        """T of the first trials of one point, as many as the quantity is computed from."""
        return self._t[point][: self._shown]

    def estimate(self, quantity: Quantity) -> Estimate:
        """Estimate the mean of a quantity from the trials wanted so far; without any, nothing is known."""
        self._shown = min(self.wanted[point] for point in quantity.points)
        values = quantity.by_trial(self) if self._shown else np.empty(0)
        if len(values) < 2:
            return Estimate(0, np.nan, np.nan, 0.0, quantity.points)
        return Estimate.of(values)._replace(points=quantity.points)

    def want_more(self, groups: Iterable[Sequence[Point]]) -> None:
        """Want more trials of all points of each group: as many as follow on the fewest that one of them has."""
        before = dict(self.wanted)
        for points in groups:
            look = min(self.most, next_look(min((before[point] for point in points), default=self.most)))
            for point in points:
                self.wanted[point] = max(self.wanted[point], look)

    def n_tried(self, point: Point) -> int:
        """Number of trials of a point that were computed, as far as they are wanted."""
        return int(self.is_tried[point][: self.wanted[point]].sum())


def next_look(trials: int) -> int:
    """Number of trials at which to look again.

    Examples
    --------
    >>> next_look(0), next_look(500), next_look(6_200)
    (500, 600, 7500)
    """
    return FIRST_LOOK if trials < FIRST_LOOK else int(np.ceil(trials * GROWTH / STEP)) * STEP


def standings(trials: Trials) -> Iterator[tuple[Standing, list[tuple[Point, ...]]]]:
    """Where each claim stands that the points on offer can decide, and the points of each undecided statement."""
    data = Data(pd.DataFrame(), trials)
    for identity in claims_about(CLAIMS, data):
        try:
            statements = CLAIMS[identity].test(data)
        except StoreError:
            continue
        level = Level.of_claim(error_rate(identity, CLAIMS), len(statements))
        judged = [(one, decided(one, level)) for one in statements if not isinstance(one, IntervalStatement)]
        evidence = [found for _, found in judged]
        needed = [one.open_points(level) for one, found in judged if found.outcome == "undecided"]
        is_known = all(np.isfinite(found.estimate) for found in evidence)
        yield Standing(identity, verdict(evidence) if is_known else "no data", deciding(evidence)), needed


def line(standing: list[Standing], cells: int) -> str:
    """Where the claims stand, in one line.

    Examples
    --------
    >>> line([Standing("C1", "reproduced", None), Standing("C2", "undecided, leaning for", None)], 300)
    'C1 reproduced; C2 undecided, leaning for; 300 cells to compute'
    """
    return "; ".join([*(f"{one.id} {one.verdict}" for one in standing), f"{cells:,} cells to compute"])


def summary(trials: Trials) -> str:
    """Claims with the evidence that decides them, and a table of trials by world and size."""
    lines = []
    for one, _ in standings(trials):
        shown = f": {one.evidence.statement}: {one.evidence.measured} ({one.evidence.interval})" if one.evidence else ""
        lines.append(f"{one.id}  {one.verdict}{shown}")
    counts: dict[tuple[str, int], int] = {}
    for world, learner, size in trials.known():
        tried = trials.n_tried((world, learner, size))
        counts[world, size] = max(tried, counts.get((world, size), 0))
    table = pd.Series({place: count for place, count in counts.items() if count}, dtype=np.int64)
    if table.empty:
        return "These experiments hold no point that a claim needs more trials of."
    return "\n".join([*lines, "", "Trials by world and size:", table.unstack(fill_value=0).to_string()])
