"""Records of a store: named values for its SQL statements, and named fields for what is read from it."""

import json
from math import isnan
from typing import Any, NamedTuple

from ciabench.lab.plan.learner import Learner
from ciabench.lab.plan.outcome import CellOutcome, ScoreOutcome
from ciabench.lab.plan.plan import Entrant
from ciabench.seeds import canonical
from ciabench.world.base import Facts, World

Values = dict[str, Any]


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


class ScoreRecord(NamedTuple):
    """A score of a cell as it is written and, without the cell, read; texts are empty where the table has NULL."""

    cell: int
    learner: int | None
    size: int
    is_done: bool
    success: float | None
    t: float | None
    t_error: float | None
    fit_seconds: float | None
    error: str
    facts: str


def cell_record(world_id: int, cell: CellOutcome) -> CellRecord:
    """Record of a cell."""
    error, facts = cell.error or "", _facts(cell.facts)
    return CellRecord(world_id, cell.trial, cell.best, cell.constant, not error, cell.seconds, error, facts)


def score_record(cell_id: int, learner_id: int | None, score: ScoreOutcome) -> ScoreRecord:
    """Record of a score."""
    error, facts = score.error or "", _facts(score.facts)
    success, t, t_error, fit_seconds = map(_number, (score.success, score.t, score.t_error, score.fit_seconds))
    return ScoreRecord(cell_id, learner_id, score.size, not error, success, t, t_error, fit_seconds, error, facts)


def _number(value: float | None) -> float | None:
    """A number; SQLite has no NaN and would write NULL."""
    return None if value is None or isnan(value) else value


def _facts(facts: Facts) -> str:
    return canonical(dict(facts)) if facts else ""
