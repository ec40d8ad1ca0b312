"""The E step of two classes for one restart, with eight rows as lanes: where most lanes for restarts are empty.

A row costs a third of what eight restarts cost together. Every number comes from the same operations in the same order
as in `mixture.expect`, so a restart has the same bits whichever of the two computes it.
"""

from numba import njit

from ciabench.arrays import Floats
from ciabench.latent.elementary import exp_negative, larger, log_positive
from ciabench.latent.lanes import INNER, LANES, choose, load, multiply_add, spread, store
from ciabench.latent.numbers import BLOCK
from ciabench.latent.pieces import Problem

GAINS, NORMS, COUNTS, LOGS, TOTAL = 2, 4, 6, 8, 9
"""First lines of the arrays of a block; those of 16 rows have two lines each. The first two hold scores, then chances.

`TOTAL` has a lane for every restart.
"""

N_LINES = 10


@njit(**INNER)
def expect_alone(problem: Problem, sums: Floats, lane: int, block: Floats, table: Floats, piece_counts: Floats) -> None:
    """Put the expected counts of the pieces into a lane, and add Σ counts · log(1 + exp ℓ) to that lane of the total.

    `sums` and `piece_counts` (pieces, 8) have a lane for each restart, `table` (2, pieces) is scratch.
    """
    n_pieces, total = table.shape[1], block[TOTAL, lane]
    for piece in range(n_pieces):
        table[0, piece], table[1, piece] = sums[piece, lane], 0.0
    for start in range(0, problem.counts.size, BLOCK):
        stop = min(start + BLOCK, problem.counts.size)
        score_rows(problem, start, stop, table, block)
        find_chances(block)
        total += add_logs(block, stop - start)
        count_rows(problem, start, stop, table, block)
    for piece in range(n_pieces):
        piece_counts[piece, lane] = table[1, piece]
    block[TOTAL, lane] = total


@njit(**INNER)
def score_rows(problem: Problem, start: int, stop: int, table: Floats, block: Floats) -> None:
    """Sum the pieces of a block of rows, and copy the counts of these rows."""
    starts, members = problem.rows
    for row in range(start, stop):
        score, line, lane = 0.0, (row - start) // LANES, (row - start) % LANES
        for j in range(starts[row], starts[row + 1]):
            score += table[0, members[j]]
        block[line, lane], block[COUNTS + line, lane] = score, problem.counts[row]


@njit(**INNER)
def find_chances(block: Floats) -> None:
    """Turn log-odds into counts · P(z | x), and keep max(ℓ, 0) and 1 + exp −|ℓ|."""
    zero = spread(0.0)
    for line in range(BLOCK // LANES):
        score = load(block, line)
        power = exp_negative(choose(score, zero, zero - score, score))
        norm = 1.0 + power
        store(block, GAINS + line, larger(score, zero))
        store(block, NORMS + line, norm)
        store(block, line, choose(score, zero, spread(1.0), power) * (load(block, COUNTS + line) / norm))


@njit(**INNER)
def add_logs(block: Floats, n_rows: int) -> float:
    """Σ counts · log(1 + exp ℓ), with one logarithm for rows of equal counts."""
    total, product = 0.0, 1.0
    for row in range(n_rows):
        line, lane = row // LANES, row % LANES
        count = block[COUNTS + line, lane]
        product *= block[NORMS + line, lane]
        total = multiply_add(count, block[GAINS + line, lane], total)
        if row + 1 == n_rows or block[COUNTS + (row + 1) // LANES, (row + 1) % LANES] != count:
            store(block, LOGS, log_positive(spread(product)))
            total, product = multiply_add(count, block[LOGS, 0], total), 1.0
    return total


@njit(**INNER)
def count_rows(problem: Problem, start: int, stop: int, table: Floats, block: Floats) -> None:
    """Add the chances of a block of rows to the counts of their pieces."""
    starts, members = problem.rows
    for row in range(start, stop):
        chance = block[(row - start) // LANES, (row - start) % LANES]
        for j in range(starts[row], starts[row + 1]):
            table[1, members[j]] += chance
