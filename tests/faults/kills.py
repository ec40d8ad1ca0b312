"""Kill runs and their workers; what is resumed must have the bytes of an undisturbed run.

`python tests/faults/kills.py FOLDER DRIVERS WORKERS BOTH` does so many kills of each kind at random moments, and one
before every statement that a short run sends to its database. Drivers are forked from this process, which has all
imports done, so that most moments are moments of work.
"""

import os
import random
import signal
import sqlite3
import sys
import time
from itertools import count
from pathlib import Path

import psutil
from harness import experiment, exported, made

from ciabench.lab.session import run_experiment
from ciabench.lab.storage.store import Store

TRIALS = {1: 60, 2: 150}
"""Trials of runs with so many workers: a second of work or less."""

LATEST = {1: 0.3, 2: 0.3}
"""Seconds of work after which a kill comes at the latest."""


def main(folder, drivers, workers, both):
    """Do the kills, and print how many were survived."""
    clock, moments, folder = time.perf_counter(), random.Random(0), Path(folder)
    undisturbed = {jobs: exported(made(folder / f"undisturbed{jobs}", trials=TRIALS[jobs])) for jobs in TRIALS}
    stores = survived(folder / "driver", drivers, 1, moments, undisturbed[1])
    stores += survived(folder / "worker", workers, 2, moments, undisturbed[2])
    stores += survived(folder / "both", both, 2, moments, undisturbed[2])
    statements = survived_statements(folder / "statement")
    print(
        f"kills survived: {drivers} of drivers, {workers} of workers, {both} of both, {statements} before each of "
        f"{statements} statements; {stores + statements} stores, each the same bytes as undisturbed; "
        f"{time.perf_counter() - clock:.0f} s"
    )


def survived(folder, kills, jobs, moments, undisturbed):
    """Kill what the folder is named after so many times; finish and check every store; count the stores."""
    done, stores = 0, 0
    while done < kills:
        path, stores, is_finished = folder / str(stores) / "faults.db", stores + 1, False
        while done < kills and not is_finished:
            was_killed, is_finished = disturbed(path, jobs, folder.name, moments)
            done += was_killed
        made(path.parent, trials=TRIALS[jobs])
        assert exported(path) == undisturbed, path
    return stores


def disturbed(path, jobs, victim, moments):
    """Run, with a kill at a random moment; return whether it came before the end, and whether the run got there."""
    started = os.fork()
    if not started:
        run_experiment(experiment(trials=TRIALS[jobs]), path.parent, jobs=jobs, progress="silent")
        os._exit(0)
    killed = strike(started, path, jobs, victim, moments)
    code = os.waitstatus_to_exitcode(os.waitpid(started, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return killed and (victim == "worker" or code != 0), code == 0


def survived_statements(folder):
    """Kill a new run of two cells before its first, second, … statement, until one gets to its end; count the kills."""
    undisturbed, kills = exported(made(folder / "undisturbed", trials=1)), 0
    while killed_at(folder / str(kills) / "faults.db", kills + 1):
        assert exported(made(folder / str(kills), trials=1)) == undisturbed, kills
        kills += 1
    return kills


def killed_at(path, number):
    """Run, with a kill before the statement of that number; return whether there was one."""
    started = os.fork()
    if not started:
        numbers, connect = count(1), sqlite3.connect

        def strike_at(statement):
            if next(numbers) == number:
                os.kill(os.getpid(), signal.SIGKILL)

        def connected(address, **options):
            connection = connect(address, **options)
            if "mode=rwc" in address:
                connection.set_trace_callback(strike_at)
            return connection

        sqlite3.connect = connected
        run_experiment(experiment(trials=1), path.parent, progress="silent")
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(started, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return code != 0


def strike(driver, path, jobs, victim, moments):
    """Wait until there is work, then a random while, and kill; False if the run was faster."""
    if jobs > 1:
        before = cells(path)
        while cells(path) == before and not is_over(driver):
            time.sleep(0.005)
    time.sleep(moments.uniform(0, LATEST[jobs]))
    if is_over(driver):
        return False
    workers = [one.pid for one in psutil.Process(driver).children() if is_worker(one)] if jobs > 1 else []
    victims = [moments.choice(workers)] if workers else []
    for process in victims + ([driver] if victim != "worker" else []):
        os.kill(process, signal.SIGKILL)
    return bool(victims) or victim != "worker"


def is_worker(process):
    """Whether a child of a driver computes cells."""
    try:
        return "popen_loky" in " ".join(process.cmdline())
    except psutil.Error:
        return False


def is_over(process):
    """Whether a child has ended but was not waited for."""
    return psutil.Process(process).status() == psutil.STATUS_ZOMBIE


def cells(path):
    """Count the cells of a store that may not be there yet."""
    try:
        with Store(path) as store:
            return store.counts().cells
    except ValueError:
        return 0


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
