"""Cells of a store with their scores, read and verified many at a time."""

import math
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.errors import StoreError
from ciabench.lab.storage.database import Row, check_pages, checksum
from ciabench.lab.storage.tables import CELL_COLUMNS, CELLS, N_NUMBERS, SCORE_COLUMNS, SCORES_OF_TRIALS, WORLDS

FIRST_CELLS, ROWS_AT_ONCE = 50, 5_000
"""Cells in the first block of a world, and scores that the later ones aim at."""

TRIAL = CELL_COLUMNS.index("trial")
WIDTH = N_NUMBERS * struct.calcsize("d")


class Block(NamedTuple):
    """Some cells of one world, in order of trials, with their scores.

    Parameters
    ----------
    cells : sequence of tuple
        `CELL_COLUMNS`, each with the values of all cells.
    owners : array (n_scores,)
        Position of the cell of every score, in order.
    scores : sequence of tuple
        `SCORE_COLUMNS`, each with the values of all scores; those of a cell by size and learner.
    """

    cells: Sequence[Row]
    owners: NDArray[np.intp]
    scores: Sequence[Row]


def blocks(connection: sqlite3.Connection, path: Path, world: int) -> Iterator[Block]:
    """All cells of a world; the store is refused as soon as the checksum of one is wrong."""
    cursor, n_cells = connection.execute(CELLS, (world,)), FIRST_CELLS
    while found := cursor.fetchmany(n_cells):
        *cells, sums = zip(*found, strict=True)
        trials, places = cells[TRIAL], {cell: place for place, cell in enumerate(cells[0])}
        rows = connection.execute(SCORES_OF_TRIALS, (world, trials[0], trials[-1])).fetchall()
        owned, *scores = zip(*rows, strict=True) if rows else [()] * (1 + len(SCORE_COLUMNS))
        block = Block(cells, np.fromiter(map(places.__getitem__, owned), np.intp, len(owned)), scores)
        for trial, value, expected in zip(trials, _checksums(block), sums, strict=True):
            if value != expected:
                raise StoreError(f"{path}: is damaged; the checksum of trial {trial} is wrong.")
        yield block
        n_cells = max(1, ROWS_AT_ONCE * len(trials) // max(1, len(rows)))


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a store that is not intact."""
    check_pages(connection, path)
    for (world,) in connection.execute(WORLDS).fetchall():
        for _ in blocks(connection, path, world):
            pass


def floats(column: Row) -> Floats:
    """Values as numbers, NULL as NaN; text raises struct.error."""
    try:
        return np.frombuffer(struct.pack(f"{len(column)}d", *column))
    except struct.error:
        known = [math.nan if value is None else value for value in column]
        return np.frombuffer(struct.pack(f"{len(column)}d", *known))


def _checksums(block: Block) -> Iterator[int | None]:
    """Checksums of the cells, as `checksum` gives them one by one."""
    ends = np.searchsorted(block.owners, np.arange(len(block.cells[0])), side="right").tolist()
    bounds = list(zip([0, *ends], ends, strict=False))
    try:
        cells, scores = _packed(block.cells), _packed(block.scores)
    except struct.error:
        rows = list(zip(*block.scores, strict=True))
        own = zip(*block.cells, strict=True)
        return (checksum(cell, rows[start:end]) for cell, (start, end) in zip(own, bounds, strict=True))
    texts = list(chain.from_iterable(zip(*block.scores[N_NUMBERS:], strict=True)))
    heads = zip(*block.cells[N_NUMBERS:], strict=True)
    return (
        crc32(
            "\0".join([*head, *texts[2 * start : 2 * end]]).encode(),
            crc32(scores[WIDTH * start : WIDTH * end], crc32(cells[WIDTH * place : WIDTH * (place + 1)])),
        )
        for place, (head, (start, end)) in enumerate(zip(heads, bounds, strict=True))
    )


def _packed(columns: Sequence[Row]) -> memoryview:
    """Numbers of all rows, one row after the other, as `checksum` packs them: NULL as infinity."""
    numbers = np.stack([floats(column) for column in columns[:N_NUMBERS]], axis=1)
    return memoryview(np.where(np.isnan(numbers), np.inf, numbers).astype("<f8").tobytes())
