"""`ciabench advise`: bad tables get one clear line, good ones an advice."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ciabench.cli import main
from ciabench.findings import advice_learners
from ciabench.lab.storage.store import Store

BAD = {
    "empty": ("", "bad.csv: is empty."),
    "header": ("a,y\n", "bad.csv: there are no rows."),
    "one row": ("a,y\n1,no\n", "bad.csv: there is only one row."),
    "one class": ("a,y\n" + "1,no\n2,no\n" * 10, "the target 'y' has one class only, 'no'; advice needs two classes."),
    "no labels": ("a,y\n" + "1,\n2,\n" * 10, "bad.csv: the target 'y' has no values; advice needs two classes."),
    "all missing": ("a,b,y\n" + ",,no\n,,yes\n" * 10, "no column beside the target ('a' is left out: empty; 'b'"),
    "junk": (bytes(range(256)) * 20, "is not text in UTF-8; a table is a CSV or TSV file in UTF-8, or a Parquet file."),
    "encoding": ("näme,y\n1,no\n".encode("latin-1"), "is not text in UTF-8, first in line 1; save it as CSV in UTF-8."),
    "ragged": ("a,b,y\n1,2,no\n1,no\n", "bad.csv: line 3 has 2 cells, and line 1 has 3."),
    "twice": ("a,a,y\n1,2,no\n", "bad.csv: has more than one column 'a'; names must be unique."),
    "levels": (
        "a,y\n" + "".join(f"v{i % 10_000},{'no' if i % 3 else 'yes'}\n" for i in range(20_000)),
        "'a' is left out: 10,000 levels, more than 255",
    ),
    "dates": (
        "day,y\n" + "".join(f"2024-01-{1 + i % 28:02},{'no' if i % 3 else 'yes'}\n" for i in range(40)),
        "'day' is left out: dates",
    ),
    "numbers": (
        "a,y\n" + "".join(f"{i % 7},{i * 1.5}\n" for i in range(99)),
        "the target 'y' has 99 different numbers",
    ),
}


def advised(*arguments):
    return CliRunner().invoke(main, ["advise", *arguments])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def good(folder):
    """A table with a copy of the target and missing labels, as a file."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 60), "b": rng.choice([*"xyz"], 60)})
    frame["y"] = np.where(frame["a"] + (frame["b"] == "x") + rng.integers(0, 2, 60) > 1, "yes", "no")
    frame["diagnosis"] = frame["y"].map({"yes": "positive", "no": "negative"})
    frame.loc[:3, "y"] = None
    frame.to_csv("good.csv", index=False)
    return folder / "good.csv"


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_gets_one_clear_line(folder, name):
    content, message = BAD[name]
    (folder / "bad.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    result = advised("bad.csv", "--target", "y")
    assert result.exit_code == 2
    assert message in result.output
    assert result.output.startswith("Error: bad.csv: ")
    assert len(result.output.splitlines()) == 1
    assert not (folder / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv", "--target", "y"], "none.csv: there is no such file in "),
        (["https://example.org/a.csv", "--target", "y"], "https://example.org/a.csv: is a URL; download it"),
        (["good.csv"], "give --target, the column of the classes; good.csv has a, b, y, diagnosis."),
        (["good.csv", "--target", "z"], "good.csv: there is no column 'z'; there are a, b, y, diagnosis."),
        (["good.csv", "--target", "diagnoses"], '(did you mean "diagnosis"?)'),
        (["good.csv", "--target", "y", "--keep", "c"], "good.csv: there is no column 'c'"),
        (["good.csv", "--target", "y", "--leave-out", "y"], "'y' is the target"),
        (["good.csv", "--target", "y", "--budget", "soon"], "'soon' is not a time such as 90, 60s, 5m or 1h."),
        (["good.csv", "--target", "y", "--margin", "-1"], "Invalid value for '--margin'"),
    ],
)
def test_a_wrong_argument_gets_a_clear_line(good, arguments, message):
    result = advised(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_advice_is_printed_and_written(good, monkeypatch):
    monkeypatch.setattr(advice_learners, "ADAPTIVE_CELLS", 0)
    options = ["--target", "y", "--budget", "0", "--jobs", "1", "--json", "a.json", "--page", "a.html"]
    result = advised("good.csv", *options)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].startswith("good.csv: 56 rows, 2 columns (1 binary, 1 categorical); y has 2 classes")
    assert "left out: diagnosis (copy of the target); keep one with --keep NAME" in lines
    assert any(line.startswith("note: 4 of 60 rows are left out: the target 'y' is missing") for line in lines)
    assert "a.html: open it in a browser." in lines
    assert "results/good-advice.db keeps 1 split" in result.output
    plain = json.loads((good.parent / "a.json").read_text())
    assert " ".join(plain["verdict"].split()) in " ".join(result.output.split())
    assert plain["verdict"] in (good.parent / "a.html").read_text()
    kept = advised("good.csv", *options, "--keep", "diagnosis", "--leave-out", "b")
    assert "left out: b (as you asked)" in kept.output
    assert "note: 'diagnosis' alone tells the class of every row" in " ".join(kept.output.split())


@pytest.mark.soak
def test_ctrl_c_ends_with_advice_and_the_same_command_goes_on(good):
    command = [sys.executable, "-m", "ciabench.cli", "advise", "good.csv", "--target", "y", "--budget", "10m"]
    running = subprocess.Popen([*command, "--jobs", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    store = good.parent / "results" / "good-advice.db"
    while count(store) < 2:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    printed, complaints = running.communicate(timeout=120)
    assert running.returncode == 0, complaints
    assert "Traceback" not in complaints
    finished = count(store)
    assert 2 <= finished < 30
    assert f"keeps {finished} splits; the same command goes on from there." in " ".join(printed.split())
    again = subprocess.run([*command[:-1], "0"], capture_output=True, text=True, check=True, env=os.environ)
    assert f"keeps {finished + 1} splits" in " ".join(again.stdout.split())


def count(store):
    """Splits of a store that are finished at the largest size."""
    if not store.exists():
        return 0
    try:
        with Store(store) as opened:
            return opened.counts().done // (9 * 3)  # learners, sizes
    except Exception:
        return 0
