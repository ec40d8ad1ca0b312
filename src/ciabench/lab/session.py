"""A run from beginning to end: an experiment and a folder, or a family and some estimators in memory."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ciabench.errors import ExperimentError
from ciabench.lab.compute.progress import Style, Tally, following
from ciabench.lab.compute.runner import run_cells
from ciabench.lab.compute.trial import CellRow, Job, Plan
from ciabench.lab.compute.workers import Backend, pool
from ciabench.lab.plan.experiment import Experiment
from ciabench.lab.plan.learner import from_estimator
from ciabench.lab.spec import label
from ciabench.lab.storage.provenance import environment
from ciabench.lab.storage.results import COLUMNS, LABELS, TASK
from ciabench.lab.storage.store import Counts, Store
from ciabench.lab.tasks import CIATasks
from ciabench.world.family import CIAFamily


def store_path(experiment: Experiment, folder: str | Path) -> Path:
    """File in which an experiment's results are kept."""
    return Path(folder) / f"{experiment.name}.db"


def run_experiment(
    experiment: Experiment,
    folder: str | Path,
    *,
    jobs: int = 1,
    backend: Backend = "processes",
    scheduler: str | None = None,
    retry_failed: bool = False,
    progress: Style = "bar",
) -> Counts:
    """Compute what is missing of an experiment, and keep it in `folder`.

    Parameters
    ----------
    experiment : Experiment
    folder : path
        Holds one store an experiment; made if it is missing.
    jobs : int
        Worker processes.
    backend : {"processes", "dask"}
    scheduler : str, optional
        Address of a running Dask cluster; without it a local one is started.
    retry_failed : bool
        Whether to compute again what failed before.
    progress : {"full", "bar", "silent"}
        A bar in a terminal or notebook; "full" prints lines elsewhere.

    Returns
    -------
    Counts
        Of the store, after the run.
    """
    plan = experiment.plan()
    path = store_path(experiment, folder)
    with Store.continued(path, experiment.spec(), plan, environment()) as store:
        complete = store.complete_cells(plan, retry_failed)
        tally = Tally(plan, complete, plan.trials * len(plan.families))
        missing = store.missing(plan, retry_failed)
        with (
            pool(backend, jobs, scheduler) as workers,
            following(progress, tally) as show,
            closing(run_cells(plan, missing, workers)) as cells,
        ):
            for cell in cells:
                store.add(cell)
                show(cell)
        return store.counts()


def learning_curve(
    family: CIAFamily,
    learners: Mapping[str, Any],
    *,
    sizes: Sequence[int],
    trials: int = 100,
    n_jobs: int = 1,
    random_state: int | None = None,
) -> pd.DataFrame:
    """Measure how learners improve with the number of examples, on models drawn from a family.

    Parameters
    ----------
    family : CIAFamily
    learners : mapping of str to classifier
        Unfitted scikit-learn classifiers; those with `random_state=None` are seeded by the trial.
    sizes : sequence of int
        Numbers of training examples.
    trials : int
        Models drawn from the family.
    n_jobs : int
        Worker processes; the result does not depend on it.
    random_state : int, optional
        Root of all randomness; as `seed` in an experiment file, and with the same numbers.

    Returns
    -------
    DataFrame
        One row a trial, size and learner: n, k, b, trial, size, learner, success, best, constant, t, t_error,
        fit_seconds. What failed is left out, with a warning.

    Examples
    --------
    >>> from ciabench import CIAFamily
    >>> from sklearn.naive_bayes import BernoulliNB
    >>> rows = learning_curve(
    ...     CIAFamily(n=10, k=2, b=0.9), {"bayes": BernoulliNB()}, sizes=[10, 1000], trials=20, random_state=0
    ... )
    >>> rows.groupby("size")["t"].mean().round(1).tolist()
    [-0.2, 0.9]
    """
    return run_plan(_plan(family, learners, sizes, trials, random_state), n_jobs)


def run_plan(plan: Plan, n_jobs: int) -> pd.DataFrame:
    """Compute all cells of a plan in memory: their rows, without what failed, of which a warning tells."""
    jobs = [Job(family, trial, plan.wanted()) for family in range(len(plan.families)) for trial in range(plan.trials)]
    found: list[CellRow] = []
    with (
        pool("processes", n_jobs) as workers,
        following("bar", Tally(plan, 0, len(jobs))) as show,
        closing(run_cells(plan, jobs, workers)) as cells,
    ):
        for cell in cells:
            found.append(cell)
            show(cell)
    _warn_of_failures(plan, found)
    return _frame(plan, found)


def _plan(
    family: CIAFamily, learners: Mapping[str, Any], sizes: Sequence[int], trials: int, random_state: int | None
) -> Plan:
    """Plan of a learning curve, checked."""
    for what, value in [("trials", trials), *(("sizes", size) for size in sizes)]:
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise ExperimentError(f"{what} must be integers of at least 1; got {value!r}.")
    if not sizes or not learners:
        raise ExperimentError("a learning curve needs at least one size and one learner.")
    if not isinstance(family, CIAFamily):
        raise ExperimentError(f"family must be a CIAFamily; got {family!r}.")
    named = tuple(from_estimator(name, estimator) for name, estimator in learners.items())
    seed = np.random.SeedSequence().entropy if random_state is None else random_state
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ExperimentError(f"random_state must be None or an integer of at least 0; got {random_state!r}.")
    ordered = tuple(sorted({int(size) for size in sizes}))
    return Plan(int(seed), int(trials), ordered, (CIATasks(family),), named, guard_foreign=False)


def _frame(plan: Plan, cells: list[CellRow]) -> pd.DataFrame:
    """Tidy rows of finished cells, in the order of a store."""
    rows: list[tuple[Any, ...]] = []
    for cell in cells:
        told = plan.families[cell.family].identity
        for score in cell.scores:
            if score.error is None:
                name = plan.learners[score.learner].name
                labels = (label(told), told["n"], told["k"], told["b"], cell.trial, score.size, name)
                measured = (score.success, cell.best, cell.constant, score.t, score.t_error, score.fit_seconds)
                rows.append(labels + measured)
    rows.sort(key=lambda row: row[1 : 1 + len(LABELS)])
    has_pairs = any("pair" in family.identity for family in plan.families)
    return pd.DataFrame(rows, columns=[TASK, *COLUMNS])[[TASK, *COLUMNS] if has_pairs else COLUMNS]


def _warn_of_failures(plan: Plan, cells: list[CellRow]) -> None:
    """Warn once, with the last line of the first error."""
    failures = [(cell, score) for cell in cells for score in cell.scores if score.error is not None]
    if failures:
        cell, score = failures[0]
        cause = (cell.error or score.error or "").strip().splitlines()[-1]
        name = plan.learners[score.learner].name
        warnings.warn(
            f"{len(failures)} scores failed and are left out; {name} at size {score.size}: {cause}",
            RuntimeWarning,
            stacklevel=3,
        )
