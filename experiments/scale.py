"""How far it scales, for docs/guides/scale.md: `python experiments/scale.py` (about four minutes).

Measures what a cell of the paper costs, the driver's ceiling, bytes per cell and Dask's overhead per task; from these,
on paper, how long experiments take on 2 to 10,000 cores and which part binds. Then four drivers compute a quarter of an
experiment each, and the merged store is compared with that of a single driver.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import overhead
from ciabench.lab.compute.guard import Guard
from ciabench.lab.compute.progress import duration
from ciabench.lab.compute.runner import BATCH_SECONDS, LONGEST_SECONDS, MOST_BATCHES
from ciabench.lab.compute.trial import run_cell
from ciabench.lab.compute.workers import pool, prepare, run_batch
from ciabench.lab.plan.experiment import load
from ciabench.lab.plan.learner import from_estimator
from ciabench.lab.plan.plan import Job, Plan

PAPER = Path(__file__).parent / "paper.toml"
TRIALS, CELLS, TASKS = 5, 50_000, 2_000
PARTS = 4
EXPERIMENTS = {"the paper": 600, "a million cells": 10**6, "a hundred million": 10**8}
CORES = (2, 100, 10_000)

SHORT = """
name = "quarters"
seed = 1997
trials = 400
sizes = [10, 100, 1000]
learners = ["EM", "COV", "Winnow"]
families = [{ n = [10, 75], k = 2, b = 0.9 }]
"""


def cell_seconds() -> dict[str, float]:
    """Processor seconds of a cell of the paper, per world, and in the mean."""
    plan, guard = load(PAPER).plan(), Guard(time_limit=60)
    prepare(plan)
    found = {}
    for position, world in enumerate(plan.worlds):
        spent = []
        for trial in range(TRIALS):
            start = time.process_time()
            run_cell(plan, Job(position, trial, plan.wanted(position)), guard)
            spent.append(time.process_time() - start)
        found[world.name] = float(np.mean(spent))
    return {**found, "mean": float(np.mean(list(found.values())))}


def task_seconds() -> float:
    """Processor seconds that a task costs the process of scheduler and driver: what limits the tasks per second."""
    nothing = from_estimator("nothing", overhead.Nothing())
    plan = Plan(1, TASKS, (10,), (overhead.OneTask(),), (nothing,), guard_foreign=False)
    run_batch(plan, [Job(0, 0, plan.wanted(0))])
    with pool("dask", jobs=1) as compute:
        list(compute(plan, ([Job(0, trial, plan.wanted(0))] for trial in range(20)), "ahead"))
        start = time.process_time()
        batches = ([Job(0, trial, plan.wanted(0))] for trial in range(TASKS))
        assert sum(len(cells) for cells in compute(plan, batches, "ahead")) == TASKS
        return (time.process_time() - start) / TASKS


def forecast(seconds: float, driver: float, size: float, task: float) -> pd.DataFrame:
    """Time of each experiment on so many cores, the part that binds, and the size of its store."""
    lines = []
    for name, cells in EXPERIMENTS.items():
        for cores in CORES:
            rates = {
                "the cores": cores / seconds,
                "the driver": driver,
                "Dask": max(1.0, min(max(BATCH_SECONDS, cores / MOST_BATCHES), LONGEST_SECONDS) / seconds) / task,
            }
            slowest = min(rates, key=rates.__getitem__)
            alone = {name: rates[name] for name in ("the cores", "the driver")}
            lines.append(
                {
                    "experiment": name,
                    "cores": f"{cores:,}",
                    "processes, one driver": duration(cells / min(alone.values())),
                    "Dask, one scheduler": duration(cells / rates[slowest]),
                    "binds": slowest,
                    "parts that free the cores": int(
                        np.ceil(rates["the cores"] / min(rates["the driver"], rates["Dask"]))
                    ),
                    "store": f"{cells * size / 1e9:.3g} GB",
                }
            )
    return pd.DataFrame(lines)


def ciabench(*arguments: Any) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", "ciabench.cli", *map(str, arguments)], stdout=subprocess.DEVNULL)


def finish(*processes: "subprocess.Popen[bytes]") -> None:
    codes = [process.wait() for process in processes]
    assert not any(codes), codes


def quarters(folder: Path) -> str:
    """Run an experiment by four drivers at the same time and by one, merge, and compare exports."""
    file = folder / "quarters.toml"
    file.write_text(SHORT)
    start = time.perf_counter()
    finish(ciabench("run", file, "--out", folder / "single", "--quiet"))
    single = time.perf_counter() - start
    start = time.perf_counter()
    numbers = range(1, PARTS + 1)
    finish(*(ciabench("run", file, "--part", f"{i}/{PARTS}", "--out", folder / str(i), "--quiet") for i in numbers))
    together = time.perf_counter() - start
    merged, whole = folder / "merged.db", folder / "single" / "quarters.db"
    start = time.perf_counter()
    finish(ciabench("merge", *(folder / str(i) / "quarters.db" for i in numbers), "--out", merged))
    merging = time.perf_counter() - start
    tables = [folder / "merged.csv", folder / "single.csv"]
    for store, table in zip((merged, whole), tables, strict=True):
        finish(ciabench("export", store, "--to", "csv", "--no-timings", "--out", table))
    same = tables[0].read_bytes() == tables[1].read_bytes()
    n_rows = len(tables[0].read_text().splitlines()) - 1
    return (
        f"{PARTS} drivers: {together:.0f} s by the clock on {os.cpu_count()} cores (one driver with one worker: "
        f"{single:.0f} s), merge {merging:.1f} s; exports of {n_rows:,} rows are "
        f"{'the same bytes' if same else 'DIFFERENT'}"
    )


def main() -> None:
    per_cell = cell_seconds()
    for world, seconds in per_cell.items():
        print(f"{world}: {seconds * 1e3:.0f} ms of processor time per cell, {1 / seconds:.1f} cells/s per core")
    driven = overhead.drive(CELLS, 0.0)
    print(f"driver: {driven.processor:,.0f} cells of 15 scores per second; {driven.size:,.0f} bytes per cell")
    task = task_seconds()
    print(f"Dask: {task * 1e3:.2f} ms per task, {1 / task:,.0f} tasks/s by one scheduler")
    print(forecast(per_cell["mean"], driven.processor, driven.size, task).to_string(index=False))
    with tempfile.TemporaryDirectory() as folder:
        print(quarters(Path(folder)))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
