"""The outcome of a job: a cell with its scores, done or failed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ciabench.lab.plan.plan import Job
from ciabench.world.base import Facts


@dataclass(frozen=True, slots=True)
class ScoreOutcome:
    """Outcome of one entrant at one size; done unless it has an error."""

    entrant: int
    size: int
    error: str | None = None
    success: float | None = None
    t: float | None = None
    t_error: float | None = None
    fit_seconds: float | None = None
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """Outcome of one cell; if it has an error, all its scores have failed."""

    world: int
    trial: int
    seconds: float
    scores: Sequence[ScoreOutcome]
    error: str | None = None
    best: float | None = None
    constant: float | None = None
    facts: Facts = field(default_factory=dict)


def failed_cell(job: Job, error: str, seconds: float = 0.0) -> CellOutcome:
    """Outcome of a cell without scores, with the reason."""
    scores = [ScoreOutcome(wanted.entrant, wanted.size, "its trial failed.") for wanted in job.wanted]
    return CellOutcome(job.world, job.trial, seconds, scores, error)


def plain_facts(facts: Facts) -> dict[str, Any]:
    """Facts that can be stored: numbers, strings and booleans; non-finite numbers become None, others are dropped.

    Examples
    --------
    >>> plain_facts({"log_loss": np.float64(0.5), "auc": float("nan"), "path": [1, 2]})
    {'log_loss': 0.5, 'auc': None}
    """
    plain = {}
    for name, value in facts.items():
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, float) and not math.isfinite(value):
            value = None
        if value is None or isinstance(value, bool | float | str) or (isinstance(value, int) and abs(value) < 2**62):
            plain[str(name)] = value
    return plain
