"""Rows of one or more experiments, selected by world and learner."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from ciabench.errors import StoreError
from ciabench.findings.curves import paired_trials
from ciabench.findings.departures import departures_of
from ciabench.findings.evidence import Estimate
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


class Data:
    """Rows of one or more result sets, selected by world and learner."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows = rows
        self._by_world = {str(world): group for world, group in rows.groupby(WORLD, sort=False)}

    def holds(self, world: str) -> bool:
        """Whether there are rows of a world, or of any of those that `PAIRS` or `MEASURED_WORLDS` stands for."""
        if world == PAIRS:
            return not of_pairs(self.rows).empty
        return world in self._by_world or (world == MEASURED_WORLDS and not departures_of(self.rows).empty)

    def leads(self, world: str, first: str, second: str, least: float = 0, most: float = np.inf) -> dict[int, Estimate]:
        """T of `first` minus T of `second` on the same trials, at every size in [least, most]."""
        paired = self._differences(world, first, second, least, most).unstack("size")
        return {int(size): Estimate.of(paired[size].dropna().to_numpy()) for size in sorted(paired.columns)}

    def mean_lead(self, world: str, first: str, second: str, least: float, most: float) -> Estimate:
        """Lead of `first` over `second`, averaged over the sizes in [least, most]."""
        means = self._differences(world, first, second, least, most).groupby("trial").mean()
        return Estimate.of(np.asarray(means, dtype=np.float64))

    def t(self, world: str, learner: str, size: int) -> Estimate:
        """Mean T of a learner at one size."""
        chosen = self.select(world, learner)
        values = chosen[chosen["size"] == size].sort_values("trial")["t"].dropna().to_numpy()
        if not len(values):
            raise StoreError(f"no rows of {learner} at size {size} for {world}")
        return Estimate.of(values)

    def sizes(self, world: str, *learners: str, most: float = np.inf) -> list[int]:
        """Sizes up to `most` at which any of the learners was measured, in order; raises if there are none."""
        sizes = sorted(int(size) for size in self.select(world, *learners)["size"].unique() if size <= most)
        if not sizes:
            raise StoreError(f"no rows at sizes up to {most:g} for {world}")
        return sizes

    def select(self, world: str, *learners: str) -> pd.DataFrame:
        """Rows of the learners on one world; raises an error that names what is missing."""
        if world not in self._by_world:
            raise StoreError(f"no rows of {world}")
        rows = self._by_world[world]
        known = set(rows["learner"].unique())
        for learner in learners:
            if learner not in known:
                raise StoreError(f"no rows of {learner} for {world}")
        return rows[rows["learner"].isin(learners)]

    def _differences(self, world: str, first: str, second: str, least: float, most: float) -> "pd.Series[float]":
        """T of `first` minus T of `second` by size and trial."""
        paired = paired_trials(self.select(world, first, second), first, second)["difference"]
        sizes = paired.index.get_level_values("size")
        chosen = paired[(sizes >= least) & (sizes <= most)]
        if chosen.empty:
            limits = f"of at least {least:g}" if most == np.inf else f"from {least:g} to {most:g}"
            raise StoreError(f"no rows of {first} and {second} at sizes {limits} for {world}")
        return chosen
