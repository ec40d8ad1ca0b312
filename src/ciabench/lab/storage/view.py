"""The part of a store that is shown: worlds, learners under their names, sizes and trials; and its rows."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ciabench.errors import StoreError, shown
from ciabench.lab.plan.learner import check_name, check_parameters
from ciabench.lab.plan.plan import Plan
from ciabench.lab.storage.blocks import TRIAL, Block, floats
from ciabench.lab.storage.database import Row
from ciabench.lab.storage.tables import SCORE_COLUMNS

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

LEARNER, SIZE, IS_DONE, FACTS = 0, 1, 2, len(SCORE_COLUMNS) - 1
"""Positions of columns of the scores of a block."""


Table = dict[str, NDArray[Any]]
"""Columns of some rows; positions of names in place of worlds and learners."""


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
    known_sizes : set of int
        Sizes that the store may have scores at; empty if that was not recorded.
    """

    worlds: list[StoredWorld]
    learners: dict[int, list[str]]
    sizes: frozenset[int]
    trials: int
    scores_per_trial: int = 0
    facts: tuple[str, ...] = ()
    known_sizes: frozenset[int] = frozenset()

    @classmethod
    def read(cls, view: dict[str, Any], worlds: Sequence[tuple[int, str, str]]) -> "View":
        """Read the view from its stored form."""
        known = {row: StoredWorld(row, name, _flat(parameters)) for row, name, parameters in worlds}
        learners: dict[int, list[str]] = {}
        for row, name in zip(view["learners"]["ids"], view["learners"]["names"], strict=True):
            learners.setdefault(row, []).append(name)
        chosen = [known[row] for row in view["worlds"]]
        sizes, known_sizes = (frozenset(view.get(name, ())) for name in ("sizes", "known_sizes"))
        return cls(chosen, learners, sizes, view["trials"], view["scores_per_trial"], known_sizes=known_sizes)

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
        known = self._by_name
        return {fact: known[reference] for fact, reference in STATED.items() if reference in known}

    @property
    def columns(self) -> list[str]:
        """Columns of its rows; a parameter with the name of another column is prefixed with "world_"."""
        taken = {*LABELS, *MEASURES, *STATED, *JUDGED}
        named = [f"world_{name}" if name in taken else name for name in self.parameters]
        return [WORLD, *named, *LABELS[1:], *self.stated, *MEASURES, *self.facts]

    @property
    def labels(self) -> dict[str, NDArray[np.object_]]:
        """Names of the worlds, in order, and of the learners, sorted, by the column that holds their positions."""
        return {WORLD: _objects([world.name for world in self.worlds]), "learner": _objects(sorted(self._by_name))}

    @property
    def _by_name(self) -> dict[str, int]:
        """Row ids of the learners by name."""
        return {name: row for row, names in self.learners.items() for name in names}

    def table(self, place: int, block: Block) -> Table:
        """Columns of the rows of some cells of the world at this place, by trial, size and learner."""
        places, learners = self._shown(block)
        owners, sizes = block.owners[places], _integers(block.scores[SIZE])[places]
        trials, (best, constant) = _integers(block.cells[TRIAL])[owners], map(floats, block.cells[3:5])
        success, t, t_error, fit_seconds = (floats(column)[places] for column in block.scores[3:7])
        known = self.worlds[place].parameters
        columns = [
            np.full(places.size, place),
            *(np.full(places.size, known.get(name), object) for name in self.parameters),
            *(trials, sizes, learners),
            *self._stated_in(block, owners, sizes),
            *(success, best[owners], constant[owners], t, t_error, fit_seconds),
            *self._chosen(block, places),
        ]
        return dict(zip(self.columns, columns, strict=True))

    def rows(self, table: Table) -> Iterator[tuple[Any, ...]]:
        """Rows of a table, with names, and None where a number is missing."""
        named = {column: known[table[column]] for column, known in self.labels.items()}
        return zip(*map(_listed, {**table, **named}.values()), strict=True)

    def _shown(self, block: Block) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Positions of the scores that are shown, and of their learners among the names, in the order of the rows."""
        sizes, learners = _integers(block.scores[SIZE]), _integers(block.scores[LEARNER])
        is_shown = floats(block.scores[IS_DONE]).astype(bool) & np.isin(sizes, list(self.sizes))
        is_shown &= (_integers(block.cells[TRIAL]) < self.trials)[block.owners]
        found = [np.flatnonzero(is_shown & (learners == row)) for _, row in sorted(self._by_name.items())]
        places = np.concatenate([*found, np.empty(0, np.intp)])
        codes = np.repeat(np.arange(len(found)), [own.size for own in found])
        order = np.lexsort((codes, sizes[places], block.owners[places]))
        return places[order], codes[order]

    def _stated_in(
        self, block: Block, owners: NDArray[np.intp], sizes: NDArray[np.int64]
    ) -> Iterator[NDArray[np.object_]]:
        """Values of the facts that references state about a cell and size; None where they failed."""
        known = {
            (reference, owner, size): _facts(facts)
            for reference in set(self.stated.values())
            for owner, learner, size, facts in zip(
                block.owners.tolist(), block.scores[LEARNER], block.scores[SIZE], block.scores[FACTS], strict=True
            )
            if learner == reference and facts
        }
        for fact, reference in self.stated.items():
            places = zip(owners.tolist(), sizes.tolist(), strict=True)
            yield _objects([known.get((reference, *place), {}).get(fact) for place in places])

    def _chosen(self, block: Block, places: NDArray[np.intp]) -> list[NDArray[np.object_]]:
        """Values of the facts that are shown, from those of the scores as JSON, not parsed if there are none."""
        if not self.facts:
            return []
        known = [_facts(facts) if facts else {} for facts in map(block.scores[FACTS].__getitem__, places.tolist())]
        return [_objects([facts.get(name) for facts in known]) for name in self.facts]


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


def _integers(column: Row) -> NDArray[np.int64]:
    return floats(column).astype(np.int64)


def _listed(column: NDArray[Any]) -> list[Any]:
    """Values of a column, None where a number is missing."""
    listed: list[Any] = column.tolist()
    return [None if value != value else value for value in listed] if column.dtype == np.float64 else listed


def _objects(values: list[Any]) -> NDArray[np.object_]:
    """Values as an array that keeps them as they are."""
    column = np.empty(len(values), object)
    column[:] = values
    return column


def view_of(
    plan: Plan, worlds: Sequence[int], learners: Sequence[Sequence[int | None]], sizes: Sequence[int]
) -> dict[str, Any]:
    """View that a plan asks for, as JSON; `worlds` and `learners` are row ids of the store, `sizes` what it holds."""
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
        "known_sizes": sorted({*plan.sizes, *sizes}),
        "trials": plan.trials,
        "scores_per_trial": sum(distinct) * len(plan.sizes),
    }


def _unique(names: dict[int, str]) -> dict[int, str]:
    """Names by row id, numbered where several are the same."""
    counts = Counter(names.values())
    return {row: name if counts[name] == 1 else f"{name} #{row}" for row, name in names.items()}
