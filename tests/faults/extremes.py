"""The most extreme tables that fit on a disk, each read within a limit of time and memory.

`python tests/faults/extremes.py FOLDER SCALE` prints what came of each case as JSON: "answered", or the line with which
it was refused. SCALE multiplies sizes: 1 in the tests, 100 in the soak.
"""

import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.append(str(Path(__file__).parent))

from harness import asked, refusal

from ciabench import BeliefNetwork, BitEncoder, LatentClass, NaiveBayes, Table
from ciabench.errors import CIABenchError
from ciabench.files import written_whole
from ciabench.findings.advice_table import as_meant
from ciabench.lab.plan.experiment import load, validate
from ciabench.lab.storage.rows import read
from ciabench.world.table_file import read_table

MEMORY = 4 * 2**30
SECONDS = 30
"""Memory of this process, which its imports take a third of, and seconds per case and SCALE."""

LABELS = ["no", "yes"]
HOSTILE = [
    "<script>alert(1)</script>",
    "'; DROP TABLE cell; --",
    '"]]\n[[worlds]]',
    "=cmd|' /C calc'!A0",
    "\x1b]0;t\x07",
    "$\\frac{",
]
WORLD = {"name": "odd", "seed": 1, "trials": 1, "sizes": [10], "learners": ["NaiveBayes"]}

READERS = {
    "table": (read_table, ".csv"),
    "parquet": (read_table, ".parquet"),
    "experiment": (load, ".toml"),
    "network": (BeliefNetwork.from_bif, ".bif"),
    "results": (read, ".csv"),
    "packed results": (read, ".csv.gz"),
    "store": (read, ".db"),
    "world": (
        lambda path: validate({**WORLD, "worlds": [{"use": "Table", "path": str(path), "target": "y"}]}, "odd").plan(),
        ".csv",
    ),
}


def sparse(path):
    """Make a file of a terabyte that takes no room."""
    with open(path, "w") as file:
        file.truncate(2**40)


PLACES = {
    "pipe": os.mkfifo,
    "folder": os.mkdir,
    "endless": lambda path: os.symlink("/dev/zero", path),
    "loop": lambda path: os.symlink(path, path),
    "dangling": lambda path: os.symlink("nowhere", path),
    "sparse": sparse,
    "empty": lambda path: path.write_bytes(b""),
}


def odd_files(folder, scale):
    """Cases of every reader with files that are none, or have no end."""
    for name, (reader, suffix) in READERS.items():
        for kind, make in PLACES.items():
            path = folder / f"{kind}-{name.replace(' ', '-')}{suffix}"
            make(path)
            yield f"{kind} as {name}", lambda reader=reader, path=path: reader(path)


def bombs(folder, scale):
    """Cases of small files that unpack to gigabytes."""
    import pyarrow
    from pyarrow import parquet

    member = gzip.compress(bytes(2**24))
    for name in ("bomb.csv", "table.csv.gz", "results.csv.gz"):
        (folder / name).write_bytes(member * min(64 * scale, 256))
    header = b"world,trial,size,learner,success,best,constant,t,t_error\n"
    (folder / "rows.csv.gz").write_bytes(
        gzip.compress(header) + gzip.compress(b"a,1,1,b,1,1,1,1,1\n" * 2**18) * min(200 * scale, 800)
    )
    places = pyarrow.array(np.zeros(100_000, dtype=np.int32))
    text = pyarrow.DictionaryArray.from_arrays(places, ["x" * 100_000])
    parquet.write_table(pyarrow.table({"a": text, "y": LABELS * 50_000}), folder / "text.parquet")
    rows = pyarrow.table({f"c{place}": pyarrow.nulls(2**20) for place in range(200)})
    parquet.write_table(rows, folder / "rows.parquet")
    for name in ("bomb.csv", "table.csv.gz", "text.parquet", "rows.parquet"):
        yield name, lambda name=name: read_table(folder / name)
    for name in ("results.csv.gz", "rows.csv.gz"):
        yield name, lambda name=name: read(folder / name)


def sizes(folder, scale):
    """Cases of many columns, levels, labels and bits."""
    rng, n_columns, n_levels = np.random.default_rng(0), 1_000 * scale, max(100_000, 10_000 * scale)
    wide = pd.DataFrame(rng.integers(0, 3, (20, n_columns))).rename(columns=str).assign(y=LABELS * 10)
    wide.to_csv(folder / "wide.csv", index=False)
    levels = pd.DataFrame({"a": [f"level {row}" for row in range(n_levels)]}).assign(y=LABELS * (n_levels // 2))
    levels.to_csv(folder / "levels.csv", index=False)
    labels = pd.DataFrame({"a": range(20_000), "y": ["x" * 100_000, "b", "b", "c"] * 5_000})
    many = pd.DataFrame({"a": [f"level {row % 60_000}" for row in range(70_000)]})
    yield "columns read", lambda: read_table(folder / "wide.csv")
    yield "columns fitted", lambda: NaiveBayes().fit(wide.drop(columns="y"), wide["y"]).predict(wide.drop(columns="y"))
    yield "columns of a world", lambda: Table(wide, target="y").identity
    yield "columns advised on", lambda: as_meant(wide.iloc[:, -1_000:], "y")
    yield "levels read", lambda: read_table(folder / "levels.csv")
    yield "levels fitted", lambda: LatentClass(n_init=1).fit(levels[["a"]])
    yield "levels of a world", lambda: Table.from_file(folder / "levels.csv", target="y")
    yield "levels as labels", lambda: Table.from_file(folder / "levels.csv", target="a")
    yield "long labels", lambda: Table(labels, target="y")
    yield "levels as bits", lambda: BitEncoder().fit(many).transform(many)


def numbers(folder, scale):
    """Cases of numbers whose sums and squares overflow, or that no float can hold."""
    for name, value in {
        "1e308": 1e308,
        "1e149": 1e149,
        "infinity": np.inf,
        "an integer": 10**400,
        "a longer one": 10**5000,
    }.items():
        table = pd.DataFrame({"a": [value, 0, 1, 2.5] * 10, "y": LABELS * 20})
        yield f"{name} fitted", lambda table=table: LatentClass(n_init=1, max_iter=9).fit(table).predict_proba(table)
        mixed = pd.DataFrame({"a": ["text", value] * 20, "y": LABELS * 20})
        yield f"{name} beside text", lambda table=mixed: NaiveBayes().fit(table[["a"]], table["y"])
        yield f"{name} as labels", lambda table=table: Table(table, target="a")
    (folder / "hex.toml").write_text(f'name = "a"\nseed = 0x{"f" * 9_000}\n')
    yield "an integer of an experiment", lambda: load(folder / "hex.toml")
    for name, part in {"keys": "a.", "quoted keys": '"a b" . ', "keys with commas": "',' . ", "escapes": '\\"'}.items():
        path = folder / f"{name}.toml"
        path.write_text(part * (2**19 // len(part)) + "a = 1")
        yield f"{name} of an experiment", lambda path=path: load(path)
    yield (
        "an integer of a world",
        lambda: validate({**WORLD, "worlds": [{"n": 10**5000, "k": 2, "b": 0.9}]}, "odd").plan(),
    )


def variable(name, states="a, b"):
    return f"variable {name} {{ type discrete [ 2 ] {{ {states} }}; }}\n"


def table(name, entries, *parents):
    return f"probability ( {name}{' | ' if parents else ''}{', '.join(parents)} ) {{ {entries} }}\n"


def networks(folder, scale):
    """Cases of networks that would take quadratic time, or tables of any size."""
    names = [f"v{place}" for place in range(70)]
    bits, one, half = "".join(map(variable, names)), variable("x", "a"), "default 0.5, 0.5;"
    texts = {
        "words": "variable " * 200_000,
        "braces": "variable x {" * 100_000,
        "comments": "/* " * 500_000,
        "quotes": '"' * 500_000,
        "parentheses": one + table("x", "( " * 500_000),
        "spaces": one + table("x", "table" + " " * 500_000),
        "semicolons": one + table("x", ";" * 500_000),
        "parents": bits + table("v0", half, *names[1:]),
        "many cells": bits + "".join(table(name, half, *names[:23]) for name in names[23:]),
        "axes": "".join(variable(name, "a") for name in names) + table("v0", "default 1;", *names[1:]),
        "states": variable("x", ", ".join(map(str, range(300_000)))) + table("x", "default 1;"),
        "variables": "".join(variable(f"v{place}", "a") + table(f"v{place}", "table 1;") for place in range(20_000)),
    }
    for name, text in texts.items():
        (folder / f"{name}.bif").write_text(text)
        yield f"network of {name}", lambda name=name: BeliefNetwork.from_bif(folder / f"{name}.bif")


def outputs(folder, scale):
    """Cases of commands that write where nothing can be written."""
    (folder / "small.csv").write_text("a,b,y\n" + "1,2,no\n3,1,yes\n2,2,no\n" * 10)
    os.symlink("/dev/full", folder / "full")
    os.symlink(folder / "small-advice.db", folder / "small-advice.db")
    for name in ("full", "pipe-table.csv", "folder-table.csv", "small.csv/below", "x" * 300):
        yield f"writing to {name[:20]}", lambda name=name: write(folder / name)
    advise = ("advise", folder / "small.csv", "--target", "y", "--out", folder)
    yield "a store that is a loop", lambda: refusal(asked(*advise))


def write(path):
    with written_whole(path) as unfinished:
        unfinished.write_text("text")


def outcomes(folder, scale):
    """What came of every case in a process of its own, whose memory is limited."""
    folder.mkdir()
    command = [sys.executable, __file__, str(folder), str(scale)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=3_600)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout.splitlines()[-1])


def outcome(case, seconds):
    """What came of a case: an answer, one of our lines, or the name of any other exception."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(20 * seconds)
    try:
        case()
    except CIABenchError as error:
        return f"refused: {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    return "answered"


def hang(*_):
    raise TimeoutError("the time limit is over")


if __name__ == "__main__":
    place, factor = Path(sys.argv[1]), int(sys.argv[2])
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, hang)
    limit = SECONDS if factor == 1 else 10 * SECONDS
    groups = (odd_files, bombs, sizes, numbers, networks, outputs)
    found = {name: outcome(case, limit) for group in groups for name, case in group(place, factor)}
    print(json.dumps(found))
