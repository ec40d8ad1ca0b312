"""Stores with many cells: how long commands take on one, and to merge ten of them; and whether a long run leaks.

`python tests/faults/load.py store FOLDER CELLS`, `python tests/faults/load.py merge FOLDER CELLS` with cells per store,
and `python tests/faults/load.py leak CELLS`.
"""

import gc
import os
import sys
import time
from itertools import chain
from pathlib import Path

import numpy as np
import psutil
from harness import experiment, exported

from ciabench.lab.compute.runner import run_cells
from ciabench.lab.compute.workers import pool
from ciabench.lab.plan.outcome import CellOutcome, ScoreOutcome
from ciabench.lab.plan.plan import Job
from ciabench.lab.storage.store import Store

sys.path.append(str(Path(__file__).parents[1] / "lab"))

SIZES = (10, 30, 100, 300, 1000)
LEARNERS = ("first", "second", "third")
GRID = [{"n": [10, 75], "k": [2, 3, 5], "b": 0.9}]
WORLDS = 6
BATCH = 1_000
STORES = 10
MOST_STATUS, MOST_MEMORY = 2, 1_500
"""Seconds of processor time that `status` may take on the full store, and megabytes that it and `figures` may take."""

MOST_GROWTH = 0.05
"""Share by which the memory of the driver, and that of all others, may grow between a tenth and the end of a run."""


def filled(folder, cells, part=(1, 1)):
    """Make a store with so many cells of fifteen scores, made up, or a part of them, through the store itself."""
    named = [{"use": "Perceptron", "name": name, "n_passes": 1 + place} for place, name in enumerate(LEARNERS)]
    made = experiment(learners=named, sizes=list(SIZES), families=GRID, trials=-(-cells // WORLDS))
    number, count = part
    places = [place for place in range(cells) if place // WORLDS % count == number - 1]
    with Store.continued(Path(folder) / "faults.db", made.spec(), made.plan(), {}) as store:
        for start in range(0, len(places), BATCH):
            store.add(*(cell(place % WORLDS, place // WORLDS) for place in places[start : start + BATCH]))
        return store.path


def cell(world, trial):
    """A cell with scores that are noise, the same at every call, and facts as those of real ones."""
    rng = np.random.default_rng([world, trial])
    entrants = [(learner, size) for size in SIZES for learner in range(len(LEARNERS))]
    scores = [
        ScoreOutcome(*entrant, None, success, t, t_error=0.0, fit_seconds=0.01, facts='{"n_iter":3}')
        for entrant, (success, t) in zip(entrants, rng.random((len(entrants), 2)).tolist(), strict=True)
    ]
    facts, best = '{"difficulty":0.9,"draws":5}', 0.8 + rng.random() / 10
    return CellOutcome(world, trial, 0.1, scores, best=best, constant=0.7, facts=facts)


def measured(*arguments):
    """Seconds by the clock and of the processor, and megabytes at the peak, of a command."""
    clock = time.perf_counter()
    command = [sys.executable, "-m", "ciabench.cli", *map(str, arguments)]
    process = os.posix_spawn(command[0], command, os.environ)
    _, status, used = os.wait4(process, 0)
    assert os.waitstatus_to_exitcode(status) == 0, arguments
    return time.perf_counter() - clock, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measure_store(folder, cells):
    """Fill a store and measure the commands that read it."""
    path = filled(folder, cells)
    used = {
        "status": measured("status", path),
        "export": measured("export", path, "--to", "csv", "--out", Path(folder) / "table.csv"),
        "figures": measured("figures", path, "--out", Path(folder) / "figures"),
    }
    shown = ", ".join(
        f"{name} {clock:.1f} s ({processor:.1f} s of processor time), {memory:.0f} MB"
        for name, (clock, processor, memory) in used.items()
    )
    assert used["status"][1] < MOST_STATUS, shown
    assert max(used[name][2] for name in ("status", "figures")) < MOST_MEMORY, shown
    print(f"{cells:,} cells of 15 scores in one store: {shown}")


def measure_merge(folder, cells):
    """Merge ten stores of so many cells each, and compare the result with one store of all of them."""
    whole = filled(folder / "whole", STORES * cells)
    parts = [filled(folder / str(part), STORES * cells, (part, STORES)) for part in range(1, STORES + 1)]
    merged = folder / "merged" / "faults.db"
    merged.parent.mkdir()
    clock, processor, memory = measured("merge", *parts, "--out", merged)
    assert exported(merged) == exported(whole)
    print(
        f"{STORES} stores of {cells:,} cells merged in {clock:.1f} s ({processor:.1f} s of processor time), "
        f"{memory:.0f} MB; the export without timings has the bytes of that of one store"
    )


def measure_leak(cells, workers):
    """Memory of the driver, and of its workers with their guards, after a tenth of the cells and after all."""
    still = [{"use": "hostile:Still", "number": number} for number in range(2)]
    made = experiment(learners=["hostile:Majority"], sizes=[2], trials=cells // 2, families=[], worlds=still)
    plan, found, clock = made.plan(), [], time.perf_counter()
    jobs = (Job(world, trial, plan.wanted(world)) for trial in range(cells // 2) for world in range(2))
    with pool(jobs=workers) as compute:
        every = chain.from_iterable(run_cells(plan, jobs, compute))
        for done, one in enumerate(every, start=1):
            assert one.error is None
            assert one.scores[0].error is None
            if done in (cells // 10, cells):
                driver, *others = map(memory, everyone())
                found.append((driver, sum(others)))
        used = [sum(process.cpu_times()[:2]) for process in everyone()]
    (driver, others), (driver_later, others_later) = found
    assert driver_later < driver * (1 + MOST_GROWTH), found
    assert others_later < others * (1 + MOST_GROWTH), found
    print(
        f"{cells:,} cells with a no-op learner: driver {driver:.0f} MB after a tenth, {driver_later:.0f} MB at the "
        f"end, workers and guards {others:.0f} MB, then {others_later:.0f} MB; "
        f"{time.perf_counter() - clock:.0f} s, {sum(used):.0f} s of processor time"
    )


def everyone():
    """This process and all that it started."""
    return [psutil.Process(), *psutil.Process().children(recursive=True)]


def memory(process):
    """Resident megabytes of a process."""
    gc.collect()
    return process.memory_info().rss / 1e6


if __name__ == "__main__":
    if sys.argv[1] == "store":
        measure_store(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "merge":
        measure_merge(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        measure_leak(int(sys.argv[2]), workers=2)
