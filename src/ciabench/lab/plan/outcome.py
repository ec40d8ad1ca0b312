"""The outcome of a job: a cell with its scores, done or failed.

Outcomes are plain tuples with facts as text, because thousands per second travel from the workers to the driver.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ciabench.lab.plan.plan import Job
from ciabench.seeds import canonical
from ciabench.world.base import Facts


class ScoreOutcome(NamedTuple):
    """Outcome of one entrant at one size; done unless it has an error. Facts are `as_text`."""

    entrant: int
    size: int
    error: str | None = None
    success: float | None = None
    t: float | None = None
    t_error: float | None = None
    fit_seconds: float | None = None
    facts: str = ""


class CellOutcome(NamedTuple):
    """Outcome of one cell; if it has an error, all its scores have failed. Facts are `as_text`."""

    world: int
    trial: int
    seconds: float
    scores: Sequence[ScoreOutcome]
    error: str | None = None
    best: float | None = None
    constant: float | None = None
    facts: str = ""


def failed_cell(job: Job, error: str, seconds: float = 0.0) -> CellOutcome:
    """Outcome of a cell without scores, with the reason."""
    scores = [ScoreOutcome(wanted.entrant, wanted.size, "its trial failed.") for wanted in job.wanted]
    return CellOutcome(job.world, job.trial, seconds, scores, error)


def as_text(facts: Facts) -> str:
    """Facts as canonical JSON: numbers, strings and booleans; non-finite numbers become null, others are dropped.

    Examples
    --------
    >>> as_text({"log_loss": np.float64(0.5), "auc": float("nan"), "path": [1, 2]})
    '{"auc":null,"log_loss":0.5}'
    >>> as_text({})
    ''
    """
    plain: dict[str, Any] = {}
    for name, value in facts.items():
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, float) and not math.isfinite(value):
            value = None
        if value is None or isinstance(value, bool | float | str) or (isinstance(value, int) and abs(value) < 2**62):
            plain[str(name)] = value
    return canonical(plain) if plain else ""
