"""The only module that touches result files: one SQLite file an experiment, written by the driver alone."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from ciabench.errors import StoreError
from ciabench.lab.compute.trial import CellRow, Job, Plan, ScoreRow
from ciabench.lab.plan.learner import check_name
from ciabench.lab.spec import RESULT_VERSION, Spec, contradictions, is_spec
from ciabench.lab.storage.database import (
    Checksums,
    Row,
    check_head,
    check_kind,
    check_pages,
    check_whole,
    connect,
    read_cell,
    seal_cell,
    seal_head,
    told,
)
from ciabench.lab.storage.lock import Lock
from ciabench.lab.storage.tables import (
    CELLS,
    COMPLETE_CELLS,
    FAILURES,
    FAMILIES,
    HAS_PAIRS,
    PUT_CELL,
    PUT_SCORE,
    SCHEMA,
)
from ciabench.seeds import canonical, digest

CHUNK = 500
"""Trials looked up at once in the search for missing scores."""

SAME_DRAW = 1e-9
"""Largest difference of two S_best that come from one model."""


class Failure(NamedTuple):
    """A score that failed, or with neither size nor learner a whole trial."""

    n: int
    k: int
    b: float
    trial: int
    size: int | None
    learner: str | None
    error: str
    task: str

    @property
    def cause(self) -> str:
        """Last line of the error, which says most."""
        lines = str(self.error).strip().splitlines()
        return lines[-1] if lines else "unknown"


class Counts(NamedTuple):
    """How many cells and scores a store holds, and how many its experiment asks for."""

    cells: int
    cells_wanted: int
    done: int
    failed: int
    scores_wanted: int


class Store:
    """Results of one experiment; opened for reading by `Store(path)`, for a run by `Store.continued`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock: Lock | None = None
        with told(self.path):
            _check_is_file(self.path)
            self._connection = connect(self.path, writable=False)
        with self._closed_on_error():
            self._connection.execute("BEGIN")
            check_kind(self._connection, self.path)
            check_head(self._connection, self.path)
            self._connection.execute("COMMIT")

    @classmethod
    def continued(cls, path: str | Path, spec: Spec, plan: Plan, environment: Mapping[str, Any]) -> "Store":
        """Open a store to add to it, or make a new one; refuse if it holds something else or another run has it."""
        self = cls.__new__(cls)
        self.path = Path(path)
        with told(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                _check_is_file(self.path)
            self._lock = Lock(self.path)
        try:
            with told(self.path):
                self._connection = connect(self.path, writable=True)
        except StoreError:
            self._lock.release()
            raise
        with self._closed_on_error(), self._transaction():
            self._admit(spec, environment)
            self._register(plan)
            seal_head(self._connection)
        return self

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and let others have it."""
        self._connection.close()
        if self._lock is not None:
            self._lock.release()

    def spec(self) -> Spec:
        """Return the experiment that the store holds."""
        spec: Spec = self.provenance()["experiment"]
        return spec

    def provenance(self) -> dict[str, Any]:
        """Return all that is needed to make the results again."""
        try:
            ((_, spec, spec_hash, version, environments),) = self._all("SELECT * FROM experiment")
            spec, environments = json.loads(spec), json.loads(environments)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreError(f"{self.path}: is damaged; its experiment can not be read.") from error
        if not is_spec(spec):
            raise StoreError(f"{self.path}: is damaged; what it holds is no experiment.")
        return {
            "experiment": spec,
            "hash": spec_hash,
            "result_version": version,
            "environments": environments,
            "repeat": "save `experiment` (or keep the store) and run `ciabench run --from FILE --out FOLDER`",
        }

    def add(self, cell: CellRow) -> None:
        """Write a cell with all its scores, in one transaction."""
        with told(self.path), self._transaction():
            cell_id = self._put_cell(cell)
            self._connection.executemany(PUT_SCORE, [self._values(cell_id, score) for score in cell.scores])
            seal_cell(self._connection, cell_id)

    def missing(self, plan: Plan, retry_failed: bool = False) -> Iterator[Job]:
        """Find what is still to be computed, a few trials at a time; may be consumed in another thread."""
        wanted = plan.wanted()
        with told(self.path), closing(connect(self.path, writable=False)) as connection:
            for family in range(len(plan.families)):
                for start in range(0, plan.trials, CHUNK):
                    present = self._present(connection, family, start, retry_failed)
                    for trial in range(start, min(start + CHUNK, plan.trials)):
                        lacking = [score for score in wanted if (trial, *score) not in present]
                        if lacking:
                            yield Job(family, trial, lacking)

    def counts(self) -> Counts:
        """Count cells and scores."""
        spec = self.spec()
        cells = self._value("SELECT count(*) FROM cell")
        failed = self._value("SELECT count(*) FROM score WHERE state = 'failed'")
        cells_wanted = spec["trials"] * len(spec["families"])
        done = self._value("SELECT count(*) FROM score") - failed
        scores_wanted = cells_wanted * len(spec["sizes"]) * len(spec["learners"])
        return Counts(cells, cells_wanted, done, failed, scores_wanted)

    def complete_cells(self, plan: Plan, retry_failed: bool = False) -> int:
        """Count the cells of which nothing is missing."""
        return int(self._value(COMPLETE_CELLS, plan.trials, retry_failed, len(plan.wanted())))

    def failures(self) -> Iterator[Failure]:
        """List what failed, with its cause."""
        return map(Failure._make, self._all(FAILURES))

    def has_pairs(self) -> bool:
        """Tell whether some of its tasks are pairs of words."""
        return bool(self._value(HAS_PAIRS))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the tidy rows of all scores that are done, always in the same order; with pairs, task first.

        The file is checked first, so that rows come from a whole store or not at all.
        """
        with told(self.path):
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN")
            sums = check_pages(self._connection, self.path)
            names = dict(self._connection.execute("SELECT id, name FROM learner").fetchall())
            for name in names.values():
                check_name(name)
            has_pairs = self.has_pairs()
            for family, *labels, task in self._connection.execute(FAMILIES).fetchall():
                common = (task, *labels) if has_pairs else tuple(labels)
                for (cell,) in self._connection.execute(CELLS, (family,)):
                    for row in self._rows_of(cell, common, names, sums):  # noqa: UP028
                        yield row  # `yield from` would close the cursor of a reader that stopped early, after the store
            self._connection.execute("COMMIT")

    def _rows_of(self, cell: int, labels: Row, names: dict[int, str], sums: Checksums) -> list[Row]:
        """Rows of one cell, by size and learner."""
        (_, _, trial, best, constant, *_), scores = read_cell(self._connection, self.path, cell, sums)
        rows = [
            (*labels, trial, size, names[learner], success, best, constant, t, t_error, fit_seconds)
            for learner, size, is_done, success, t, t_error, fit_seconds, *_ in scores
            if is_done
        ]
        return sorted(rows, key=itemgetter(len(labels) + 1, len(labels) + 2))

    def _admit(self, spec: Spec, environment: Mapping[str, Any]) -> None:
        """Take the experiment in, if it is new or only adds to what is there."""
        environments = [dict(environment)]
        if self._value("SELECT count(*) FROM sqlite_master") == 0:
            for statement in SCHEMA:
                self._connection.execute(statement)
        else:
            check_kind(self._connection, self.path)
            check_whole(self._connection, self.path)
            _check_continues(self.path, self.provenance(), spec)
            spec = {**spec, "trials": max(spec["trials"], self.spec()["trials"])}
            known = self.provenance()["environments"]
            environments = known if environment in known else known + environments
        values = (canonical(spec), digest([spec, RESULT_VERSION]), RESULT_VERSION, canonical(environments))
        self._connection.execute("INSERT OR REPLACE INTO experiment VALUES (1, ?, ?, ?, ?)", values)

    def _register(self, plan: Plan) -> None:
        """Map positions in the plan to rows of the store."""
        self._seed, self._families, self._learners = plan.seed, [], []
        for family in plan.families:
            told = family.identity
            identity = canonical(told)
            values = (identity, told["n"], told["k"], told["b"])
            self._connection.execute("INSERT OR IGNORE INTO family (identity, n, k, b) VALUES (?, ?, ?, ?)", values)
            self._families.append(self._value("SELECT id FROM family WHERE identity = ?", identity))
        if self._value("SELECT count(*) FROM family") > len(plan.families):
            raise StoreError(f"{self.path}: was made from a corpus that has changed since; start a new store.")
        for learner in plan.learners:
            named = (learner.name, learner.identity)
            self._connection.execute("INSERT OR IGNORE INTO learner (name, identity) VALUES (?, ?)", named)
            self._learners.append(self._value("SELECT id FROM learner WHERE name = ?", learner.name))

    def _put_cell(self, cell: CellRow) -> int:
        """Write the cell itself unless it is there and done; then it must be the same draw."""
        family, state = self._families[cell.family], "failed" if cell.error else "done"
        drawn = (cell.best, cell.constant, cell.difficulty, cell.draws, cell.seconds, self._seed)
        self._connection.execute(PUT_CELL, (family, cell.trial, state, cell.error, *drawn))
        find = "SELECT id, best FROM cell WHERE family = ? AND trial = ?"
        cell_id, best = self._connection.execute(find, (family, cell.trial)).fetchone()
        if None not in (best, cell.best) and abs(best - cell.best) > SAME_DRAW:
            raise StoreError(
                f"{self.path}: trial {cell.trial} was drawn with S_best = {best!r} and now has {cell.best!r}; "
                "other library versions draw other models, so start a new store."
            )
        return int(cell_id)

    def _values(self, cell_id: int, score: ScoreRow) -> tuple[Any, ...]:
        learner, size, error, *measured = score
        return (cell_id, self._learners[learner], size, "failed" if error else "done", error, *measured)

    def _present(
        self, connection: sqlite3.Connection, family: int, start: int, retry_failed: bool
    ) -> set[tuple[int, int, int]]:
        """Scores (trial, learner, size) of one chunk of trials that need not be computed."""
        found = connection.execute(
            "SELECT trial, learner, size FROM cell JOIN score ON score.cell = cell.id "
            "WHERE family = ? AND trial >= ? AND trial < ? AND (score.state = 'done' OR NOT ?)",
            (self._families[family], start, start + CHUNK, retry_failed),
        )
        positions = {learner: position for position, learner in enumerate(self._learners)}
        return {(trial, positions[learner], size) for trial, learner, size in found}

    def _value(self, query: str, *values: Any) -> Any:
        return self._all(query, *values)[0][0]

    def _all(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with told(self.path):
            return self._connection.execute(query, values).fetchall()

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
            with told(self.path):
                yield
        except BaseException:
            self.close()
            raise


def _check_is_file(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"{path}: is a folder, not a store.")
    if not path.is_file():
        raise StoreError(f"{path}: there is no such file.")


def _check_continues(path: Path, held: dict[str, Any], spec: Spec) -> None:
    """Refuse a store that holds another experiment, or results of another kind of ciabench."""
    if held["result_version"] != RESULT_VERSION:
        raise StoreError(
            f"{path}: was made by a ciabench with result version {held['result_version']}, this one has "
            f"{RESULT_VERSION} and would give other numbers; start a new store."
        )
    changed = contradictions(held["experiment"], spec)
    if changed:
        raise StoreError(f"{path}: holds another experiment: {'; '.join(changed)}; use another name or --out.")
