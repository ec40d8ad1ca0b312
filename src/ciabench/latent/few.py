"""The E step for one restart, with eight rows as lanes: where most lanes for restarts are empty.

A row costs about half of what eight restarts cost together. Every number comes from the same operations in the same
order as in `mixture.expect`, so a restart has the same bits whichever of the two computes it.
"""

from numba import njit

from ciabench.arrays import Floats
from ciabench.latent.elementary import exp_negative, larger, log_positive
from ciabench.latent.lanes import INNER, LANES, choose, load, multiply_add, spread, store
from ciabench.latent.numbers import BLOCK
from ciabench.latent.pieces import Problem

ROWS = 4 * BLOCK
"""Rows of a block here: vectors wait for the numbers of single rows, which are just being written, once per block."""

LINES = ROWS // LANES
"""Lines of a block that hold one number for each of its rows."""

TOTAL, LOGS, GAINS, NORMS, COUNTS = 0, 1, 2, 2 + LINES, 2 + 2 * LINES
"""First lines of the arrays of a block; `TOTAL` has a lane for every restart."""

CHANCES = 2 + 3 * LINES
"""First line of the log-odds of all classes but the first, which become their chances."""


def n_lines(others: int) -> int:
    """Lines of a block of rows whose chances of so many classes are computed.

    Examples
    --------
    >>> n_lines(1)
    34
    """
    return CHANCES + others * LINES


@njit(**INNER)
def expect_alone(problem: Problem, sums: Floats, lane: int, block: Floats, table: Floats, piece_counts: Floats) -> None:
    """Put the expected counts of the pieces into a lane, and add Σ counts · log(1 + Σ exp ℓ) to that lane of the total.

    `sums` and `piece_counts` (others · pieces, 8) have a lane for each restart, `table` (2, others · pieces) is
    scratch.
    """
    total, others = block[TOTAL * LANES + lane], (block.size // LANES - CHANCES) // LINES
    for piece in range(table.shape[1]):
        table[0, piece], table[1, piece] = sums[piece, lane], 0.0
    for start in range(0, problem.counts.size, ROWS):
        stop = min(start + ROWS, problem.counts.size)
        score_rows(problem, start, stop, table[0], others, block)
        n_used = (stop - start + LANES - 1) // LANES
        if others == 1:
            find_chances_of_two(block, n_used)
        else:
            find_chances_of_many(block, n_used)
        total = add_logs(block, stop - start, total)
        count_rows(problem, start, stop, table[1], others, block)
    for piece in range(table.shape[1]):
        piece_counts[piece, lane] = table[1, piece]
    block[TOTAL * LANES + lane] = total


@njit(**INNER)
def score_rows(problem: Problem, start: int, stop: int, sums: Floats, others: int, block: Floats) -> None:
    """Sum the pieces of a block of rows for every class, and copy the counts of these rows."""
    starts, members, n_pieces = problem.rows.starts, problem.rows.members, sums.size // others
    counts = block[COUNTS * LANES :]
    for row in range(start, stop):
        counts[row - start] = problem.counts[row]
    for z in range(others):
        own, scores = sums[z * n_pieces :], block[(CHANCES + z * LINES) * LANES :]
        for row in range(start, stop):
            score = 0.0
            for j in range(starts[row], starts[row + 1]):
                score += own[members[j]]
            scores[row - start] = score


@njit(**INNER)
def find_chances_of_two(block: Floats, n_used: int) -> None:
    """`find_chances_of_many` for two classes, where one of the two exponentials is always 1."""
    zero = spread(0.0)
    for line in range(n_used):
        score = load(block, CHANCES + line)
        power = exp_negative(choose(score, zero, zero - score, score))
        norm = 1.0 + power
        store(block, GAINS + line, larger(score, zero))
        store(block, NORMS + line, norm)
        store(block, CHANCES + line, choose(score, zero, spread(1.0), power) * (load(block, COUNTS + line) / norm))


@njit(**INNER)
def find_chances_of_many(block: Floats, n_used: int) -> None:
    """Turn log-odds into counts · P(z | x), and keep the peak of 0 and all ℓ, and exp −peak + Σ exp(ℓ − peak)."""
    zero = spread(0.0)
    for line in range(n_used):
        peak = zero
        for place in range(CHANCES + line, block.size // LANES, LINES):
            peak = larger(peak, load(block, place))
        norm = exp_negative(zero - peak)
        for place in range(CHANCES + line, block.size // LANES, LINES):
            power = exp_negative(load(block, place) - peak)
            norm += power
            store(block, place, power)
        for place in range(CHANCES + line, block.size // LANES, LINES):
            store(block, place, load(block, place) * (load(block, COUNTS + line) / norm))
        store(block, GAINS + line, peak)
        store(block, NORMS + line, norm)


@njit(**INNER)
def add_logs(block: Floats, n_rows: int, total: float) -> float:
    """Add Σ counts · log(1 + Σ exp ℓ) to the total, 16 rows at a time, with one logarithm for rows of equal counts."""
    part, product = 0.0, 1.0
    gains, norms, counts = block[GAINS * LANES :], block[NORMS * LANES :], block[COUNTS * LANES :]
    for row in range(n_rows):
        product *= norms[row]
        part = multiply_add(counts[row], gains[row], part)
        is_last = row + 1 == n_rows or row % BLOCK == BLOCK - 1
        if is_last or counts[row + 1] != counts[row]:
            store(block, LOGS, log_positive(spread(product)))
            part, product = multiply_add(counts[row], block[LOGS * LANES], part), 1.0
        if is_last:
            total, part = total + part, 0.0
    return total


@njit(**INNER)
def count_rows(problem: Problem, start: int, stop: int, counts: Floats, others: int, block: Floats) -> None:
    """Add the chances of a block of rows to the counts of their pieces, for every class."""
    starts, members, n_pieces = problem.rows.starts, problem.rows.members, counts.size // others
    for z in range(others):
        own, chances = counts[z * n_pieces :], block[(CHANCES + z * LINES) * LANES :]
        for row in range(start, stop):
            chance = chances[row - start]
            for j in range(starts[row], starts[row + 1]):
                own[members[j]] += chance
