"""Records of a store: named values for its SQL statements, and named fields for what is read from it."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ciabench.lab.plan.learner import Learner
from ciabench.lab.plan.outcome import CellOutcome, ScoreOutcome
from ciabench.lab.plan.plan import Entrant
from ciabench.seeds import canonical
from ciabench.world.base import World

Values = dict[str, Any]
Spec = dict[str, Any]


class Head(NamedTuple):
    """What a store says of itself: its experiment as last run, the view of it by row ids, and the environments."""

    spec: Spec
    view: dict[str, Any]
    environments: list[dict[str, Any]]


def checked_head(spec: Any, view: Any, environments: Any) -> Head:
    """Head of a store, whose texts may be any JSON; raises unless it has what is read from it."""
    canonical([spec, view, environments])
    ids, names = view["learners"]["ids"], view["learners"]["names"]
    counts = [view["trials"], view["scores_per_trial"], spec["seed"], spec["trials"]]
    places = [*view["worlds"], *ids, *view["sizes"], *spec["sizes"], *counts]
    texts = [*names, spec["name"], *spec["references"]]
    tables = [*spec["worlds"], *spec["learners"], *environments]
    are_numbers = all(type(one) is int and 0 <= one < 2**63 for one in places)
    are_texts = all(isinstance(one, str) for one in texts)
    are_tables = all(isinstance(one, dict) for one in tables) and all("name" in one for one in spec["learners"])
    if not (are_numbers and are_texts and are_tables and len(ids) == len(names)):
        raise ValueError("not what is written into a store")
    return Head(spec, view, environments)


class Failure(NamedTuple):
    """A score that failed; if size and learner are None, a whole trial."""

    world: str
    trial: int
    size: int | None
    learner: str | None
    error: str

    @property
    def cause(self) -> str:
        """Last line of the error, the most informative one."""
        lines = str(self.error).strip().splitlines()
        return lines[-1] if lines else "unknown"

    @property
    def place(self) -> str:
        """World and trial and, for a single score, size and learner."""
        score = f", size {self.size}, {self.learner}" if self.learner else ""
        return f"{self.world}, trial {self.trial}{score}"


class Counts(NamedTuple):
    """Numbers of cells and scores present and wanted by the experiment, and of scores beyond it."""

    cells: int
    cells_wanted: int
    done: int
    failed: int
    scores_wanted: int
    beyond: int


def world_values(world: World) -> Values:
    """Values of a world."""
    return {
        "identity": canonical(world.identity),
        "version": world.version,
        "name": world.name,
        "parameters": json.dumps(world.parameters),
    }


def learner_values(entrant: Entrant, world: World) -> Values | None:
    """Values of a learner or reference; None for a reference that the world does not offer."""
    if isinstance(entrant, Learner):
        # An identity that does not contain everything that determines results must not be shared by two learners.
        identity = entrant.identity if entrant.can_be_kept else f"{entrant.identity} {entrant.name}"
        key = {"identity": identity, "version": entrant.version, "is_reference": False}
    elif entrant.name in world.references:
        key = {"identity": entrant.name, "version": world.references[entrant.name], "is_reference": True}
    else:
        return None
    return {**key, "name": entrant.name}


class CellRecord(NamedTuple):
    """A cell as it is written and, after its id, read; texts are empty where the table has NULL."""

    world: int
    trial: int
    best: float | None
    constant: float | None
    is_done: bool
    seconds: float
    error: str
    facts: str


Score = tuple[int | None, int, bool, float | None, float | None, float | None, float | None, str, str]
"""A score as it is written, after the id of its cell, and read: the columns of `tables.SCORES`."""


def cell_record(world_id: int, cell: CellOutcome) -> CellRecord:
    """Record of a cell."""
    error, best, constant = cell.error or "", cell.best, cell.constant
    best, constant = ((one or 0.0) if one == one else None for one in (best, constant))
    return CellRecord(world_id, cell.trial, best, constant, not error, cell.seconds, error, cell.facts)


def score_records(learners: Sequence[int | None], scores: Sequence[ScoreOutcome]) -> list[Score]:
    """Records of scores, given the row id of each entrant.

    SQLite has no −0, which would come back as 0, and no NaN, the only number that is not itself.
    """
    return [
        (
            learners[entrant],
            size,
            not error,
            (success or 0.0) if success == success else None,
            (t or 0.0) if t == t else None,
            (t_error or 0.0) if t_error == t_error else None,
            (fit_seconds or 0.0) if fit_seconds == fit_seconds else None,
            error or "",
            facts,
        )
        for entrant, size, error, success, t, t_error, fit_seconds, facts in scores
    ]
