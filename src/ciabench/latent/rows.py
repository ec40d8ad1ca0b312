"""Loops over rows and their pieces, eight sets of parameters at once: sums of lines, and chances of hidden classes.

They see lines, which `mixture` makes of parameters, and never a probability or a kind of column.
"""

from typing import Any

from numba import njit

from ciabench.arrays import Floats
from ciabench.latent.elementary import exp_negative, larger, log_positive
from ciabench.latent.lanes import INNER, choose, load, spread, store
from ciabench.latent.numbers import BLOCK
from ciabench.latent.pieces import Incidence


@njit(**INNER)
def gather(owners: Incidence, first: int, last: int, source: Floats, origin: int, target: Floats, place: int) -> None:
    """Sum the lines of the members of every owner from `first` to `last`; members' lines begin at line `origin`."""
    for owner in range(first, last):
        total = spread(0.0)
        for j in range(owners.starts[owner], owners.starts[owner + 1]):
            total += load(source, origin + owners.members[j])
        store(target, place + owner - first, total)


@njit(**INNER)
def scatter(owners: Incidence, first: int, last: int, source: Floats, place: int, target: Floats, origin: int) -> None:
    """Add the line of every owner from `first` to `last` to those of its members, which begin at line `origin`."""
    for owner in range(first, last):
        value = load(source, place + owner - first)
        for j in range(owners.starts[owner], owners.starts[owner + 1]):
            line = origin + owners.members[j]
            store(target, line, load(target, line) + value)


@njit(**INNER)
def chances_of_two(scores: Floats, counts: Floats, counting: bool) -> Any:
    """`chances_of_many` for two classes, where one of the two exponentials is always 1."""
    total, product, zero = spread(0.0), spread(1.0), spread(0.0)
    for row in range(counts.size):
        score = load(scores, row)
        power = exp_negative(choose(score, zero, zero - score, score))
        norm = 1.0 + power
        product *= norm
        total += counts[row] * larger(score, zero)
        if counting:
            store(scores, row, choose(score, zero, spread(1.0), power) * (counts[row] / norm))
        if row + 1 == counts.size or counts[row + 1] != counts[row]:
            total += counts[row] * log_positive(product)
            product = spread(1.0)
    return total


@njit(**INNER)
def chances_of_many(scores: Floats, counts: Floats) -> Any:
    """Turn log-odds of a block of rows into counts · P(z | x); return Σ counts · log(1 + Σ exp ℓ)."""
    total, product, zero = spread(0.0), spread(1.0), spread(0.0)
    for row in range(counts.size):
        peak = zero
        for line in range(row, len(scores), BLOCK):
            peak = larger(peak, load(scores, line))
        norm = exp_negative(zero - peak)
        for line in range(row, len(scores), BLOCK):
            power = exp_negative(load(scores, line) - peak)
            norm += power
            store(scores, line, power)
        for line in range(row, len(scores), BLOCK):
            store(scores, line, load(scores, line) * (counts[row] / norm))
        product *= norm
        total += counts[row] * peak
        if row + 1 == counts.size or counts[row + 1] != counts[row]:
            total += counts[row] * log_positive(product)
            product = spread(1.0)
    return total
