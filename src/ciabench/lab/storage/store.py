"""The only module that touches result files: one SQLite file per experiment, written by the driver alone.

The experiment file is a view, the store a memory: what the file asks for and the store lacks is computed, what the
store has beyond the file is kept.
"""

import json
import struct
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any

from ciabench.errors import CIABenchError, StoreError
from ciabench.lab.plan.outcome import CellOutcome
from ciabench.lab.plan.plan import Entrant, Job, Plan
from ciabench.lab.storage import tables
from ciabench.lab.storage.blocks import blocks, check_whole
from ciabench.lab.storage.counting import count
from ciabench.lab.storage.database import (
    check_head,
    check_is_file,
    check_kind,
    check_pages,
    checksum,
    connect,
    has_tables,
    seal_cells,
    seal_head,
    settle,
    store_errors,
)
from ciabench.lab.storage.lock import Lock
from ciabench.lab.storage.records import (
    CellRecord,
    Counts,
    Failure,
    Head,
    Spec,
    cell_record,
    checked_head,
    learner_values,
    score_records,
    world_values,
)
from ciabench.lab.storage.view import Table, View, view_of
from ciabench.seeds import canonical, digest
from ciabench.world.base import World

CHUNK = 500
"""Trials looked up at a time in the search for missing scores."""

SAME_DRAW = 1e-9
"""Largest difference between two values of S_best of the same model."""


class Store:
    """Results of one experiment; `Store(path)` opens it for reading, `Store.continued` for a run."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock: Lock | None = None
        with store_errors(self.path):
            check_is_file(self.path)
            self._connection = connect(self.path, writable=False)
        with self._closed_on_error():
            self._connection.execute("BEGIN")
            check_kind(self._connection, self.path)
            check_head(self._connection, self.path)
            self._connection.execute("COMMIT")

    @classmethod
    def continued(cls, path: str | Path, spec: Spec, plan: Plan, environment: Mapping[str, Any]) -> "Store":
        """Open a store to add to it, or create it; refuse if its seed differs or another run holds it."""
        self = cls.__new__(cls)
        self.path = Path(path)
        with store_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                check_is_file(self.path)
            self._lock = Lock(self.path)
        try:
            with store_errors(self.path):
                self._connection = connect(self.path, writable=True)
        except StoreError:
            self._lock.release()
            raise
        with self._closed_on_error(), self._transaction():
            environments = self._admit(plan, environment)
            self._register(plan)
            self._put_experiment(spec, plan, environments)
            seal_head(self._connection)
        return self

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release its lock."""
        if self._lock is not None:
            settle(self._connection)
        self._connection.close()
        if self._lock is not None:
            self._lock.release()

    def spec(self) -> Spec:
        """Return the experiment as it was last run."""
        return self.head().spec

    def view(self) -> View:
        """Return what the experiment file asks for."""
        view = self.head().view
        with self._as_written():
            if not {(row,) for row in view["learners"]["ids"]} <= set(self._all("SELECT id FROM learner")):
                raise ValueError("a learner is missing")
            return View.read(view, self._all("SELECT id, name, parameters FROM world"))

    def everything(self) -> View:
        """Return a view of everything kept."""
        worlds = self._all("SELECT id, name, parameters FROM world")
        learners = self._all("SELECT id, name FROM learner")
        sizes = [size for (size,) in self._all(tables.SIZES)]
        trials = self._all("SELECT coalesce(max(trial) + 1, 0) FROM cell")[0][0]
        with self._as_written():
            return View.of_everything(worlds, learners, sizes, trials)

    def provenance(self) -> dict[str, Any]:
        """Return everything needed to reproduce the results."""
        spec, _, environments = self.head()
        return {
            "experiment": spec,
            "hash": digest(spec),
            "versions": {
                "worlds": dict(self._all("SELECT name, version FROM world ORDER BY id")),
                "learners": dict(self._all("SELECT name, version FROM learner ORDER BY id")),
            },
            "environments": environments,
            "repeat": "save `experiment` (or keep the store) and run `ciabench run --from FILE --out FOLDER`",
        }

    def add(self, *cells: CellOutcome) -> None:
        """Write cells with all their scores, in one transaction."""
        with store_errors(self.path), self._transaction():
            last = self._connection.execute(tables.LAST_CELL).fetchone()[0]
            records = [cell_record(self._worlds[cell.world], cell) for cell in cells]
            ids = [self._put_cell(record) for record in records]
            scores = [score_records(self._learners[cell.world], cell.scores) for cell in cells]
            placed = [(cell_id, *score) for cell_id, group in zip(ids, scores, strict=True) for score in group]
            self._connection.executemany(tables.PUT_SCORE, placed)
            sums = {
                cell_id: checksum((cell_id, *record), sorted(group, key=itemgetter(1, 0))) if cell_id > last else None
                for cell_id, record, group in zip(ids, records, scores, strict=True)
            }
            seal_cells(self._connection, sums)

    def missing(self, plan: Plan, retry_failed: bool = False) -> Generator[Job, None, None]:
        """Find the scores still to be computed, a few trials at a time; may be consumed in another thread."""
        with store_errors(self.path), closing(connect(self.path, writable=False)) as connection:
            for world, learners in enumerate(self._learners):
                wanted = {(learners[one.entrant], one.size): one for one in plan.wanted(world)}
                everything = tuple(wanted.values())
                for start in range(0, plan.trials, CHUNK):
                    values = (self._worlds[world], start, start + CHUNK, retry_failed)
                    present = defaultdict[int, set[tuple[int, int]]](set)
                    for trial, *key in connection.execute(tables.PRESENT, values):
                        present[trial].add(tuple(key))
                    for trial in range(start, min(start + CHUNK, plan.trials)):
                        lacking = everything
                        if trial in present:
                            lacking = tuple(one for key, one in wanted.items() if key not in present[trial])
                        if lacking:
                            yield Job(world, trial, lacking)

    def counts(self) -> Counts:
        """Count cells and scores."""
        return count(self._all, self.view())

    def complete_cells(self, plan: Plan, retry_failed: bool = False) -> int:
        """Count the cells without missing scores."""
        total = 0
        for position, world in enumerate(self._worlds):
            wanted = {(self._learners[position][one.entrant], one.size) for one in plan.wanted(position)}
            total += int(self._all(tables.COMPLETE_CELLS, world, retry_failed, len(wanted))[0][0])
        return total

    def failures(self) -> Iterator[Failure]:
        """Iterate over failures, with their causes."""
        return map(Failure._make, self._all(tables.FAILURES))

    def tables(self, view: View) -> Iterator[Table]:
        """Iterate over finished scores, as columns of the rows of some cells at a time, always in the same order.

        The file is checked first, and each cell as it is read: a damaged store is refused.
        """
        with store_errors(self.path):
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN")
            check_pages(self._connection, self.path)
            for place, world in enumerate(view.worlds):
                for block in blocks(self._connection, self.path, world.id):
                    try:
                        table = view.table(place, block)
                    except (TypeError, ValueError, OverflowError, struct.error) as error:
                        raise StoreError(f"{self.path}: is damaged; a value has the wrong type.") from error
                    if table["trial"].size:
                        yield table
            self._connection.execute("COMMIT")

    def rows(self, view: View | None = None) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows of finished scores, with the columns of the view."""
        view = view or self.view()
        for table in self.tables(view):
            yield from view.rows(table)

    def head(self) -> Head:
        """Return the experiment, its view and the environments."""
        with self._as_written():
            ((_, _, *texts),) = self._all("SELECT * FROM experiment")
            return checked_head(*map(json.loads, texts))

    def _admit(self, plan: Plan, environment: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Create the tables, or check the existing ones; return all environments, including this one."""
        if not has_tables(self._connection):
            for statement in tables.SCHEMA:
                self._connection.execute(statement)
            return [dict(environment)]
        check_kind(self._connection, self.path)
        check_whole(self._connection, self.path)
        seed = self._all("SELECT seed FROM experiment")[0][0]
        if seed != plan.seed:
            raise StoreError(
                f"{self.path}: holds results of seed {seed}, and the experiment now has seed {plan.seed}; give it "
                "another name, or use another --out."
            )
        known = self.head().environments
        return known if environment in known else [*known, dict(environment)]

    def _register(self, plan: Plan) -> None:
        """Map positions in the plan to row ids of the store."""
        self._worlds = [self._world_id(world) for world in plan.worlds]
        self._learners = [[self._learner_id(one, world) for one in plan.entrants] for world in plan.worlds]

    def _world_id(self, world: World) -> int:
        values = world_values(world)
        self._connection.execute(tables.PUT_WORLD, values)
        return int(self._connection.execute(tables.FIND_WORLD, values).fetchone()[0])

    def _learner_id(self, entrant: Entrant, world: World) -> int | None:
        """Row id of an entrant; None for a reference that the world does not offer."""
        values = learner_values(entrant, world)
        if values is None:
            return None
        self._connection.execute(tables.PUT_LEARNER, values)
        return int(self._connection.execute(tables.FIND_LEARNER, values).fetchone()[0])

    def _put_experiment(self, spec: Spec, plan: Plan, environments: list[dict[str, Any]]) -> None:
        sizes = [size for (size,) in self._all(tables.SIZES)]
        values = {
            "seed": plan.seed,
            "spec": canonical(spec),
            "view": canonical(view_of(plan, self._worlds, self._learners, sizes)),
            "environments": canonical(environments),
        }
        self._connection.execute(tables.PUT_EXPERIMENT, values)

    def _put_cell(self, cell: CellRecord) -> int:
        """Write the cell itself unless it is already done; in that case it must be the same draw."""
        self._connection.execute(tables.PUT_CELL, cell)
        cell_id, best = self._connection.execute(tables.FIND_CELL, cell[:2]).fetchone()
        if None not in (best, cell.best) and abs(best - cell.best) > SAME_DRAW:
            raise StoreError(
                f"{self.path}: trial {cell.trial} was drawn with S_best = {best!r} and now has {cell.best!r}; "
                "other library versions draw other models, so start a new store."
            )
        return int(cell_id)

    def _all(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with store_errors(self.path):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _as_written(self) -> Iterator[None]:
        """Refuse a store whose experiment, worlds or learners have another form than a run writes."""
        try:
            yield
        except CIABenchError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise StoreError(f"{self.path}: is damaged; its experiment cannot be read.") from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.rollback()
            raise
        self._connection.commit()

    @contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            with store_errors(self.path):
                yield
        except BaseException:
            self.close()
            raise
