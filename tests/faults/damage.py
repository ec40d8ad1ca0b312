"""Damage of files: bits that are flipped, ends that are cut off."""

import random
from pathlib import Path

from commands import COMMANDS, content, left_in

from ciabench.errors import CIABenchError
from ciabench.lab.storage.rows import read


def flips(path, target, count, seed=0):
    """Copies of a file in `target`, each with one random bit flipped."""
    content, places = path.read_bytes(), random.Random(seed)
    for _ in range(count):
        place = places.randrange(8 * len(content))
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        target.write_bytes(flipped)
        yield place


def cuts(path, target, count, seed=0):
    """Copies of a file in `target`, each with its end cut off at a random place."""
    content, places = path.read_bytes(), random.Random(seed)
    for _ in range(count):
        place = places.randrange(len(content))
        target.write_bytes(content[:place])
        yield place


KEPT = ("run of a table", "run of networks", "run of departures", "settle", "merge", "advise")
"""Commands that leave a store."""


def made_stores(folder, names=KEPT):
    """Stores that commands leave, by the name of the command."""
    found = {}
    for name in names:
        home = COMMANDS[name].prepare(Path(folder) / name.replace(" ", "-"))
        before = left_in(home)
        (found[name],) = (
            home / file for file in COMMANDS[name].finish(home) if file.endswith(".db") and file not in before
        )
    return found


def refused_copies(store, target, n_flips, n_cuts):
    """Count the copies of a store with flipped bits, and with cut ends, that are refused."""
    expected = content(store)
    return (
        refused_stores(flips(store, target, n_flips), target, expected),
        refused_stores(cuts(store, target, n_cuts), target, expected),
    )


def refused_stores(copies, target, expected):
    """Count the damaged stores that are refused; all others must have the rows of the whole one."""
    refused = 0
    for place in copies:
        try:
            found = content(target)
        except CIABenchError:
            refused += 1
        else:
            assert found == expected, f"{target}: not refused, with other rows, at {place}"
    return refused


def refused_tables(copies, target):
    """Count the damaged tables that are refused, which must be all."""
    refused = 0
    for place in copies:
        try:
            read(target)
        except CIABenchError:
            refused += 1
        else:
            raise AssertionError(f"{target}: not refused at {place}")
    return refused
