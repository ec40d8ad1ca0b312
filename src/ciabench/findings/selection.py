"""Rows of one or more experiments, selected by world and learner."""

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import pandas as pd

from ciabench.errors import StoreError
from ciabench.findings.departures import kind_of
from ciabench.findings.evidence import Estimate, Point
from ciabench.findings.points import DEPARTURE, Contrast, Points, Quantity
from ciabench.findings.spelling import of_pairs
from ciabench.lab.storage.view import LABELS, WORLD

SAME_MODEL = 1e-9
"""Largest difference in S_best or S_const of the same model between platforms."""


PAIRS = "pairs of words"
"""Stands for every world that is a pair of words."""

MEASURED_WORLDS = "worlds whose departure is measured"
"""Stands for every world with models whose departure from the binary model is known."""


def combined(sources: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Combine the rows of several result sets, each row once; refuse sets that disagree about the same trial.

    Examples
    --------
    >>> rows = pd.DataFrame({"world": "a", "trial": 0, "size": 10, "learner": ["EM"], "best": 1.0, "constant": 0.5})
    >>> len(combined([rows, rows]))
    1
    """
    rows = pd.concat(list(sources), ignore_index=True)
    models = rows.groupby([WORLD, "trial"])[["best", "constant"]]
    disagree = ((models.max() - models.min()) > SAME_MODEL).any(axis=1)
    if disagree.any():
        world, trial = disagree.index[disagree][0]
        raise StoreError(f"the results disagree about trial {trial} of {world}: they were made with different seeds.")
    return rows.drop_duplicates(LABELS, ignore_index=True)


class Source(Protocol):
    """Where estimates come from: rows, statistics of rows, or a run that goes on."""

    def known(self) -> Iterable[Point]:
        """Points that there are trials of."""

    def estimate(self, quantity: Quantity) -> Estimate:
        """Estimate the mean of a quantity."""


class Data:
    """What claims ask of results: leads of one learner over another, by world and size.

    Parameters
    ----------
    rows : DataFrame
        Rows of one or more result sets.
    source : Source, optional
        What estimates are taken from (default: the rows).
    """

    def __init__(self, rows: pd.DataFrame, source: Source | None = None) -> None:
        self.rows = rows
        self.source = Points.of_rows(rows) if source is None else source
        self._sizes: dict[str, dict[str, list[int]]] = {}
        for world, learner, size in self.source.known():
            self._sizes.setdefault(world, {}).setdefault(learner, []).append(size)

    def holds(self, world: str) -> bool:
        """Whether there are results of a world, or of any of those that `PAIRS` or `MEASURED_WORLDS` stands for."""
        if world == PAIRS:
            return not of_pairs(self.rows).empty
        return world in self._sizes or (
            world == MEASURED_WORLDS and any(DEPARTURE in known for known in self._sizes.values())
        )

    def leads(self, world: str, first: str, second: str, least: float = 0, most: float = np.inf) -> dict[int, Estimate]:
        """T of `first` minus T of `second` on the same trials, at every size in [least, most]."""
        sizes = self._common(world, first, second, least, most)
        return {size: self.estimate(lead_of(world, first, second, [size])) for size in sizes}

    def mean_lead(self, worlds: str | Sequence[str], first: str, second: str, least: float, most: float) -> Estimate:
        """Lead of `first` over `second`, averaged over the sizes in [least, most], and over the worlds if several."""
        named = [worlds] if isinstance(worlds, str) else worlds
        parts = [lead_of(world, first, second, self._common(world, first, second, least, most)) for world in named]
        return self.estimate(sum(parts[1:], start=parts[0]) * (1 / len(parts)))

    def t(self, world: str, learner: str, size: int) -> Estimate:
        """Mean T of a learner at one size."""
        return self.estimate(self._point(world, learner, size))

    def fall(self, learner: str, size: int, high: str, low: str) -> Estimate:
        """T of a learner in one world minus its T in another, at the same size."""
        return self.estimate(self._point(high, learner, size) - self._point(low, learner, size))

    def estimate(self, quantity: Quantity) -> Estimate:
        """Estimate the mean of a quantity."""
        return self.source.estimate(quantity)

    def sizes(self, world: str, *learners: str, most: float = np.inf) -> list[int]:
        """Sizes up to `most` at which any of the learners was measured, in order; raises if there are none."""
        known = self._learners(world, *learners)
        sizes = sorted({size for learner in learners for size in known[learner] if size <= most})
        if not sizes:
            raise StoreError(f"no rows at sizes up to {most:g} for {world}")
        return sizes

    def learners(self, world: str) -> list[str]:
        """Learners that were measured on a world, in the order of the results."""
        return [learner for learner in self._learners(world) if learner != DEPARTURE]

    def measured_kinds(self, size: int, *learners: str) -> dict[str, list[str]]:
        """Worlds whose departure is measured and which have all these learners at one size, by kind."""
        kinds: dict[str, list[str]] = {}
        for world, known in self._sizes.items():
            if all(size in known.get(learner, ()) for learner in (DEPARTURE, *learners)):
                kinds.setdefault(kind_of(world), []).append(world)
        return kinds

    def _point(self, world: str, learner: str, size: int) -> Contrast:
        if size not in self._learners(world, learner)[learner]:
            raise StoreError(f"no rows of {learner} at size {size} for {world}")
        return Contrast.of({(world, learner, size): 1.0})

    def _learners(self, world: str, *learners: str) -> dict[str, list[int]]:
        """Sizes of the learners of one world; raises an error that names what is missing."""
        if world not in self._sizes:
            raise StoreError(f"no rows of {world}")
        for learner in learners:
            if learner not in self._sizes[world]:
                raise StoreError(f"no rows of {learner} for {world}")
        return self._sizes[world]

    def _common(self, world: str, first: str, second: str, least: float, most: float) -> list[int]:
        """Sizes in [least, most] at which both learners were measured; raises if there are none."""
        known = self._learners(world, first, second)
        sizes = sorted(size for size in {*known[first]} & {*known[second]} if least <= size <= most)
        if not sizes:
            limits = f"of at least {least:g}" if most == np.inf else f"from {least:g} to {most:g}"
            raise StoreError(f"no rows of {first} and {second} at sizes {limits} for {world}")
        return sizes


def lead_of(world: str, first: str, second: str, sizes: Sequence[int]) -> Contrast:
    """Lead of one learner over another, averaged over sizes."""
    share = 1 / len(sizes)
    return Contrast.of(
        {(world, learner, size): sign * share for size in sizes for learner, sign in ((first, 1), (second, -1))}
    )
