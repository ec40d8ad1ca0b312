"""Costs of new processes, for `speed.py`: imports, the first fit, the memory of a large one."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

FIT = "import numpy as np; from ciabench import EM; X = np.eye(10, dtype=np.uint8); EM(n_init=2).fit(X, X[:, 0])"
LARGE_FIT = (
    "import numpy as np; from ciabench import EM; X = np.random.default_rng(0).integers(0, 2, (10**6, 75), "
    "dtype=np.uint8); y = X[:, 0] ^ (X[:, 1] & X[:, 2]); EM(max_iter=10, tol=1e3, random_state=0).fit(X, y)"
)
STARTS = {
    "import ciabench": "import ciabench",
    "the command line": "from ciabench.cli import main",
    "first fit in a new process": FIT,
    "of which the import of scikit-learn": "import sklearn.base",
}
MEASURE = """
import os
times, status = os.times(), open("/proc/self/status").read()
print(times.user + times.system, int(status.split("VmHWM:")[1].split()[0]) / 1024)
"""
"""The peak is not that of `getrusage`, which a new process inherits from the one that started it."""


class Spent(NamedTuple):
    """What a process took: seconds by the clock and of the processor, and peak memory in MB."""

    clock: float
    processor: float
    memory: float


def fresh_process(code: str, **environment: str) -> Spent:
    """Run code in a new Python, which keeps the bytecode that it compiles, as Python does by default."""
    variables = {**os.environ, **environment}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    command, started = [sys.executable, "-c", f"{code}\n{MEASURE}"], time.perf_counter()
    process = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    clock = time.perf_counter() - started
    return Spent(clock, *map(float, process.stdout.split()[-2:]))


def start_up(rounds: int) -> str:
    """Seconds of new processes, medians of some rounds after one that is not counted."""
    figures = []
    for what, code in STARTS.items():
        spent = [fresh_process(code) for _ in range(rounds + 1)][1:]
        clock, processor = (statistics.median(column) for column in list(zip(*spent, strict=True))[:2])
        figures.append(f"{what} {clock:.2f} s ({processor:.2f} s of the processor)")
    with tempfile.TemporaryDirectory() as empty:
        clock, processor, _ = fresh_process(FIT, NUMBA_CACHE_DIR=empty)
    figures.append(f"first fit with kernels to compile {clock:.1f} s ({processor:.1f} s of the processor)")
    return "; ".join(figures)


def large_fit() -> str:
    """Peak memory of a fit of a million rows."""
    memory = fresh_process(LARGE_FIT).memory
    return f"10^6 × 75 rows fitted with 20 restarts: peak {memory:.0f} MB, {memory / 600:.2f}× the data as float64"
