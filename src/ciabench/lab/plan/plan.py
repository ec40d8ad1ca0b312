"""What a run computes: a plan of worlds, learners and sizes, and its cells as jobs."""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from typing import NamedTuple

from ciabench.errors import ExperimentError, TableWarning
from ciabench.lab.plan.learner import Learner, check_name, check_parameters
from ciabench.seeds import canonical
from ciabench.world.base import World


class Reference(NamedTuple):
    """A reference curve that worlds offer beside the learners, such as the limit of learning."""

    name: str


Entrant = Learner | Reference
"""Something that is scored: a learner, or a reference of the world."""


class Wanted(NamedTuple):
    """One score to compute: position of the entrant in the plan, and a size."""

    entrant: int
    size: int


class Job(NamedTuple):
    """One cell to compute: position of the world in the plan, trial index, and the missing scores."""

    world: int
    trial: int
    wanted: Sequence[Wanted]


@dataclass(frozen=True)
class Plan:
    """Everything that a worker needs to know about an experiment.

    Parameters
    ----------
    seed : int
        Root of all randomness.
    trials : int
        Trials per world.
    sizes : tuple of int
        Numbers of training examples, in increasing order.
    worlds : tuple of World
    learners : tuple of Learner
    references : tuple of Reference
        Reference curves, computed for the worlds that offer them.
    time_limit : float, optional
        Seconds that one fit may take.
    guard_foreign : bool
        Whether learners that are not built in run in a separate process.
    """

    seed: int
    trials: int
    sizes: tuple[int, ...]
    worlds: tuple[World, ...]
    learners: tuple[Learner, ...]
    references: tuple[Reference, ...] = ()
    time_limit: float | None = None
    guard_foreign: bool = True

    def __post_init__(self) -> None:
        for world in self.worlds:
            _check_plain(world)
            check_parameters(world.name, world.parameters)
        for kind, names in (
            ("worlds", [world.name for world in self.worlds]),
            ("learners", [entrant.name for entrant in self.entrants]),
        ):
            name, count = Counter(names).most_common(1)[0] if names else ("", 0)
            if count > 1:
                raise ExperimentError(f"two {kind} are called {name}; leave one out, or give it another name.")
            for name in names:
                check_name(name)
        for world in self.worlds:
            most = world.most_examples
            if most is not None and max(self.sizes) > most:
                warnings.warn(
                    f"{world.name}: has {most} training rows; larger sizes mean all of them.",
                    TableWarning,
                    stacklevel=3,
                )
        offered = {name for world in self.worlds for name in world.references}
        for reference in self.references:
            if reference.name not in offered:
                known = f"; offered are {', '.join(sorted(offered))}" if offered else ""
                raise ExperimentError(f"no world of the experiment offers the reference {reference.name!r}{known}.")

    @property
    def entrants(self) -> tuple[Entrant, ...]:
        """Learners, then references: what `Wanted.entrant` counts."""
        return (*self.learners, *self.references)

    def wanted(self, world: int) -> list[Wanted]:
        """Every learner at every size, and the references that this world offers."""
        offered = self.worlds[world].references
        entrants = [
            position
            for position, entrant in enumerate(self.entrants)
            if isinstance(entrant, Learner) or entrant.name in offered
        ]
        return [Wanted(entrant, size) for size in self.sizes for entrant in entrants]

    def jobs(self) -> list[Job]:
        """Every cell with all its scores."""
        return [
            Job(world, trial, self.wanted(world)) for world in range(len(self.worlds)) for trial in range(self.trials)
        ]

    def is_guarded(self, learner: Learner) -> bool:
        """Whether a learner runs in a separate process."""
        return self.time_limit is not None or (self.guard_foreign and not learner.builtin)


def _check_plain(world: World) -> None:
    """Refuse a world unless its identity is JSON and its parameters are plain values."""
    kind = type(world)
    if kind.parameters is World.parameters and not is_dataclass(world):
        raise ExperimentError(f"the world {kind.__name__} is not a dataclass: write @dataclass(frozen=True) above it.")
    try:
        canonical([world.identity, world.parameters])
        is_flat = all(
            value is None or isinstance(value, bool | int | float | str) for value in world.parameters.values()
        )
    except (TypeError, ValueError):
        is_flat = False
    if not is_flat:
        raise ExperimentError(
            f"the parameters of the world {type(world).__name__} must be plain values (finite numbers, strings, "
            "booleans or None), and its identity must be JSON."
        )
