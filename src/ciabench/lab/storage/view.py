"""The part of a store that is shown: worlds, learners under their names, sizes and trials; and its rows."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from ciabench.errors import StoreError, shown
from ciabench.lab.plan.learner import check_name, check_parameters
from ciabench.lab.plan.plan import Plan

WORLD = "world"
LABELS = [WORLD, "trial", "size", "learner"]
"""Columns that identify a row; the parameters of the world come between the first and the second."""

MEASURES = ["success", "best", "constant", "t", "t_error", "fit_seconds"]

STATED = {
    "departure": "projection",
    "limit_random": "limit",
    "limit_truth": "limit",
    "limit_unweighted": "limit",
}
"""Columns that references add to all rows of a trial and size: a fact that is stated, and the name of the reference."""


JUDGED = ["log_loss", "auc"]
"""Columns on request: facts that judges of held-out rows state about a score."""


class StoredWorld(NamedTuple):
    """A world of a store: its row id, name and parameters."""

    id: int
    name: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class View:
    """The part of a store that is shown.

    Parameters
    ----------
    worlds : list of StoredWorld
        In the order of the experiment file.
    learners : dict
        Row id of a learner → names under which its scores are shown.
    sizes : set of int
    trials : int
        Trials shown per world.
    scores_per_trial : int
        Scores wanted in one trial of every world together.
    facts : tuple of str
        Facts of the scores that are shown as further columns.
    """

    worlds: list[StoredWorld]
    learners: dict[int, list[str]]
    sizes: frozenset[int]
    trials: int
    scores_per_trial: int = 0
    facts: tuple[str, ...] = ()

    @classmethod
    def read(cls, view: dict[str, Any], worlds: Sequence[tuple[int, str, str]]) -> "View":
        """Read the view from its stored form."""
        known = {row: StoredWorld(row, name, _flat(parameters)) for row, name, parameters in worlds}
        learners: dict[int, list[str]] = {}
        for row, name in zip(view["learners"]["ids"], view["learners"]["names"], strict=True):
            learners.setdefault(row, []).append(name)
        chosen = [known[row] for row in view["worlds"]]
        return cls(chosen, learners, frozenset(view["sizes"]), view["trials"], view["scores_per_trial"])

    @classmethod
    def of_everything(
        cls,
        worlds: Sequence[tuple[int, str, str]],
        learners: Sequence[tuple[int, str]],
        sizes: Sequence[int],
        trials: int,
    ) -> "View":
        """View of everything in a store; worlds or learners of the same name are numbered."""
        world_names = _unique({row: name for row, name, _ in worlds})
        learner_names = _unique(dict(learners))
        chosen = [StoredWorld(row, world_names[row], _flat(parameters)) for row, _, parameters in worlds]
        return cls(chosen, {row: [name] for row, name in learner_names.items()}, frozenset(sizes), trials)

    def __post_init__(self) -> None:
        for name in [
            *(world.name for world in self.worlds),
            *(name for names in self.learners.values() for name in names),
        ]:
            if not isinstance(name, str):
                raise TypeError("a name must be text")
            check_name(name)
        for world in self.worlds:
            check_parameters(world.name, world.parameters)

    @property
    def parameters(self) -> list[str]:
        """Names of all parameters of its worlds."""
        return list(dict.fromkeys(name for world in self.worlds for name in world.parameters))

    @property
    def stated(self) -> dict[str, int]:
        """Facts that references state, and the row id of the reference."""
        by_name = {name: row for row, names in self.learners.items() for name in names}
        return {fact: by_name[reference] for fact, reference in STATED.items() if reference in by_name}

    @property
    def columns(self) -> list[str]:
        """Columns of its rows; a parameter with the name of another column is prefixed with "world_"."""
        taken = {*LABELS, *MEASURES, *STATED, *JUDGED}
        named = [f"world_{name}" if name in taken else name for name in self.parameters]
        return [WORLD, *named, *LABELS[1:], *self.stated, *MEASURES, *self.facts]

    def rows(
        self, world: StoredWorld, cell: Sequence[Any], scores: Sequence[Sequence[Any]]
    ) -> Iterator[tuple[Any, ...]]:
        """Rows of one cell, by size and learner."""
        _, _, trial, best, constant, *_ = cell
        if trial >= self.trials:
            return
        labels = (world.name, *(world.parameters.get(name) for name in self.parameters), trial)
        stated = self._stated_in(scores)
        shown = [
            (size, name, *stated[size], success, best, constant, t, t_error, fit_seconds, *self._chosen(facts))
            for learner, size, is_done, success, t, t_error, fit_seconds, _, facts in scores
            if is_done and size in self.sizes
            for name in self.learners.get(learner, ())
        ]
        for row in sorted(shown, key=lambda row: row[:2]):
            yield (*labels, *row)

    def _stated_in(self, scores: Sequence[Sequence[Any]]) -> dict[int, list[Any]]:
        """Values of the facts that references state, by size, from the scores of a cell; None where they failed."""
        stated = self.stated
        references = set(stated.values())
        known = {(one[0], one[1]): _facts(one[-1]) for one in scores if one[0] in references and one[-1]}
        return {
            size: [known.get((reference, size), {}).get(fact) for fact, reference in stated.items()]
            for size in {score[1] for score in scores}
        }

    def _chosen(self, facts: str) -> list[Any]:
        """Values of the facts that are shown, from those of a score as JSON, which is not parsed if there are none."""
        known = _facts(facts) if self.facts and facts else {}
        return [known.get(name) for name in self.facts]


def _flat(text: str) -> dict[str, Any]:
    """Parameters of a world from JSON: plain values by name."""
    found = json.loads(text)
    if not isinstance(found, dict) or any(isinstance(value, list | dict) for value in found.values()):
        raise ValueError("parameters must be plain values by name")
    return found


def _facts(text: str) -> dict[str, Any]:
    """Facts of a score from JSON."""
    with suppress(ValueError, RecursionError):
        found = json.loads(text)
        if isinstance(found, dict):
            return found
    raise StoreError(f"a store is damaged: the facts of a score are {shown(text)}.")


def view_of(plan: Plan, worlds: Sequence[int], learners: Sequence[Sequence[int | None]]) -> dict[str, Any]:
    """View that a plan asks for, as JSON; `worlds` and `learners` are row ids of the store."""
    named = dict.fromkeys(
        (row, entrant.name)
        for rows in learners
        for row, entrant in zip(rows, plan.entrants, strict=True)
        if row is not None
    )
    distinct = [len({row for row in rows if row is not None}) for rows in learners]
    return {
        "worlds": list(worlds),
        "learners": {"ids": [row for row, _ in named], "names": [name for _, name in named]},
        "sizes": list(plan.sizes),
        "trials": plan.trials,
        "scores_per_trial": sum(distinct) * len(plan.sizes),
    }


def _unique(names: dict[int, str]) -> dict[int, str]:
    """Names by row id, numbered where several are the same."""
    counts = Counter(names.values())
    return {row: name if counts[name] == 1 else f"{name} #{row}" for row, name in names.items()}
