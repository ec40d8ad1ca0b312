"""Rows of one or more experiments, asked for by family and learner."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from ciabench.arrays import Floats
from ciabench.errors import StoreError
from ciabench.findings.curves import FAMILY, paired_trials
from ciabench.findings.evidence import Estimate, Level
from ciabench.lab.storage.results import TASK

Family = tuple[int, int, float]


def named(family: Family) -> str:
    """CIA(n, k, b)."""
    return f"CIA({family[0]}, {family[1]}, {family[2]:g})"


def family_names(rows: pd.DataFrame) -> dict[Family, str]:
    """What the families of some rows are called: the two words of a pair, or CIA(n, k, b).

    Examples
    --------
    >>> family_names(pd.DataFrame({"n": [10, 10], "k": [2, 3], "b": [0.9, 0.9]}))
    {(10, 2, 0.9): 'CIA(10, 2, 0.9)', (10, 3, 0.9): 'CIA(10, 3, 0.9)'}
    """
    families = rows.drop_duplicates(FAMILY)
    keys = list(families[FAMILY].itertuples(index=False, name=None))
    return dict(zip(keys, families[TASK] if TASK in families else map(named, keys), strict=True))


def combined(sources: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several result sets in one; sets that disagree about the same trial are refused."""
    rows = pd.concat(list(sources), ignore_index=True)
    models = rows.groupby([*FAMILY, "trial"])[["best", "constant"]].nunique()
    if (models > 1).any(axis=None):
        n, k, b, trial = models.index[(models > 1).any(axis=1)][0]
        raise StoreError(f"the results disagree about trial {trial} of {named((n, k, b))}: made with different seeds.")
    return rows.drop_duplicates([*FAMILY, "trial", "size", "learner"])


class Data:
    """Rows of one or more result sets, asked for by family and learner."""

    def __init__(self, rows: pd.DataFrame, level: float) -> None:
        self.rows = rows
        self.level = level

    def levels(self, statements: int) -> Level:
        """Error rates within a claim of so many statements."""
        return Level(self.level, self.level / statements)

    def lead(self, family: Family, first: str, second: str) -> dict[int, Floats]:
        """T of `first` minus T of `second` in every trial, by size."""
        paired = paired_trials(self.select(family, first, second), first, second)["difference"].unstack("size")
        return {int(size): paired[size].dropna().to_numpy() for size in paired.columns}

    def mean_lead(self, family: Family, first: str, second: str, sizes: tuple[int, int]) -> Estimate:
        """Lead of `first` over `second`, averaged over the sizes in [low, high]."""
        paired = paired_trials(self.select(family, first, second), first, second)["difference"].reset_index()
        chosen = paired[paired["size"].between(*sizes)]
        return Estimate.of(chosen.groupby("trial")["difference"].mean().to_numpy())

    def t(self, family: Family, learner: str, size: int) -> Floats:
        """T of a learner in every trial."""
        chosen = self.select(family, learner)
        values = chosen[chosen["size"] == size].sort_values("trial")["t"].to_numpy()
        if not len(values):
            raise StoreError(f"no rows of {learner} at size {size} for {named(family)}")
        return values

    def select(self, family: Family, *learners: str) -> pd.DataFrame:
        """Rows of some learners on one family; says what is missing."""
        n, k, b = family
        rows = self.rows[(self.rows["n"] == n) & (self.rows["k"] == k) & np.isclose(self.rows["b"], b)]
        for learner in learners:
            if learner not in set(rows["learner"]):
                raise StoreError(f"no rows of {learner} for {named(family)}")
        return rows[rows["learner"].isin(learners)]
