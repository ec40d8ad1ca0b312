"""The only module that touches result files: one SQLite file an experiment, written by the driver alone."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ciabench.errors import StoreError
from ciabench.lab.lock import Lock
from ciabench.lab.seeds import canonical, digest
from ciabench.lab.spec import RESULT_VERSION, Spec, contradictions
from ciabench.lab.tables import (
    APPLICATION_ID,
    COMPLETE_CELLS,
    FAILURES,
    HAS_PAIRS,
    PUT_CELL,
    PUT_SCORE,
    ROWS,
    SCHEMA,
    SCHEMA_VERSION,
    TASK_ROWS,
)
from ciabench.lab.trial import CellRow, Job, Plan, ScoreRow

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
        if not self.path.is_file():
            raise StoreError(f"{path}: there is no such file.")
        with _told(self.path):
            self._connection = _connect(self.path, writable=False)
        with self._closed_on_error():
            _check_kind(self._connection, self.path)

    @classmethod
    def continued(cls, path: str | Path, spec: Spec, plan: Plan, environment: Mapping[str, Any]) -> "Store":
        """Open a store to add to it, or make a new one; refuse if it holds something else or another run has it."""
        self = cls.__new__(cls)
        self.path = Path(path)
        with _told(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = Lock(self.path)
        try:
            with _told(self.path):
                self._connection = _connect(self.path, writable=True)
        except StoreError:
            self._lock.release()
            raise
        with self._closed_on_error(), self._transaction():
            self._admit(spec, environment)
            self._register(plan)
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
        spec: Spec = json.loads(self._value("SELECT spec FROM experiment"))
        return spec

    def provenance(self) -> dict[str, Any]:
        """Return all that is needed to make the results again."""
        spec, spec_hash, version, environments = self._all("SELECT * FROM experiment")[0][1:]
        return {
            "experiment": json.loads(spec),
            "hash": spec_hash,
            "result_version": version,
            "environments": json.loads(environments),
            "repeat": "save `experiment` (or keep the store) and run `ciabench run --from FILE --out FOLDER`",
        }

    def add(self, cell: CellRow) -> None:
        """Write a cell with all its scores, in one transaction."""
        with _told(self.path), self._transaction():
            cell_id = self._put_cell(cell)
            self._connection.executemany(PUT_SCORE, [self._values(cell_id, score) for score in cell.scores])

    def missing(self, plan: Plan, retry_failed: bool = False) -> Iterator[Job]:
        """Find what is still to be computed, a few trials at a time; may be consumed in another thread."""
        wanted = plan.wanted()
        with _told(self.path), closing(_connect(self.path, writable=False)) as connection:
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
        """Iterate over the tidy rows of all scores that are done, always in the same order; with pairs, task first."""
        with _told(self.path):
            for row in self._connection.execute(TASK_ROWS if self.has_pairs() else ROWS):  # noqa: UP028
                yield row  # `yield from` would close the cursor of a reader that stopped early, after the store

    def _admit(self, spec: Spec, environment: Mapping[str, Any]) -> None:
        """Take the experiment in, if it is new or only adds to what is there."""
        environments = [dict(environment)]
        if self._value("SELECT count(*) FROM sqlite_master") == 0:
            for statement in SCHEMA:
                self._connection.execute(statement)
        else:
            _check_kind(self._connection, self.path)
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
        with _told(self.path):
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
            with _told(self.path):
                yield
        except BaseException:
            self.close()
            raise


def _connect(path: Path, writable: bool) -> sqlite3.Connection:
    """Open the file; a reader may be used by the thread that hands out work."""
    mode = "rwc" if writable else "ro"
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=writable)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA foreign_keys = ON")
    if writable:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _check_kind(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse files that are not stores of this version."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreError(f"{path}: is a database, but not a ciabench store.")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        raise StoreError(f"{path}: has schema version {version}; this version of ciabench reads {SCHEMA_VERSION}.")


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


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into ours."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}.") from error
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}.") from error
