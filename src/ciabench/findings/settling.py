"""Adds trials until claims are decided: only where statements are undecided, world by world and size by size.

Trials are added in rounds. A round looks at every claim with the trials that it has so far, and wants more of those
points (world, learner, size) that an undecided statement rests on. What a round wants depends on the first trials of
these points alone, never on the order in which they came in, so that a run that was killed ends with the same rows as
one that was not.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ciabench.errors import ExperimentError
from ciabench.findings.evidence import Point
from ciabench.findings.points import DEPARTURE
from ciabench.findings.rounds import Standing, Trials, standings
from ciabench.findings.statements import ENOUGH
from ciabench.lab.compute.progress import Style, Tally
from ciabench.lab.plan.experiment import Experiment
from ciabench.lab.plan.outcome import CellOutcome
from ciabench.lab.plan.plan import Job, Plan, Wanted
from ciabench.lab.session import computed, store_path
from ciabench.lab.storage.database import is_begun
from ciabench.lab.storage.provenance import environment
from ciabench.lab.storage.records import Failure
from ciabench.lab.storage.rows import frame
from ciabench.lab.storage.store import Store
from ciabench.lab.storage.view import STATED, WORLD

Report = Callable[[list[Standing], int], None]
"""Called before each round with where the claims stand, and the number of cells to compute."""


def silent(standing: list[Standing], cells: int) -> None:
    """Report nothing."""


@dataclass
class Part:
    """An experiment with its plan and store; of each point that it offers, the position of the world and the score."""

    experiment: Experiment
    path: Path
    plan: Plan
    places: dict[Point, tuple[int, Wanted]]
    store: Store | None = None

    @classmethod
    def of(cls, experiment: Experiment, folder: Path) -> "Part":
        """An experiment that is continued with as many trials as its store has."""
        path, plan, places = store_path(experiment, folder), experiment.plan(), {}
        for place, world in enumerate(plan.worlds):
            for wanted in plan.wanted(place):
                name = plan.entrants[wanted.entrant].name
                places[world.name, name, wanted.size] = place, wanted
                if name == STATED[DEPARTURE]:
                    places[world.name, DEPARTURE, wanted.size] = place, wanted
        return cls(experiment, path, plan, places)

    def read_into(self, trials: Trials) -> None:
        """Record what the store has."""
        if not is_begun(self.path):
            return
        with Store(self.path) as store:
            known = store.everything().trials
        self.opened(known)
        assert self.store is not None
        rows = frame(self.store)
        label: Any
        for label, group in rows.groupby([WORLD, "learner", "size"], sort=False):
            world, learner, size = label
            trials.fill((world, learner, size), group["trial"], group["t"])
            if learner == STATED[DEPARTURE]:
                trials.fill((world, DEPARTURE, size), group["trial"], group[DEPARTURE])
        for failure in self.store.failures():
            for point in self.places:
                if _is_of(failure, point):
                    trials.fill(point, [failure.trial], [np.nan])

    def opened(self, most: int) -> Store:
        """The store, opened to add to it, with a view of so many trials."""
        if self.store is not None:
            self.store.close()
        own = self.experiment.model_copy(update={"trials": max(1, most)})
        self.store = Store.continued(self.path, own.spec(), own.plan(), environment())
        return self.store

    def jobs(self, trials: Trials, points: Sequence[Point]) -> list[Job]:
        """Cells with all scores that are wanted of these points and lacking, in the order of the trials."""
        cells: dict[tuple[int, int], set[Wanted]] = {}
        for point in points:
            world, wanted = self.places[point]
            for trial in np.flatnonzero(~trials.is_tried[point][: trials.wanted[point]]):
                cells.setdefault((int(trial), world), set()).add(wanted)
        return [Job(world, trial, sorted(wanted, key=_by_size)) for (trial, world), wanted in sorted(cells.items())]

    def compute(self, queue: list[Job], trials: Trials, jobs: int, progress: Style, deadline: float | None) -> None:
        """Compute cells, store them, and record their scores."""
        store = self.store or self.opened(1)
        tally = Tally(self.plan, 0, len(queue))
        cells = computed(store, self.plan, queue, tally, jobs, progress=progress, deadline=deadline)
        for cell in cells:
            self.record(cell, trials)

    def close(self, trials: Trials, owners: Mapping[Point, "Part"]) -> None:
        """Leave the store with a view of all trials that were wanted."""
        if self.store is not None:
            known = self.store.view().trials
            wanted = max((trials.wanted[point] for point, owner in owners.items() if owner is self), default=0)
            self.opened(max(known, wanted)).close()

    def record(self, cell: CellOutcome, trials: Trials) -> None:
        """Record the scores of a finished cell."""
        world = self.plan.worlds[cell.world].name
        for score in cell.scores:
            name = self.plan.entrants[score.entrant].name
            t = np.nan if score.t is None else score.t
            trials.fill((world, name, score.size), [cell.trial], [t])
            if name == STATED[DEPARTURE]:
                departure = json.loads(score.facts or "{}").get(DEPARTURE, np.nan)
                trials.fill((world, DEPARTURE, score.size), [cell.trial], [departure])


def _is_of(failure: Failure, point: Point) -> bool:
    """Whether a failed score, or a failed trial with all its scores, is one of a point."""
    world, learner, size = point
    return failure.world == world and failure.learner in (None, learner) and failure.size in (None, size)


def _by_size(wanted: Wanted) -> tuple[int, int]:
    return wanted.size, wanted.entrant


def want_more(trials: Trials, found: Sequence[tuple[Standing, Sequence[Sequence[Point]]]]) -> None:
    """Want more trials of claims that are undecided; once there are none, of statements of the others that are."""
    before = dict(trials.wanted)
    trials.want_more(points for standing, needed in found if not standing.is_decided for points in needed)
    if trials.wanted == before:
        trials.want_more(points for _, needed in found for points in needed)


def settle(
    experiments: Sequence[Experiment],
    folder: Path,
    *,
    jobs: int = 1,
    budget: float | None = None,
    most: int = ENOUGH,
    progress: Style = "bar",
    report: Report = silent,
) -> Trials:
    """Add trials to the stores of experiments until the claims are decided, or on the margin.

    Parameters
    ----------
    experiments : sequence of Experiment
        Of the same seed; a point that several of them offer is computed by the first.
    folder : path
        Holds their stores.
    jobs : int
        Worker processes.
    budget : float, optional
        Seconds after which no further cell is begun.
    most : int
        Most trials of a point.
    progress : {"full", "bar", "silent"}
    report : callable
        Told before each round where the claims stand, and how many cells are to be computed.

    Returns
    -------
    Trials
        All points, with the number of trials wanted of each.
    """
    if len({experiment.seed for experiment in experiments}) > 1:
        raise ExperimentError("experiments that are settled together need the same seed.")
    deadline = None if budget is None else time.monotonic() + budget
    parts = [Part.of(experiment, folder) for experiment in experiments]
    owners = {point: part for part in reversed(parts) for point in part.places}
    trials = Trials(owners, most)
    with ExitStack() as stack:
        for part in parts:
            stack.callback(part.close, trials, owners)
            part.read_into(trials)
        while True:
            before, found = dict(trials.wanted), list(standings(trials))
            is_over = deadline is not None and time.monotonic() > deadline
            if not is_over:
                want_more(trials, found)
            queues = [part.jobs(trials, [point for point in owners if owners[point] is part]) for part in parts]
            report([standing for standing, _ in found], sum(map(len, queues)))
            if is_over or (trials.wanted == before and not any(queues)):
                return trials
            for part, queue in zip(parts, queues, strict=True):
                if queue and (deadline is None or time.monotonic() < deadline):
                    part.compute(queue, trials, jobs, progress, deadline)
