import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from ciabench.cli import main
from ciabench.lab.storage.rows import read

pytestmark = pytest.mark.usefixtures("one_guard")

COLUMNS = [
    "world", "n", "k", "b", "tolerance", "min_headroom", "trial", "size", "learner",
    "success", "best", "constant", "t", "t_error", "fit_seconds",
]  # fmt: skip
TOML = """
name = "tiny"
seed = 1997
trials = 3
sizes = [10, 30]
learners = [{ use = "sklearn.naive_bayes:BernoulliNB", name = "bayes" }, "own:Own"]
[[families]]
n = 5
k = [2, 3]
b = 0.9
"""
OWN = """
import os, time
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

class Own(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        if os.path.exists("broken"):
            raise RuntimeError("broken")
        time.sleep(float(os.environ.get("SLEEP", "0")))
        self.classes_, self.label_ = np.array([0, 1]), int(y.mean() > 0.5)
        return self

    def predict(self, X):
        return np.full(len(X), self.label_)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with an experiment and a learner in a file, as the current one."""
    (tmp_path / "tiny.toml").write_text(TOML)
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("own", None)


def ciabench(*arguments):
    return CliRunner().invoke(main, list(arguments))


def test_own_learner_in_a_file_runs_from_toml_and_exports(folder):
    result = ciabench("run", "tiny.toml", "--out", "results")
    assert result.exit_code == 0, result.output
    assert "24 scores done, 0 failed" in result.output
    assert ciabench("export", "results/tiny.db", "--to", "csv", "--out", "tiny.csv").exit_code == 0
    rows = pd.read_csv("tiny.csv")
    assert list(rows.columns) == COLUMNS
    assert set(rows["learner"]) == {"bayes", "Own"}
    exact = {"check_exact": True}
    pd.testing.assert_frame_equal(read("tiny.csv").rows, read("results/tiny.db").rows, **exact)


def test_results_can_be_repeated_from_a_store_and_from_an_export(folder):
    ciabench("run", "tiny.toml", "--quiet")
    first = ciabench("export", "results/tiny.db", "--to", "csv", "--no-timings").output
    ciabench("export", "results/tiny.db", "--to", "csv", "--out", "tiny.csv")
    beside = json.loads(Path("tiny.csv.json").read_text())
    assert beside["experiment"]["seed"] == 1997
    assert beside["environments"][0]["libraries"]["numpy"]
    for number, source in enumerate(["results/tiny.db", "tiny.csv.json", "tiny.csv"]):
        again = ciabench("run", "--from", source, "--out", f"again{number}", "--quiet", "--allow-imports")
        assert again.exit_code == 0
        assert ciabench("export", f"again{number}/tiny.db", "--to", "csv", "--no-timings").output == first


def test_json_export_holds_rows_and_provenance(folder):
    ciabench("run", "tiny.toml", "--quiet")
    table = json.loads(ciabench("export", "results/tiny.db", "--to", "json").output)
    assert len(table["rows"]) == 24
    assert list(table["rows"][0]) == COLUMNS
    assert table["provenance"]["experiment"]["name"] == "tiny"


def test_more_trials_add_and_running_again_does_nothing(folder):
    ciabench("run", "tiny.toml", "--quiet")
    assert "40 scores done" in ciabench("run", "tiny.toml", "--trials", "5").output
    assert "40 scores done" in ciabench("run", "tiny.toml", "--trials", "5").output
    fewer = ciabench("run", "tiny.toml")
    assert fewer.exit_code == 0
    assert "24 scores done" in fewer.output
    status = ciabench("status", "results/tiny.db").output
    assert "cells   6 of 6" in status
    assert "kept    16 more scores that the experiment file no longer asks for (export --all)" in status
    assert ciabench("export", "results/tiny.db", "--to", "csv").output.count("\n") == 1 + 24
    assert ciabench("export", "results/tiny.db", "--to", "csv", "--all").output.count("\n") == 1 + 40


def test_status_takes_tables_too(folder):
    ciabench("run", "tiny.toml", "--quiet")
    ciabench("export", "results/tiny.db", "--to", "csv", "--out", "tiny.csv")
    status = ciabench("status", "tiny.csv")
    assert status.exit_code == 0
    assert status.output.splitlines()[:1] == ["cells   6"]


def test_parquet_holds_the_same_rows(folder):
    ciabench("run", "tiny.toml", "--quiet")
    assert ciabench("export", "results/tiny.db", "--to", "parquet", "--out", "tiny.parquet").exit_code == 0
    pd.testing.assert_frame_equal(pd.read_parquet("tiny.parquet"), read("results/tiny.db").rows, check_dtype=False)
    assert ciabench("run", "--from", "tiny.parquet", "--out", "again", "--quiet", "--allow-imports").exit_code == 0


def test_a_scheduler_without_dask_is_refused(folder):
    refused = ciabench("run", "tiny.toml", "--scheduler", "tcp://127.0.0.1:8786")
    assert refused.exit_code == 2
    assert "a scheduler is only used with the backend dask; add --backend dask" in refused.output


def test_the_examples_of_the_help_name_files_that_exist():
    root = Path(__file__).parents[1]
    for command in main.commands.values():
        named = re.findall(r"\S*(?:experiments|reference)/\S+", command.help.partition("Example:")[2])
        assert all((root / name).exists() for name in named), named


def test_failures_are_listed_and_retried(folder, one_guard):
    one_guard()  # a new child has this folder as its current one
    Path("broken").touch()
    failed = ciabench("run", "tiny.toml")
    assert failed.exit_code == 1
    assert "Why scores failed: ciabench status results/tiny.db" in failed.output
    assert "Why" not in ciabench("run", "tiny.toml", "--quiet").output
    status = ciabench("status", "results/tiny.db")
    assert status.exit_code == 1
    assert "12 of 24 done, 12 failed" in status.output
    assert "CIA(5, 2, 0.9), trial 0, size 10, Own: RuntimeError: broken" in status.output
    assert "… and 2 more" in status.output
    Path("broken").unlink()
    assert ciabench("run", "tiny.toml", "--quiet").exit_code == 1
    assert ciabench("run", "tiny.toml", "--quiet", "--retry-failed").exit_code == 0
    assert ciabench("status", "results/tiny.db").exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("run", "none.toml"),
        ("run", "."),
        ("run", "own.py"),
        ("run", "tiny.toml", "--from", "results/tiny.db"),
        ("run", "tiny.toml", "--jobs", "0"),
        ("run", "tiny.toml", "--out", "tiny.toml"),
        ("run", "--from", "none.db"),
        ("run", "--from", "tiny.toml"),
        ("run", "--from", "wrong.json"),
        ("status", "none.db"),
        ("status", "tiny.toml"),
        ("export", "tiny.toml", "--to", "csv"),
        ("export", "tiny.toml", "--to", "word"),
        ("report", "/"),
        ("report", "."),
        ("report", "none.db", "--out", "/"),
        ("export", "none.db", "--to", "csv", "--out", "."),
        ("claims", "none.db", "--json", "."),
        ("nonsense",),
    ],
)
def test_mistakes_get_one_line_and_exit_code_2(folder, arguments):
    Path("wrong.json").write_text("[1, 2]")
    result = subprocess.run([sys.executable, "-m", "ciabench.cli", *arguments], capture_output=True, text=True)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert [line for line in result.stderr.splitlines() if line.startswith("Error: ")] == result.stderr.splitlines()[
        -1:
    ]


def test_interrupt_stops_cleanly_and_says_how_to_resume(folder):
    environment = {**os.environ, "SLEEP": "0.3"}
    command = [sys.executable, "-m", "ciabench.cli", "run", "tiny.toml", "--jobs", "2", "--trials", "40"]
    process = subprocess.Popen(
        command,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in shells' background jobs
    )
    deadline = time.time() + 40
    while not _cells_done() and time.time() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, printed = process.communicate(timeout=30)
    assert process.returncode == 130
    assert printed.splitlines()[0] == "tiny.toml: imports own:Own."
    assert printed.splitlines()[-1] == (
        "stopped; finished work is kept. Resume with: ciabench run tiny.toml --jobs 2 --trials 40"
    )
    assert 0 < _cells_done() < 80
    assert ciabench("run", "tiny.toml", "--quiet").exit_code == 0


def _cells_done():
    try:
        return len(read("results/tiny.db").rows.groupby(["world", "trial"]))
    except ValueError:
        return 0


def test_a_reader_that_stops_early_is_no_error(folder):
    ciabench("run", "tiny.toml", "--quiet", "--trials", "50")
    command = f"{sys.executable} -m ciabench.cli export results/tiny.db --to json | head -2"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stdout.count("\n") == 2
    assert done.stderr == ""


def test_info_and_schema_are_json():
    assert json.loads(ciabench("info").output)["libraries"]["numpy"]
    assert json.loads(ciabench("schema").output)["title"] == "Experiment"


@pytest.mark.parametrize("command", [[], *([name] for name in main.commands)])
def test_help_has_an_example(command):
    result = ciabench(*command, "--help")
    assert result.exit_code == 0
    assert not command or "Example:\n    ciabench " in result.output


def test_help_needs_no_heavy_imports():
    code = "import sys, ciabench.cli; print([m for m in ('numpy', 'pandas', 'numba', 'sklearn') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
