"""A whole run: an experiment and a folder, or a world and estimators in memory."""

import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from ciabench.errors import ExperimentError, RunError
from ciabench.lab.compute.progress import Style, Tally, following
from ciabench.lab.compute.runner import run_cells
from ciabench.lab.compute.workers import Backend, pool, prepare
from ciabench.lab.plan.experiment import Experiment
from ciabench.lab.plan.learner import LEARNERS, Learner, from_estimator
from ciabench.lab.plan.outcome import CellOutcome
from ciabench.lab.plan.plan import Job, Plan, Reference
from ciabench.lab.plan.registry import described
from ciabench.lab.plan.worlds import WORLDS
from ciabench.lab.storage.provenance import environment
from ciabench.lab.storage.records import Counts, Failure
from ciabench.lab.storage.rows import frame
from ciabench.lab.storage.store import Store
from ciabench.lab.storage.view import JUDGED
from ciabench.world.base import World
from ciabench.world.table import Table


def store_path(experiment: Experiment, folder: str | Path) -> Path:
    """File that holds an experiment's results."""
    return Path(folder) / f"{experiment.name}.db"


def run_experiment(
    experiment: Experiment,
    folder: str | Path,
    *,
    jobs: int = 1,
    backend: Backend = "processes",
    scheduler: str | None = None,
    retry_failed: bool = False,
    part: tuple[int, int] = (1, 1),
    progress: Style = "bar",
) -> Counts:
    """Compute the missing results of an experiment and store them in `folder`.

    Parameters
    ----------
    experiment : Experiment
    folder : path
        Holds one store per experiment; created if it is missing.
    jobs : int
        Worker processes.
    backend : {"processes", "dask"}
    scheduler : str, optional
        Address of a running Dask cluster (default: a local one is started).
    retry_failed : bool
        Whether to recompute scores that failed before.
    part : tuple of int
        (i, n) computes every n-th trial only, from the i-th; the stores of all parts can be merged.
    progress : {"full", "bar", "silent"}
        "full" and "bar" show a bar in a terminal or notebook; elsewhere, "full" prints lines.

    Returns
    -------
    Counts
        Counts of the store after the run.
    """
    if scheduler is not None and backend != "dask":
        raise RunError("a scheduler is only used with the backend dask; add --backend dask, or leave it out.")
    plan = experiment.plan()
    with Store.continued(store_path(experiment, folder), experiment.spec(), plan, environment()) as store:
        compute(store, plan, jobs, backend, scheduler, retry_failed, part, progress)
        return store.counts()


def learning_curve(
    world: World | tuple[Any, Any],
    learners: Mapping[str, Any] | Iterable[Any],
    *,
    sizes: Sequence[int],
    trials: int = 100,
    n_jobs: int = 1,
    random_state: int | None = None,
    references: Sequence[str] = (),
    facts: Sequence[str] = (),
    store: str | Path | None = None,
) -> pd.DataFrame:
    """Measure how learners improve with the number of examples.

    Parameters
    ----------
    world : World or (X, y)
        A family of models such as `CIAFamily`, any other world, or labelled rows; each trial holds out a fifth of them.
    learners : mapping of str to classifier, or iterable of classifiers
        Unfitted scikit-learn classifiers; those with `random_state=None` are seeded by the trial. Unless they are given
        names, they are named after their classes.
    sizes : sequence of int
        Numbers of training examples.
    trials : int
        Number of trials: models drawn from a family, or splits of rows.
    n_jobs : int
        Worker processes; the results do not depend on it.
    random_state : int, optional
        Root of all randomness; equivalent to `seed` in an experiment file, with the same results.
    references : sequence of str
        Reference curves of the world to compute as well.
    facts : sequence of str
        Further columns, "log_loss" and "auc": only worlds of data have them, for learners with `predict_proba`.
    store : path, optional
        File that keeps the scores: those it already has are not computed again, and an interrupted call resumes.

    Returns
    -------
    DataFrame
        One row per trial, size and learner: world, its parameters, trial, size, learner, success, best, constant, t,
        t_error, fit_seconds. Scores that failed are left out, with a warning.

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
    if store is not None and random_state is None:
        raise ExperimentError("a curve kept in a store needs a random_state, so that the next call can resume it.")
    if any(fact not in JUDGED for fact in facts):
        raise ExperimentError(f"facts must be a list of {' and '.join(map(repr, JUDGED))}, or of one; got {facts!r}.")
    plan = _plan(world, learners, sizes, trials, random_state, references)
    if store is None:
        with TemporaryDirectory() as folder:
            return run_plan(plan, Path(folder) / "curve.db", n_jobs, facts)
    for learner in plan.learners:
        if not learner.can_be_kept:
            raise ExperimentError(
                f"learner {learner.name!r} cannot be kept in a store: its parameters are not all plain values or "
                "estimators, so two such learners could not be distinguished; leave `store` out."
            )
    return run_plan(plan, Path(store), n_jobs, facts)


def run_plan(plan: Plan, path: Path, n_jobs: int, facts: Sequence[str] = ()) -> pd.DataFrame:
    """Compute the scores that a store lacks, and return its rows with facts; failures are left out, with a warning."""
    with plan_store(plan, path) as store:
        compute(store, plan, n_jobs)
        _warn_of_failures(list(store.failures()))
        return frame(store, facts)


def plan_store(plan: Plan, path: Path) -> Store:
    """Store of a plan, opened to add to it."""
    return Store.continued(path, _spec(plan, path.stem), plan, environment())


def compute(
    store: Store,
    plan: Plan,
    jobs: int,
    backend: Backend = "processes",
    scheduler: str | None = None,
    retry_failed: bool = False,
    part: tuple[int, int] = (1, 1),
    progress: Style = "bar",
    deadline: float | None = None,
    label: str | None = None,
) -> None:
    """Compute the scores of a plan, or of a part of its trials, that a store lacks, as far as the deadline allows."""
    number, count = part
    total = len(range(number - 1, plan.trials, count)) * len(plan.worlds)
    complete = store.complete_cells(plan, retry_failed)
    if complete >= total:
        return
    tally = Tally(plan, complete, total)
    with closing(store.missing(plan, retry_failed)) as missing:
        source = _of_part(missing, part)
        cells = computed(store, plan, source, tally, jobs, backend, scheduler, progress, deadline, label)
        deque(cells, maxlen=0)


def computed(
    store: Store,
    plan: Plan,
    source: Iterable[Job],
    tally: Tally,
    jobs: int,
    backend: Backend = "processes",
    scheduler: str | None = None,
    progress: Style = "bar",
    deadline: float | None = None,
    label: str | None = None,
) -> Iterator[CellOutcome]:
    """Compute jobs from any source, and yield their cells once they are stored, as far as the deadline allows."""
    if backend == "processes":
        prepare(plan, jobs)
    with (
        pool(backend, jobs, scheduler) as workers,
        following(progress, tally, label) as show,
        closing(run_cells(plan, source, workers, deadline)) as batches,
    ):
        for cells in batches:
            store.add(*cells)
            for cell in cells:
                show(cell)
                yield cell


def _of_part(jobs: Iterable[Job], part: tuple[int, int]) -> Iterator[Job]:
    """Jobs of every n-th trial."""
    number, count = part
    return (job for job in jobs if job.trial % count == number - 1)


def _plan(
    world: Any,
    learners: Mapping[str, Any] | Iterable[Any],
    sizes: Sequence[int],
    trials: int,
    random_state: int | None,
    references: Sequence[str],
) -> Plan:
    """Plan of a learning curve, checked."""
    if not isinstance(sizes, Iterable) or isinstance(sizes, str):
        raise ExperimentError(f"sizes must be a list of integers, such as [10, 100]; got {sizes!r}.")
    for what, value in [("trials", trials), *(("every one of sizes", size) for size in sizes)]:
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise ExperimentError(f"{what} must be an integer of at least 1; got {value!r}.")
    if isinstance(references, str):
        raise ExperimentError(f"references must be a list of names, such as ['limit']; got {references!r}.")
    named = _named(learners)
    if not sizes or not named:
        raise ExperimentError("a learning curve needs at least one size and one learner.")
    seed = np.random.SeedSequence().entropy if random_state is None else random_state
    if not isinstance(seed, int | np.integer) or not 0 <= seed:
        raise ExperimentError(f"random_state must be None or an integer of at least 0; got {random_state!r}.")
    return Plan(
        seed=int(seed) % 2**63,
        trials=int(trials),
        sizes=tuple(sorted({int(size) for size in sizes})),
        worlds=(_world(world),),
        learners=named,
        references=tuple(map(Reference, references)),
        guard_foreign=False,
    )


def _world(world: Any) -> World:
    """A world as it is, or a table of labelled rows."""
    if isinstance(world, World):
        return world
    if isinstance(world, tuple) and len(world) == 2:
        return Table(*world)
    raise ExperimentError(
        f"world must be a World, such as CIAFamily or Table, or (X, y); got a {type(world).__name__}."
    )


def _named(learners: Mapping[str, Any] | Iterable[Any]) -> tuple[Learner, ...]:
    """Learners with their names; those without are named after their classes."""
    if not isinstance(learners, Mapping):
        if not isinstance(learners, Iterable):
            raise ExperimentError(f"learners must be a dict of classifiers by name, or a list; got {learners!r}.")
        return tuple(from_estimator(_class_of(estimator).__name__, estimator) for estimator in learners)
    return tuple(from_estimator(name, estimator) for name, estimator in learners.items())


def _class_of(estimator: Any) -> type:
    return estimator if isinstance(estimator, type) else type(estimator)


def _spec(plan: Plan, name: str) -> dict[str, Any]:
    """Plan of a learning curve, in the form of an experiment."""
    return {
        "name": name,
        "seed": plan.seed,
        "trials": plan.trials,
        "sizes": list(plan.sizes),
        "worlds": [{"use": WORLDS.name_of(type(world)), **world.parameters} for world in plan.worlds],
        "learners": [
            {"use": one.use, "name": one.name, **described(one.params, LEARNERS.name_of)} for one in plan.learners
        ],
        "references": [reference.name for reference in plan.references],
        "time_limit": plan.time_limit,
    }


def _warn_of_failures(failures: list[Failure]) -> None:
    """Issue one warning, with the last line of the first error."""
    if failures:
        first = failures[0]
        who = f"{first.learner} at size {first.size}" if first.learner else f"trial {first.trial}"
        count = f"{len(failures)} {'score' if first.learner else 'trial'}{'s' if len(failures) > 1 else ''}"
        warnings.warn(f"{count} failed and are left out; {who}: {first.cause}", RuntimeWarning, stacklevel=4)
