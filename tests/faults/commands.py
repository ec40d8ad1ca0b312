"""Commands that are killed, that meet full disks, and whose stores are damaged; and what they leave behind."""

import csv
import io
import json
import re
import shutil
from contextlib import chdir, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pandas as pd
from harness import TOML, asked, exported

from ciabench.errors import CIABenchError
from ciabench.findings import advice
from ciabench.findings.advice_learners import learners_for
from ciabench.lab.storage.rows import read

TABLE_WORLD = 'worlds = [{ use = "Table", path = "my.csv", target = "y" }]'
EXPERIMENTS = {
    "faults": TOML.replace("60", "1"),
    "table": f"""
        name = "table"
        seed = 1997
        trials = 2
        sizes = [20, 40]
        {TABLE_WORLD}
        learners = ["NaiveBayes", "Winnow"]
    """,
    "network": f"""
        name = "network"
        seed = 1997
        trials = 2
        sizes = [20, 40]
        {TABLE_WORLD}
        [[learners]]
        use = "NetworkClassifier"
        [[learners]]
        use = "NetworkClassifier"
        name = "hidden"
        structure = [["y", "town"], ["h", "size"], ["y", "h"]]
        hidden = {{ h = 2 }}
        n_init = 2
    """,
    "departures": """
        name = "departures"
        seed = 1997
        trials = 1
        sizes = [20, 100]
        learners = ["EM", "NaiveBayes"]
        references = ["projection"]
        worlds = [
            { use = "Tree", n = 5, d = 1, b = 0.8 },
            { use = "TwoHidden", n = 5, b = 0.7 },
            { use = "Threshold", n = 5, r = 3, noise = 0.1, b = 0.8 },
        ]
    """,
    "claim": """
        name = "claim"
        seed = 1997
        trials = 2
        sizes = [50]
        learners = ["EM", "Winnow"]
        families = [{ n = 10, k = 5, b = 0.9 }]
    """,
}


class Command(NamedTuple):
    """A command line; the commands that make what it reads, and earlier versions of what it writes.

    Where only some of its points are tried, `share` are tried of a command that takes long.
    """

    line: str
    before: tuple[str, ...] = ()
    share: float = 1

    def prepare(self, folder):
        """Make a folder with everything that the command reads."""
        folder.mkdir(parents=True)
        with chdir(folder):
            table().to_csv("my.csv", index=False)
            for name, text in EXPERIMENTS.items():
                Path(f"{name}.toml").write_text(text, encoding="utf-8")
            for line in self.before:
                assert asked(*line.split()).returncode == 0, line
        return folder

    def finish(self, folder):
        """Run the command to its end in a folder; a file that it never overwrites may be there already."""
        with chdir(folder):
            finished = asked(*self.line.split())
        assert finished.returncode == 0 or "exists already" in finished.stderr, finished
        return left_in(folder)


STORE, SMALLER = "run faults.toml --quiet --trials 2", "run faults.toml --quiet --out smaller"
"""Commands that make a store, and the store of which files of before are."""

COMMANDS = {
    "run": Command("run faults.toml --quiet"),
    "run of a table": Command("run table.toml --quiet"),
    "run of networks": Command("run network.toml --quiet"),
    "run of departures": Command("run departures.toml --quiet"),
    "settle": Command("settle claim.toml --quiet --most-trials 20"),
    "merge": Command(
        "merge 1/faults.db 2/faults.db --out merged.db",
        tuple(f"run faults.toml --quiet --trials 2 --out {part} --part {part}/2" for part in (1, 2)),
    ),
    "advise": Command("advise my.csv --target y --budget 1h --jobs 1 --json a.json --page a.html", share=0.1),
    "export": Command(
        "export results/faults.db --to csv --out t.csv.gz",
        (STORE, SMALLER, "export smaller/faults.db --to csv --out t.csv.gz"),
    ),
    "export to Parquet": Command("export results/faults.db --to parquet --out t.parquet", (STORE,)),
    "claims": Command(
        "claims results/faults.db --json c.json --markdown c.md",
        (STORE, SMALLER, "claims smaller/faults.db --json c.json --markdown c.md"),
    ),
    "figures": Command(
        "figures results/faults.db --out figures", (STORE, SMALLER, "figures smaller/faults.db --out figures"), 0.1
    ),
    "report": Command(
        "report results/faults.db --out r.html", (STORE, SMALLER, "report smaller/faults.db --out r.html")
    ),
    "init": Command("init mine.toml"),
}

VARYING = ("seconds", "fit_seconds", "environment")
"""Parts of an advice that differ from run to run: timings, and the commit, if one was made meanwhile."""

SECONDS = re.compile(r"<td>[\d.]*</td>\s*</tr>")
"""Last cell of a line of the page's table of learners."""

UNFINISHED = re.compile(r"\..*\.unfinished(-\w+)?|.*\.db-\w+")
"""Names of files that nobody takes for results: unfinished ones, and SQLite's journals."""


def table():
    """Rows with a number, text and a bit, with missing cells and two classes that depend on the first two columns."""
    rng = np.random.default_rng(0)
    label, noise = rng.integers(0, 2, 60), rng.normal(size=60)
    town = np.where(rng.random(60) < 0.3, "Bath", np.array(["York", "Hull"])[label])
    return pd.DataFrame({
        "size": np.where(rng.random(60) < 0.1, np.nan, np.round(label + noise, 1)),
        "town": np.where(rng.random(60) < 0.1, None, town),
        "member": rng.integers(0, 2, 60),
        "y": np.array(["low", "top"])[label],
    })  # fmt: skip


def shorten_advice():
    """Have advice take a second: two splits, a learner of each way."""
    advice.advise.__kwdefaults__["splits"] = 2
    advice.learners_for = lambda *table: {
        name: learner for name, learner in learners_for(*table).items() if name in ("NaiveBayes", "LogisticRegression")
    }


def left_in(folder):
    """Content of all files in a folder, by name, but for locks; without timings, and of stores the exported rows."""
    return {
        str(path.relative_to(folder)): content(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock"
    }


def content(path):
    """What a file holds beside timings."""
    if path.suffix == ".db":
        return exported(path), exported(path, everything=True)
    if path.name == "a.json":
        return steady(json.loads(path.read_bytes()))
    if path.name == "a.html":
        return SECONDS.sub("", path.read_text(encoding="utf-8"))
    return path.read_bytes()


def steady(plain):
    """Plain values without those that vary."""
    if isinstance(plain, dict):
        return {key: steady(value) for key, value in plain.items() if key not in VARYING}
    return list(map(steady, plain)) if isinstance(plain, list) else plain


def check_interrupted(folder, before, after):
    """Check what an interrupted command left: under each name the file of before, the finished one, or none."""
    for path in filter(Path.is_file, folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".lock" or UNFINISHED.fullmatch(path.name):
            continue
        assert name in before or name in after, f"{name} is litter"
        if path.suffix == ".db" and name not in before:
            check_rows(path, after[name])
            continue
        assert content(path) in (before.get(name), after.get(name)), f"{name} is neither the old nor the new file"
        if path.name.endswith(".csv.gz"):
            read(path)


def check_rows(path, finished):
    """Check that a store with its journals, which are copied, cannot be read yet, or holds rows of the finished one."""
    with TemporaryDirectory() as folder:
        for part in path.parent.glob(f"{path.name}*"):
            shutil.copy(part, folder)
        with suppress(CIABenchError):
            assert rows_of(content(Path(folder) / path.name)) <= rows_of(finished), path


def rows_of(store):
    """Everything that a store keeps, from its content, whatever its columns are."""
    lines = csv.DictReader(io.StringIO(store[1].decode()))
    return {frozenset((name, value) for name, value in line.items() if value) for line in lines}
