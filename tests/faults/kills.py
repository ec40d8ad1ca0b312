"""Kill commands, runs and their workers; what is resumed or repeated must have the bytes of what was not disturbed.

`python tests/faults/kills.py moments FOLDER DRIVERS WORKERS BOTH [RUN…]` does so many kills of each kind at random
moments, on runs of each kind. `python tests/faults/kills.py points FOLDER STRIDE [COMMAND…]` kills every command at
every point at which it writes, or at one in so many. Victims are forked from this process, which has all imports done,
so that most moments are moments of work.
"""

import math
import os
import random
import shutil
import signal
import sys
import time
from contextlib import chdir
from functools import partial
from pathlib import Path

import psutil
from commands import COMMANDS, check_interrupted, left_in, shorten_advice
from harness import exported, forked
from strikes import KINDS, strike

from ciabench.lab.plan.experiment import load
from ciabench.lab.session import run_experiment
from ciabench.lab.storage.store import Store

RUNS = ("run", "run of a table", "run of networks", "run of departures")
TRIALS = {1: 60, 2: 150}
"""Trials of runs with so many workers: a second of work or less."""

LATEST = 0.3
"""Seconds of work after which a kill comes at the latest."""


FEWER = {"statement": 1, "page": 1, "file": 0.04}
"""How much shorter the stride is for events of a kind."""


def kill_at_points(folder, stride, *names):
    """Kill commands at their first, second, … write, until one gets to its end; print how many kills were survived."""
    clock, found = time.perf_counter(), {}
    shorten_advice()
    for name in names or COMMANDS:
        found[name] = survived_points(COMMANDS[name], Path(folder) / name.replace(" ", "-"), int(stride))
    shown = "; ".join(f"{name} {' + '.join(map(str, kills.values()))}" for name, kills in found.items())
    total = sum(sum(kills.values()) for kills in found.values())
    print(
        f"kills survived at {'every point' if stride == '1' else f'one point in {stride}'} (before statements + in "
        f"writes of SQLite + at changes to files): {shown}; in all {total}, each resumed or repeated to the same "
        f"bytes, without half a file under the name of a result; {time.perf_counter() - clock:.0f} s"
    )


def survived_points(command, folder, stride):
    """Kill a command at its points; count the kills by kind."""
    strides = {kind: math.ceil(stride * fewer / command.share) if stride > 1 else 1 for kind, fewer in FEWER.items()}
    prepared = command.prepare(folder / "prepared")
    before, after = left_in(prepared), command.finish(copied(prepared, folder / "whole"))
    return {kind: survived_kind(command, kind, strides[kind], prepared, before, after) for kind in KINDS}


def survived_kind(command, kind, stride, prepared, before, after):
    """Kill a command at its points of one kind; check what it leaves, and what it leaves once it was repeated."""
    kills, target = 0, prepared.with_name("killed")
    while is_killed(command, kind, 1 + stride // 2 + kills * stride, copied(prepared, target)):
        check_interrupted(target, before, after)
        assert command.finish(target) == after, (command, kind, kills)
        kills += 1
    return kills


def is_killed(command, kind, number, target):
    """Kill a command at its point of that kind and number; False if it got to its end before."""
    with chdir(target):
        finished = forked(*command.line.split(), first=partial(strike, kind, number, target))
    assert finished.returncode in (0, -signal.SIGKILL), finished
    return finished.returncode != 0


def copied(prepared, folder):
    """A copy of a folder; an earlier one is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(prepared, folder))


def kill_at_moments(folder, drivers, workers, both, *names):
    """Kill runs on each kind of world at random moments, and print how many kills were survived."""
    clock, moments, stores = time.perf_counter(), random.Random(0), 0
    wanted = {"driver": (int(drivers), 1), "worker": (int(workers), 2), "both": (int(both), 2)}
    for name in names or RUNS:
        home = COMMANDS[name].prepare(Path(folder) / name.replace(" ", "-"))
        with chdir(home):
            toml = load(Path(COMMANDS[name].line.split()[1]))
            undisturbed = {jobs: exported(made(toml, f"undisturbed{jobs}", jobs)) for jobs in TRIALS}
            for victim, (kills, jobs) in wanted.items():
                stores += survived(toml, victim, kills, jobs, moments, undisturbed[jobs])
    print(
        f"kills survived at random moments, each of {', '.join(names or RUNS)}: {drivers} of drivers, {workers} of "
        f"workers, {both} of both; {stores} stores, each the same bytes as undisturbed; "
        f"{time.perf_counter() - clock:.0f} s"
    )


def made(toml, folder, jobs):
    """Run an experiment undisturbed, or resume it; return the path of its store."""
    run_experiment(toml.model_copy(update={"trials": TRIALS[jobs]}), folder, jobs=jobs, progress="silent")
    return Path(folder) / f"{toml.name}.db"


def survived(toml, victim, kills, jobs, moments, undisturbed):
    """Kill a victim so many times; finish and check every store; count the stores."""
    done, stores = 0, 0
    while done < kills:
        path, stores, is_finished = Path(victim) / str(stores) / f"{toml.name}.db", stores + 1, False
        while done < kills and not is_finished:
            was_killed, is_finished = disturbed(toml, path, jobs, victim, moments)
            done += was_killed
        assert exported(made(toml, path.parent, jobs)) == undisturbed, path
    return stores


def disturbed(toml, path, jobs, victim, moments):
    """Run, with a kill at a random moment; return whether it came before the end, and whether the run got there."""
    started = os.fork()
    if not started:
        made(toml, path.parent, jobs)
        os._exit(0)
    killed = struck(started, path, jobs, victim, moments)
    code = os.waitstatus_to_exitcode(os.waitpid(started, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return killed and (victim == "worker" or code != 0), code == 0


def struck(driver, path, jobs, victim, moments):
    """Wait until there is work, then a random while, and kill; False if the run was faster."""
    if jobs > 1:
        before = cells(path)
        while cells(path) == before and not is_over(driver):
            time.sleep(0.005)
    time.sleep(moments.uniform(0, LATEST))
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
    {"moments": kill_at_moments, "points": kill_at_points}[sys.argv[1]](*sys.argv[2:])
