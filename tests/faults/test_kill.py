"""Runs and workers that are killed, also before every statement, resume to the bytes of an undisturbed run."""

import os
import re
import subprocess
import sys
from pathlib import Path

KILLS = Path(__file__).with_name("kills.py")


def test_killed_drivers_and_workers_lose_and_double_nothing(tmp_path):
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(KILLS), str(tmp_path), "1", "0", "1"]
    process = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=400)
    assert process.returncode == 0, process.stderr
    survived = re.match(r"kills survived: 1 of drivers, 0 of workers, 1 of both, (\d+) before each of ", process.stdout)
    assert survived is not None
    assert int(survived[1]) > 50
