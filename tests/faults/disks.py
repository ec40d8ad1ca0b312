"""Commands on disks that are full, then with room: one line, exit code 2, no half file, and the same bytes in the end.

`python tests/faults/disks.py limit FOLDER TIMES [COMMAND…]` runs every command so many times with a limit to the size
of files; with `mount` in place of `limit`, it does so on small file systems, which it must be allowed to mount.
"""

import random
import shutil
import subprocess
import sys
import time
from contextlib import chdir
from functools import partial
from pathlib import Path

from commands import COMMANDS, UNFINISHED, Command, check_interrupted, left_in, shorten_advice
from harness import forked, limited, refusal

LONGER = {"run of 120 cells": Command("run faults.toml --quiet --trials 60")}
BLOCK = 4096


def main(how, folder, times, *names):
    """Run commands on full disks, and print how many were survived."""
    clock, moments, full = time.perf_counter(), random.Random(0), 0
    commands = {**COMMANDS, **LONGER}
    shorten_advice()
    for name in names or commands:
        full += HOW[how](commands[name], Path(folder) / name.replace(" ", "-"), int(times), moments)
    print(
        f"full disks survived by {len(names or commands)} commands, by {how}: {full}; each reported in one line, then "
        f"with room the same bytes as undisturbed; {time.perf_counter() - clock:.0f} s"
    )


def limited_times(command, folder, times, moments):
    """Run a command with limits to the size of files; count those that it met."""
    prepared, before, after = prepared_by(command, folder)
    largest = max(path.stat().st_size for path in (folder / "whole").rglob("*") if path.is_file())
    return sum(
        was_full(command, target, before, after, first=limited(moments.randrange(1, largest)))
        for target in (Path(shutil.copytree(prepared, folder / str(number))) for number in range(times))
    )


def mounted_times(command, folder, times, moments):
    """Run a command on small file systems; count those that were full."""
    prepared, before, after = prepared_by(command, folder)
    used, needed = blocks(prepared), blocks(folder / "whole")
    full = 0
    for number in range(times):
        target = folder / str(number)
        target.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=50m", "tmpfs", target], check=True)
        shutil.copytree(prepared, target, dirs_exist_ok=True)
        resized(target, BLOCK * (used + moments.randrange(1, 2 + needed - used)))
        full += was_full(command, target, before, after, make_room=partial(resized, target, 50_000_000))
    return full


HOW = {"limit": limited_times, "mount": mounted_times}


def prepared_by(command, folder):
    """A folder in which a command can run, what is in it, and what is in the folder `whole` once it has."""
    prepared = command.prepare(folder / "prepared")
    return prepared, left_in(prepared), command.finish(Path(shutil.copytree(prepared, folder / "whole")))


def blocks(folder):
    """Blocks that files and folders take on a file system in memory, at most."""
    return 1 + sum(1 + path.stat().st_size // BLOCK for path in folder.rglob("*"))


def nothing():
    """Do nothing."""


def was_full(command, target, before, after, first=nothing, make_room=nothing):
    """Run a command on a disk, which is made larger if it was full; return whether it was."""
    with chdir(target):
        finished = forked(*command.line.split(), first=first)
    if finished.returncode != 0:
        assert refusal(finished) == finished.stderr.strip(), finished
        check_interrupted(target, before, after)
        assert not [path for path in target.rglob(".*") if UNFINISHED.fullmatch(path.name)]
    make_room()
    assert command.finish(target) == after, command
    return finished.returncode != 0


def resized(target, size):
    """Change the size of a mounted file system."""
    subprocess.run(["mount", "-o", f"remount,size={size}", target], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
