"""Records of a store: named values for its SQL statements, and named fields for what is read from it."""

import json
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


def cell_values(world_id: int, cell: CellOutcome) -> Values:
    """Values of a cell."""
    return {
        "world": world_id,
        "trial": cell.trial,
        "state": _state(cell.error),
        "error": cell.error,
        "best": cell.best,
        "constant": cell.constant,
        "seconds": cell.seconds,
        "facts": _facts(cell.facts),
    }


def score_values(cell_id: int, learner_id: int | None, score: ScoreOutcome) -> Values:
    """Values of a score."""
    return {
        "cell": cell_id,
        "learner": learner_id,
        "size": score.size,
        "state": _state(score.error),
        "error": score.error,
        "success": score.success,
        "t": score.t,
        "t_error": score.t_error,
        "fit_seconds": score.fit_seconds,
        "facts": _facts(score.facts),
    }


def _state(error: str | None) -> str:
    return "failed" if error else "done"


def _facts(facts: Facts) -> str | None:
    return canonical(dict(facts)) if facts else None
