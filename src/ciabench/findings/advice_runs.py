"""The computing behind an advice: paired splits of the table at growing sizes, within a budget, kept in a store."""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ciabench.arrays import Floats
from ciabench.errors import RunError
from ciabench.findings.advice_learners import LEARNERS
from ciabench.findings.advice_table import TEST_SHARE, Reading
from ciabench.findings.leads import SplitHits
from ciabench.findings.misfit import Misfit
from ciabench.lab.plan.learner import from_estimator
from ciabench.lab.plan.plan import Plan
from ciabench.lab.session import compute, plan_store
from ciabench.lab.storage.records import Failure
from ciabench.lab.storage.rows import frame
from ciabench.seeds import Seed
from ciabench.tables import next_table
from ciabench.world.base import World
from ciabench.world.drawn_table import DrawnTable
from ciabench.world.held_out import unpacked

SHARES = (1 / 8, 1 / 4, 1 / 2, 1)
"""Sizes, as shares of the training rows of a split."""

LEAST_ROWS = 10
FACTS = ("log_loss", "auc", "hits")

DRAWN_TABLES = 5
"""Tables drawn from the fitted classes at most."""

SPLITS, DRAWN = "splits; Ctrl-C ends with what they support", "tables drawn from the hidden classes"
"""What is computed, beside the bar that shows how far it is."""

MAJORITY = "majority"
"""Name under which the constant rule is compared with learners."""


class Scores(NamedTuple):
    """What was measured on the splits of a table.

    Parameters
    ----------
    rows : DataFrame
        One row per split, size and learner, of the learners that have all scores.
    failed : dict of str to str
        Learners that failed, and why.
    """

    rows: pd.DataFrame
    failed: dict[str, str]

    @property
    def full(self) -> int:
        """Training rows of a split, all of them."""
        return int(self.rows["size"].max())

    @property
    def learners(self) -> list[str]:
        """Learners, the simplest first."""
        present = set(self.rows["learner"])
        return [name for name in LEARNERS if name in present]

    @property
    def at_full_size(self) -> pd.DataFrame:
        """Rows of the largest size."""
        return self.rows[self.rows["size"] == self.full]

    def means(self, column: str) -> "pd.Series[float]":
        """Means over splits at the largest size, by learner, the simplest first."""
        found: pd.Series[float] = self.at_full_size.groupby("learner")[column].mean().reindex(self.learners)
        return found

    @property
    def best(self) -> str:
        """The learner with the largest mean accuracy, the simplest of equals."""
        return str(self.means("success").idxmax())

    def errors(self, learner: str) -> Floats:
        """Error rates (splits, sizes) of a learner."""
        own = self.rows[self.rows["learner"] == learner]
        errors: Floats = 1 - own.pivot(index="trial", columns="size", values="success").to_numpy(dtype=np.float64)
        return errors

    @property
    def sizes(self) -> list[int]:
        """Numbers of training rows."""
        return sorted(map(int, self.rows["size"].unique()))


def plan_of(
    world: World, most: int, learners: Mapping[str, Any], seed: int, splits: int, shares: Sequence[float] = SHARES
) -> Plan:
    """Plan of all learners on splits of a table, at shares of the training rows."""
    sizes = sorted({min(max(LEAST_ROWS, math.ceil(most * share)), most) for share in shares})
    named = tuple(from_estimator(name, learner) for name, learner in learners.items())
    return Plan(seed, splits, tuple(sizes), (world,), named, guard_foreign=False)


def run(plan: Plan, path: Path, n_jobs: int, budget: float | None, label: str = SPLITS) -> bool:
    """Compute the splits that the store lacks, as far as the budget in seconds goes; False if Ctrl-C ended it.

    The clock starts when all kernels are compiled: they are with the scores of the first split at the smallest size.
    """
    try:
        first = replace(plan, trials=1, sizes=plan.sizes[:1])
        with plan_store(first, path) as store:
            compute(store, first, 1, progress="silent")
        with plan_store(plan, path) as store:
            deadline = None if budget is None else time.monotonic() + budget
            compute(store, plan, n_jobs, deadline=deadline, label=label)
    except KeyboardInterrupt:
        return False
    return True


def scores_of(plan: Plan, path: Path) -> Scores:
    """Scores of the splits that are complete; raises if there is none."""
    with plan_store(plan, path) as store:
        rows, failures = frame(store, FACTS), list(store.failures())
    wanted = {learner.name for learner in plan.learners}
    failed = _failed(failures, wanted)
    rows = rows[rows["learner"].isin(wanted - set(failed))]
    counts = rows.groupby("trial")["learner"].size()
    complete = counts.index[counts == len(plan.sizes) * (len(wanted) - len(failed))]
    rows = rows[rows["trial"].isin(complete)]
    if rows.empty:
        reasons = "".join(f" {name}: {why}" for name, why in failed.items())
        raise RunError(f"no split of the table was finished, so there is nothing to say yet.{reasons}")
    return Scores(rows, failed)


def _failed(failures: Sequence[Failure], wanted: set[str]) -> dict[str, str]:
    """Learners with a failure, and its cause; splits that failed as a whole concern no learner."""
    return {one.learner: one.cause for one in reversed(failures) if one.learner in wanted}


def split_hits(scores: Scores, reading: Reading, plan: Plan) -> list[SplitHits]:
    """Test rows of every split, and whether each learner, and the majority, was right on them."""
    world, found = reading.world, []
    labels, classes, codes = world.labels, *np.unique(world.labels, return_inverse=True)
    for trial, own in scores.at_full_size.groupby("trial"):
        training, test = world.split(Seed((plan.seed, world.identity, int(str(trial)))))
        commonest = classes[np.bincount(codes[training]).argmax()]
        hits = {name: unpacked(text, test.size) for name, text in zip(own["learner"], own["hits"], strict=True)}
        found.append(SplitHits(test, {**hits, MAJORITY: labels[test] == commonest}))
    return found


def drawn_scores(
    misfit: Misfit, table: pd.DataFrame, target: str, plan: Plan, path: Path, n_jobs: int, budget: float | None
) -> Scores | None:
    """Scores of a plan's learners on tables drawn from the classes that were fitted to a table; None if none was done.

    The drawn tables have the rows and the missing cells of this one, and are split as it is.
    """
    model = misfit.model
    world = DrawnTable(model.columns_, next_table(model, table), model.parameters_, target, TEST_SHARE)
    most = len(table) - round(TEST_SHARE * len(table))
    learners = {learner.name: learner.prototype for learner in plan.learners}
    few = plan_of(world, most, learners, plan.seed, min(plan.trials, DRAWN_TABLES), shares=(1,))
    if not run(few, path, n_jobs, budget, DRAWN):
        return None
    with suppress(RunError):
        return scores_of(few, path)
    return None
