"""Disks that are full, read-only or not there: one clear line, exit code 2, and a store that resumes."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import TOML, asked, ciabench, experiment, exported, limited, made, refusal

from ciabench.lab.session import run_experiment
from ciabench.lab.storage.store import Store

DISKS = Path(__file__).with_name("disks.py")
QUICK = ("run of a table", "settle", "merge", "export", "claims", "init")

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "faults.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def as_everybody():
    """Before a command starts: give up the right of root to write where nobody may."""
    if os.geteuid() == 0:
        assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) == 0


def gives_up_rights():
    """Whether a process can be made for which a folder is read-only."""
    try:
        return subprocess.run(["true"], preexec_fn=as_everybody).returncode == 0
    except subprocess.SubprocessError:
        return False


where_folders_can_be_read_only = pytest.mark.skipif(
    not gives_up_rights(), reason="root cannot give up its right to write everywhere, so no folder is read-only"
)


def test_a_full_disk_is_reported_and_the_run_resumes_when_there_is_room(folder):
    message = refusal(ciabench("run", "faults.toml", preexec_fn=limited(100_000)))
    assert message.startswith("Error: results/faults.db: ")
    assert "full" in message
    with Store("results/faults.db") as store:
        assert 0 < store.counts().cells < 120
    run_experiment(experiment(), "results", progress="silent")
    assert exported(Path("results/faults.db")) == exported(made("undisturbed"))


def test_commands_on_full_disks_say_so_and_do_their_work_when_there_is_room(tmp_path):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(DISKS), "limit", str(tmp_path), "1", *QUICK]
    process = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=400)
    assert process.returncode == 0, process.stderr
    survived = re.match(rf"full disks survived by {len(QUICK)} commands, by limit: (\d+);", process.stdout)
    assert survived is not None
    assert int(survived[1]) >= len(QUICK) - 3


def test_a_full_disk_leaves_no_half_of_a_table(tmp_path):
    store, target = made(tmp_path / "results"), tmp_path / "out" / "table.csv"
    target.parent.mkdir()
    finished = ciabench("export", store, "--to", "csv", "--out", target, preexec_fn=limited(40_000))
    assert refusal(finished) == f"Error: {target}: cannot be written; File too large."
    assert not list(target.parent.iterdir())


def test_a_full_disk_under_the_terminal_is_reported(finished):
    with open("/dev/full", "w") as full:
        export = ciabench("export", finished[0], "--to", "csv", stdout=full)
    assert refusal(export) == "Error: No space left on device."


@where_folders_can_be_read_only
@pytest.mark.parametrize("arguments", [
    ["run", "faults.toml"],
    ["report", "results/faults.db"],
])  # fmt: skip
def test_a_read_only_folder_is_reported(folder, read_only, arguments):
    message = refusal(ciabench(*arguments, preexec_fn=as_everybody))
    assert "Permission denied" in message or "read-only" in message


@where_folders_can_be_read_only
def test_a_store_in_a_read_only_folder_can_be_read(folder, read_only):
    read = ciabench("export", "results/faults.db", "--to", "csv", "--no-timings", preexec_fn=as_everybody)
    assert read.stdout.encode() == read_only


@pytest.fixture
def read_only(folder, finished):
    """Make a folder `results` into which nobody may write, with a store; yield its rows."""
    Path("results").mkdir()
    shutil.copy(finished[0], "results/faults.db")
    Path("results/faults.db").chmod(0o444)
    Path("results").chmod(0o555)
    yield finished[1]
    Path("results").chmod(0o755)


def test_a_missing_folder_is_made_for_a_run_and_for_an_export(folder):
    assert asked("run", "faults.toml", "--trials", "1", "--quiet", "--out", "a/b").returncode == 0
    assert asked("export", "a/b/faults.db", "--to", "csv", "--out", "missing/folder/t.csv").returncode == 0
    assert sorted(path.name for path in Path("missing/folder").iterdir()) == ["t.csv", "t.csv.json"]


def test_a_folder_where_a_file_should_be_is_reported(folder, finished):
    Path("results/faults.db").mkdir(parents=True)
    Path("table.csv").mkdir()
    assert refusal(asked("run", "faults.toml")) == "Error: results/faults.db: is a folder, not a store."
    assert refusal(asked("status", "results")) == "Error: results: is a folder, not a store."
    for arguments in (
        ["run", "results"],
        ["compare", finished[0], "table.csv"],
        ["report", finished[0], "--out", "results"],
        ["export", finished[0], "--to", "csv", "--out", "table.csv"],
    ):
        assert "is a directory" in refusal(asked(*arguments)).lower()
