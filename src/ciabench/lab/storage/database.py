"""The SQLite file of a store: opening it, explaining its errors, and checking that it is intact.

A store is intact if SQLite finds no fault in its pages and indices, its tables are those of `tables` and nothing else,
and every checksum is right. So a flipped bit is refused, wherever it is, unless no result depends on it.
"""

import math
import os
import sqlite3
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

from ciabench.errors import StoreError
from ciabench.lab.storage.tables import (
    APPLICATION_ID,
    CELL,
    HEAD,
    N_NUMBERS,
    PUT_CHECKSUM,
    SCHEMA,
    SCHEMA_VERSION,
    SCORES,
    UNMATCHED,
)

Row = tuple[Any, ...]

HEAD_KEY = 0
"""Key of the checksum of experiment, worlds and learners."""

REASONS = {
    "SQLITE_NOTADB": "is neither a store nor an exported table (.csv or .csv.gz)",
    "SQLITE_CORRUPT": "is damaged; the database disk image is malformed",
    "SQLITE_FULL": "the disk is full; finished work is kept, so make room and run again",
    "SQLITE_IOERR": "the disk cannot be read or written, perhaps because it is full; finished work is kept",
    "SQLITE_READONLY": "cannot be written; its folder or file is read-only",
    "SQLITE_CANTOPEN": "cannot be opened; check that its folder exists and that you may read and write it",
}


def connect(path: Path, writable: bool) -> sqlite3.Connection:
    """Open the file; a read-only connection may be used by another thread, the one that hands out work."""
    if not writable and Path(f"{path}-journal").exists():
        _roll_back(path)
    options = "mode=rwc" if writable else f"mode=ro{'&immutable=1' if _is_at_rest(path) else ''}"
    uri = f"{Path(os.path.realpath(path)).as_uri()}?{options}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=writable)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA foreign_keys = ON")
    if writable:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def check_is_file(path: Path) -> None:
    """Refuse a path at which there is no file."""
    if path.is_dir():
        raise StoreError(f"{path}: is a folder, not a store.")
    if not path.is_file():
        raise StoreError(f"{path}: there is no such file.")


def settle(connection: sqlite3.Connection) -> None:
    """Merge the journal into the file, so that readers leave no files beside it; has no effect while others read."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA journal_mode = DELETE")


def _roll_back(path: Path) -> None:
    """Undo the change that a killed process left half made, which a read-only connection cannot do."""
    uri = f"{path.resolve().as_uri()}?mode=rw"
    with suppress(sqlite3.Error), closing(sqlite3.connect(uri, uri=True)) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _is_at_rest(path: Path) -> bool:
    """Whether nobody can be writing: the folder is read-only and holds no journal."""
    journals = (Path(f"{path}{ending}") for ending in ("-wal", "-journal"))
    return not os.access(path.parent, os.W_OK) and not any(journal.exists() for journal in journals)


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise StoreError(f"{path}: is damaged; it holds text that is not UTF-8.") from error
    except sqlite3.Error as error:
        name = str(getattr(error, "sqlite_errorname", ""))
        reason = next((reason for kind, reason in REASONS.items() if name.startswith(kind)), None)
        raise StoreError(f"{path}: {reason or error}.") from error


def is_begun(path: Path) -> bool:
    """Whether there is a store to be read; a run that is killed at once leaves a file without tables."""
    if not path.is_file():
        return False
    with store_errors(path), closing(connect(path, writable=False)) as connection:
        return has_tables(connection)


def has_tables(connection: sqlite3.Connection) -> bool:
    """Whether a database has tables."""
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def check_kind(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse files that are not stores of this version, or whose schema was changed."""
    if not has_tables(connection):
        raise StoreError(f"{path}: is empty, as a run leaves it that ends before its first trial; run it again.")
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreError(f"{path}: is a database, but not a ciabench store.")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version < SCHEMA_VERSION:
        raise StoreError(
            f"{path}: was made by an older ciabench (schema {version}, now {SCHEMA_VERSION}); move it away and run the "
            "experiment again, or read it with the ciabench that made it."
        )
    if version > SCHEMA_VERSION:
        raise StoreError(f"{path}: was made by a newer ciabench (schema {version}); upgrade ciabench to read it.")
    found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if found != {statement for statement in SCHEMA if statement.startswith("CREATE")}:
        raise StoreError(f"{path}: is damaged; its tables are not those of ciabench.")


def check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a store that SQLite finds damaged, or that lacks a cell or a checksum."""
    (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise StoreError(f"{path}: is damaged; {' '.join(found.split())}.")
    check_head(connection, path)
    if connection.execute(UNMATCHED, (HEAD_KEY,)).fetchone() != (0,):
        raise StoreError(f"{path}: is damaged; a cell or its checksum is missing.")


def check_head(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a store whose experiment, worlds or learners have been changed."""
    found = connection.execute("SELECT value FROM checksum WHERE cell = ?", (HEAD_KEY,)).fetchone()
    if found != (_head_sum(connection),):
        raise StoreError(f"{path}: is damaged; the checksum of its experiment is wrong.")


def seal_head(connection: sqlite3.Connection) -> None:
    """Write the checksum of experiment, worlds and learners."""
    connection.execute(PUT_CHECKSUM, (HEAD_KEY, _head_sum(connection)))


def seal_cells(connection: sqlite3.Connection, sums: Mapping[int, int | None]) -> None:
    """Write the checksums of cells; None stands for one that has to be read again, because it had other scores."""
    read = {cell: checksum(*_columns(connection, cell)) for cell, value in sums.items() if value is None}
    connection.executemany(PUT_CHECKSUM, {**sums, **read}.items())


def _columns(connection: sqlite3.Connection, cell: int) -> tuple[Row, list[Row]]:
    return connection.execute(CELL, (cell,)).fetchone(), connection.execute(SCORES, (cell,)).fetchall()


def _head_sum(connection: sqlite3.Connection) -> int:
    return crc32(repr([connection.execute(query).fetchall() for query in HEAD]).encode())


def checksum(values: Row, scores: Sequence[Row]) -> int | None:
    """Checksum of a cell with all its scores, by size and learner; None if a value has the wrong type."""
    rows = [values, *scores]
    numbers = list(chain.from_iterable(row[:N_NUMBERS] for row in rows))
    try:
        texts = "\0".join(text for row in rows for text in row[N_NUMBERS:]).encode()
        return crc32(texts, crc32(_packed(numbers)))
    except (struct.error, TypeError):
        return None


def _packed(numbers: list[Any]) -> bytes:
    """Numbers as bytes; NULL is packed as infinity."""
    form = f"<{len(numbers)}d"
    with suppress(struct.error):
        return struct.pack(form, *numbers)
    return struct.pack(form, *(math.inf if value is None else value for value in numbers))
