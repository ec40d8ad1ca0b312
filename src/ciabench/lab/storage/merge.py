"""Several stores → one: what a laboratory does that needs more than one driver.

Nothing is computed. Rows are keyed by content: worlds and learners are matched by identity and version, cells by world
and trial. Cells that two stores share must be equal in every bit, except for timings.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ciabench.errors import StoreError
from ciabench.files import written_whole
from ciabench.lab.storage import tables
from ciabench.lab.storage.blocks import check_whole
from ciabench.lab.storage.database import connect, seal_cells, seal_head, settle, store_errors
from ciabench.lab.storage.records import Counts, Head
from ciabench.lab.storage.store import Store
from ciabench.seeds import canonical


def merge(sources: Sequence[str | Path], out: str | Path) -> Counts:
    """Write one store with the rows of several, completely or not at all.

    Parameters
    ----------
    sources : sequence of path
        Stores with the same seed, such as those of `ciabench run --part 1/4` to `--part 4/4`.
    out : path
        The store to write, which must not exist.

    Returns
    -------
    Counts
        Counts of the merged store.
    """
    if Path(out).exists():
        raise StoreError(f"{out}: exists already; merge into a new file.")
    paths = [Path(source) for source in sources]
    heads = [_head(path) for path in paths]
    _check_seeds(paths, heads)
    with (
        written_whole(out) as unfinished,
        store_errors(Path(out)),
        closing(connect(unfinished, writable=True)) as connection,
    ):
        connection.execute("PRAGMA synchronous = OFF")
        for statement in tables.SCHEMA:
            connection.execute(statement)
        copied = [_copied(connection, path, head) for path, head in zip(paths, heads, strict=True)]
        _put_head(connection, _joined(copied), Path(out).stem)
        settle(connection)
    with Store(out) as merged:
        return merged.counts()


def _head(path: Path) -> Head:
    with Store(path) as store:
        return store.head()


def _check_seeds(paths: Sequence[Path], heads: Sequence[Head]) -> None:
    """Refuse stores of different seeds."""
    seeds = [head.spec["seed"] for head in heads]
    for path, seed in zip(paths, seeds, strict=True):
        if seed != seeds[0]:
            raise StoreError(
                f"{path}: has seed {seed}, but {paths[0]} has seed {seeds[0]}; only one seed can be merged."
            )


def _copied(connection: sqlite3.Connection, path: Path, head: Head) -> Head:
    """Add the rows of a store, which is checked first, and return its head with row ids of the merged store."""
    with store_errors(path), closing(connect(path, writable=False)) as part:
        part.execute("BEGIN")
        check_whole(part, path)
        connection.execute("ATTACH ? AS part", (f"{path.resolve().as_uri()}?mode=ro",))
        connection.execute("BEGIN")
        for statement in tables.MATCH_PART:
            connection.execute(statement)
        conflict = connection.execute(tables.CONFLICT).fetchone()
        if conflict:
            raise StoreError(f"{path}: {_place(*conflict)} differs from an earlier store; leave one of them out.")
        for statement in tables.COPY_PART:
            connection.execute(statement)
        seal_cells(connection, dict.fromkeys((cell for (cell,) in connection.execute(tables.COPIED_CELLS)), None))
        worlds, learners = (dict(connection.execute(query).fetchall()) for query in tables.MATCHES)
        for statement in tables.FORGET_PART:
            connection.execute(statement)
        connection.execute("COMMIT")
        connection.execute("DETACH part")
    return _renumbered(head, worlds, learners)


def _place(world: str, trial: int, learner: str | None, size: int | None) -> str:
    """Where two stores differ."""
    return f"{world}, trial {trial}" + (f", size {size}, {learner}" if learner else "")


def _renumbered(head: Head, worlds: dict[int, int], learners: dict[int, int]) -> Head:
    """A head whose view refers to rows of the merged store."""
    named = head.view["learners"]
    return head._replace(
        view={
            **head.view,
            "worlds": [worlds[row] for row in head.view["worlds"]],
            "learners": {**named, "ids": [learners[row] for row in named["ids"]]},
        }
    )


def _joined(heads: Sequence[Head]) -> Head:
    """One head for all: worlds, learners, sizes and environments of each, the largest number of trials."""
    specs, views = [head.spec for head in heads], [head.view for head in heads]
    learners = _union(spec["learners"] for spec in specs)
    named = _union(zip(view["learners"]["ids"], view["learners"]["names"], strict=True) for view in views)
    for name in (learner["name"] for learner in learners):
        if sum(other == name for _, other in named) > 1:
            raise StoreError(f"the learner {name!r} has other parameters, or another version, in one of the stores.")
    shared = {
        "sizes": sorted(_union(spec["sizes"] for spec in specs)),
        "trials": max(spec["trials"] for spec in specs),
    }
    spec = {**specs[0], **shared, "worlds": _union(spec["worlds"] for spec in specs), "learners": learners}
    spec["references"] = _union(spec["references"] for spec in specs)
    ids, shown = zip(*named, strict=True)
    view = {**shared, "worlds": _union(view["worlds"] for view in views)}
    view["learners"] = {"ids": list(ids), "names": list(shown)}
    return Head(spec, view, _union(head.environments for head in heads))


def _union(lists: Iterable[Iterable[Any]]) -> list[Any]:
    """Items of all lists, each once, in order of appearance."""
    return list({canonical(item): item for items in lists for item in items}.values())


def _put_head(connection: sqlite3.Connection, head: Head, name: str) -> None:
    """Write the experiment; a reference counts only for worlds that have its scores."""
    spec, view = {**head.spec, "name": name}, head.view
    learners = set(view["learners"]["ids"])
    references = {row for (row,) in connection.execute("SELECT id FROM learner WHERE is_reference")} & learners
    offered = connection.execute(tables.OFFERED).fetchall()
    n_learners = len(learners - references) * len(view["worlds"])
    n_references = sum((world, one) in offered for world in view["worlds"] for one in references)
    view["scores_per_trial"] = (n_learners + n_references) * len(view["sizes"])
    view["known_sizes"] = _union([view["sizes"], *connection.execute(tables.SIZES)])
    values = {"seed": spec["seed"], "spec": canonical(spec), "view": canonical(view)}
    connection.execute(tables.PUT_EXPERIMENT, {**values, "environments": canonical(head.environments)})
    seal_head(connection)
