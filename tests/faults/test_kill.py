"""Commands, runs and workers that are killed, also at their writes, resume to the bytes of what was not disturbed."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

KILLS = Path(__file__).with_name("kills.py")
SOURCE = Path(__file__).parents[2] / "src" / "ciabench"
QUICK = (
    "run",
    "run of a table",
    "run of departures",
    "settle",
    "merge",
    "export",
    "claims",
    "report",
    "init",
)

WRITES, SAVES = ("write_text", "write_bytes", "open"), ("to_csv", "to_json", "to_parquet", "savefig")
"""Methods that write to a path, and functions that write to the path that is their first argument."""

OTHERS = {("lock.py", "Path(f'{store}.lock')"), ("figures.py", "file"), ("advice_page.py", "file")}
"""What is not written whole: locks; and figures in memory."""


def survived(*arguments):
    """What `kills.py` says of the kills that were survived."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(KILLS), *map(str, arguments)]
    process = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=400)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_killed_drivers_and_workers_lose_and_double_nothing(tmp_path):
    shown = survived("moments", tmp_path, 1, 0, 1, "run")
    assert shown.startswith("kills survived at random moments, each of run: 1 of drivers, 0 of workers, 1 ")


def test_commands_that_are_killed_at_their_writes_end_with_the_same_bytes(tmp_path):
    shown = survived("points", tmp_path, 61, *QUICK)
    assert shown.count(" + ") == 2 * (1 + len(QUICK))
    found = re.search(r"in all (\d+), each resumed or repeated", shown)
    assert found is not None
    assert int(found[1]) >= 2 * len(QUICK)


def test_every_file_of_results_is_written_whole():
    found = {(path.name, target) for path in SOURCE.rglob("*.py") for target in written_by(path)}
    assert {target for _, target in found - OTHERS} == {"unfinished"}
    assert found >= OTHERS


def written_by(source):
    """Targets of all writes in a source file, as they are spelled."""
    for call in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute | ast.Name):
            continue
        name = ast.unparse(call.func).rpartition(".")[2]
        modes = [one.value for one in call.args if isinstance(one, ast.Constant)] if name == "open" else ["w"]
        if name in (*WRITES, *SAVES) and any(set(str(mode)) & set("wax+") for mode in modes):
            is_method_of_it = name in WRITES and isinstance(call.func, ast.Attribute)
            yield ast.unparse(call.func.value if is_method_of_it else call.args[0])
