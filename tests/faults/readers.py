"""Networks and stores as attackers make them: nearly BIF; changed values under right checksums."""

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from harness import answered, asked, refusal
from hypothesis import strategies as st
from hypothesis import target

from ciabench import BeliefNetwork
from ciabench.errors import CIABenchError, ModelError
from ciabench.lab.session import run_experiment
from ciabench.lab.storage.database import checksum, seal_cells, seal_head
from ciabench.lab.storage.export import export
from ciabench.lab.storage.merge import merge
from ciabench.lab.storage.rows import read, spec_of
from ciabench.lab.storage.store import Store
from ciabench.lab.storage.tables import CELL, SCORES
from ciabench.probability.bif import parse_bif

NAMES = ["a", "b", "c", '"a b"', "", "variable", "probability", "table", "é", "x" * 300, "<script>"]
NUMBERS = ["0.5", "1", "0", "-1", "nan", "inf", "1e308", "1e-320", "half", "", "0x1", "1_0"]
PIECES = [*'{}();,|"', "//", "/*", "*/", "variable x {", "probability (", "table", "default", "\0", "\r", " "]

names = st.sampled_from(NAMES[:3]) | st.sampled_from(NAMES) | st.text(max_size=3)
states = st.sampled_from([["s", "t"], ["s", "t"], ["s"], ["s", "s"], []])
shares = st.sampled_from(["0.5, 0.5", "1, 0", "0.1, 0.9", "1"]) | st.lists(st.sampled_from(NUMBERS), max_size=4).map(
    ", ".join
)
places = st.sampled_from(["default", "table", "(s)", "(t)", "(s, t)", "(", "property"])
entries = st.lists(st.tuples(places, shares).map(lambda entry: f"{entry[0]} {entry[1]};"), max_size=2).map(" ".join)


@st.composite
def networks(draw):
    """Text that is most often a network, or nearly one."""
    variables = draw(st.dictionaries(names, states, min_size=1, max_size=4))
    blocks = [f"variable {name} {{ type discrete [ 2 ] {{ {', '.join(own)} }}; }}" for name, own in variables.items()]
    for place, (name, own) in enumerate(variables.items()):
        known = st.sampled_from(list(variables)[:place]) if place and draw(st.booleans()) else names
        parents = draw(st.lists(known, max_size=draw(st.integers(0, 2))))
        above = f" | {', '.join(parents)}" if parents else ""
        even = f"default {', '.join([str(1 / max(1, len(own)))] * len(own))};"
        blocks.append(f"probability ( {name}{above} ) {{ {even if draw(st.integers(0, 3)) else draw(entries)} }}")
    text = "\n".join(blocks)
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        place = draw(st.integers(0, len(text)))
        piece = draw(st.sampled_from(PIECES)) * draw(st.sampled_from([1, 1, 1, 1_000]))
        text = text[:place] + piece + text[place + draw(st.integers(0, 5)) :]
    return text


def check_network(text, folder):
    """A network is read, and answers, or is refused by our errors."""
    target(float(text.count(";")), label="entries")
    path = Path(folder) / "made.bif"
    path.write_text(text, encoding="utf-8", newline="")
    with suppress(ModelError):
        tables = parse_bif(text).tables
        assert all(np.allclose(table.sum(axis=-1), 1) and table.min() >= 0 for table in tables.values())
        target(float(len(tables)), label="tables")
    with suppress(CIABenchError):
        network = BeliefNetwork.from_bif(path)
        drawn = network.sample(2, random_state=0)
        first = drawn.columns[0]
        assert np.allclose(network.posterior(drawn.drop(columns=first), first).sum(axis=1), 1)


TABLES = {
    "experiment": ["seed", "spec", "view", "environments"],
    "world": ["identity", "version", "name", "parameters"],
    "learner": ["identity", "version", "is_reference", "name"],
    "cell": ["world", "trial", "state", "error", "best", "constant", "seconds", "facts"],
    "score": ["learner", "size", "state", "error", "success", "t", "t_error", "fit_seconds", "facts"],
}
VALUES = [
    None, 0, -1, 2, 2**62, 1e308, -1e308, float("inf"), "", "a", "1", b"\xff", "=1", "\x1b]0;t\x07", "<script>",
    "'; DROP TABLE cell; --", "null", "5", "[]", "{}", "[1]", '{"a": [1]}', '{"limit_random": "x"}', "[" * 5_000,
    "9" * 5_000, "NaN", '{"seed": 1}',
]  # fmt: skip
inner: Any = st.sampled_from(
    [None, 0, -1, 1.5, True, "a", [], {}, [None], [[1]], [1, "a"], {"name": 1}, [{}], 10**30, 2**62, float("nan")]
)


@st.composite
def tampers(draw):
    """One or two columns of a store, and what to write into them: a value, or one part of their JSON."""
    found = []
    for _ in range(draw(st.integers(1, 2))):
        table = draw(st.sampled_from(sorted(TABLES)))
        column = draw(st.sampled_from(TABLES[table]))
        part = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)) if draw(st.booleans()) else None
        found.append((table, column, part, draw(inner if part else st.sampled_from(VALUES))))
    return found


def replaced(document, part, value):
    """A document of JSON with one part of it replaced, found by numbers."""
    if not part or not isinstance(document, dict | list) or not document:
        return value
    keys = list(document) if isinstance(document, dict) else range(len(document))
    key = keys[part[0] % len(keys)]
    document[key] = replaced(document[key], part[1:], value)
    return document


FIRST = {
    **dict.fromkeys(TABLES, "rowid = 1"),
    "score": "(cell, learner, size) = (SELECT cell, learner, size FROM score LIMIT 1)",
}


def tampered(content, path, changes):
    """Write a store with changes and right checksums; return whether SQLite takes them."""
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as connection, suppress(sqlite3.Error, OverflowError, UnicodeError, TypeError):
        for change in changes:
            change_value(connection, *change)
        cells = [cell for (cell,) in connection.execute("SELECT id FROM cell")]
        seal_cells(connection, {cell: sum_of(connection, cell) for cell in cells})
        seal_head(connection)
        connection.commit()
        return True
    return False


def change_value(connection, table, column, part, value):
    """Write a value, or JSON of which one part is replaced by it, into the first row of a table."""
    if part:
        (text,) = connection.execute(f"SELECT {column} FROM {table} WHERE {FIRST[table]}").fetchone()
        with suppress(ValueError, TypeError, RecursionError):
            value = json.dumps(replaced(json.loads(text), part, value))
    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {FIRST[table]}", (value,))


def sum_of(connection, cell):
    """Checksum of a cell; 0 if a value has the wrong type."""
    values = connection.execute(CELL, (cell,)).fetchone()
    return checksum(values, connection.execute(SCORES, (cell,)).fetchall()) or 0


def check_store(content, changes, folder, experiment):
    """Whoever reads a store gets its rows, or one of our errors."""
    path = Path(folder) / "faults.db"
    if not tampered(content, path, changes):
        return
    answers = [
        lambda: read(path), lambda: read(path, ["log_loss"]), lambda: spec_of(path), lambda: exported(path, "csv"),
        lambda: exported(path, "json"), lambda: merged(path),
        lambda: run_experiment(experiment, path.parent, progress="silent"),
    ]  # fmt: skip
    count = 0
    for answer in answers:
        with answered():
            answer()
            count += 1
    target(float(count))
    for command in (["status"], ["export", "--to", "csv", "--all"]):
        finished = asked(command[0], path, *command[1:])
        if finished.returncode != 0:
            refusal(finished)


def exported(path, form):
    with Store(path) as store:
        export(store, form, path.with_suffix(f".{form}"), view=store.everything())


def merged(path):
    out = path.with_name("merged.db")
    out.unlink(missing_ok=True)
    merge([path, path], out)
