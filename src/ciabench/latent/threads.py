"""E steps of large problems in several threads: rows in parts, whose sums are added in a fixed order.

The parts depend on the number of rows alone, so that results are the same bits for any number of threads. Kernels let
other Python threads run.
"""

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from joblib import effective_n_jobs
from numba import njit
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.latent.lanes import empty_lines, spread, store
from ciabench.latent.mixture import Work, count_rows, make_work, reestimate, score_pieces
from ciabench.latent.pieces import Incidence, Problem

ROWS = 2**16
"""Rows of a part."""


class Parts:
    """A problem in parts, and the threads that work on them.

    Parameters
    ----------
    problem : Problem
    n_classes : int
    work : Work
        Scratch of the whole problem.
    threads : Executor
    """

    def __init__(self, problem: Problem, n_classes: int, work: Work, threads: Executor) -> None:
        self._problem, self._others, self._work, self._threads = problem, n_classes - 1, work, threads
        self._parts = [part_of(problem, first) for first in range(0, problem.counts.size, ROWS)]
        n_parts = len(self._parts)
        self._piece_counts = empty_lines(n_parts, len(work.piece_counts))
        self._number_counts = empty_lines(n_parts, len(work.number_counts))
        self._objectives, self._constant = empty_lines(n_parts), empty_lines(1)
        self._works = [
            make_work(part, n_classes)._replace(
                sums=work.sums, number_lines=work.number_lines, piece_counts=pieces, number_counts=numbers
            )
            for part, pieces, numbers in zip(self._parts, self._piece_counts, self._number_counts, strict=True)
        ]

    def em_step(self, theta: Floats, updated: Floats, objective: Floats, restarts: NDArray[np.intp]) -> None:
        """As `mixture.em_step`."""
        score(self._problem, theta, self._work, self._constant)

        def count(part: int) -> None:
            count_part(self._parts[part], self._others, self._works[part], restarts, self._objectives, part)

        list(self._threads.map(count, range(len(self._parts))))
        np.sum(self._piece_counts, axis=0, out=self._work.piece_counts)
        np.sum(self._number_counts, axis=0, out=self._work.number_counts)
        objective[:] = self._constant[0] + self._objectives.sum(axis=0)
        update(self._problem, theta, self._work, updated)


@contextmanager
def in_parts(problem: Problem, n_classes: int, work: Work, n_jobs: int | None) -> Iterator[Parts | None]:
    """Parts of a large problem and so many threads (−1: all cores); None if it is small, or `n_jobs` is."""
    if n_jobs is None or problem.counts.size <= ROWS:
        yield None
        return
    with ThreadPoolExecutor(effective_n_jobs(n_jobs)) as threads:
        yield Parts(problem, n_classes, work, threads)


def part_of(problem: Problem, first: int) -> Problem:
    """Problem of the rows from the first one on."""
    rows, numbers, last = problem.rows, problem.numbers, min(first + ROWS, problem.counts.size)
    return problem._replace(
        rows=Incidence(rows.starts[first : last + 1], rows.members),
        counts=problem.counts[first:last],
        numbers=numbers._replace(
            values=numbers.values[first:last], bounds=np.clip(numbers.bounds, first, last) - first
        ),
    )


@njit(cache=True, nogil=True, error_model="numpy")
def score(problem: Problem, theta: Floats, work: Work, constant: Floats) -> None:
    """Score the pieces; put the part of the log-likelihoods that all rows share into the first line of `constant`."""
    store(constant, 0, score_pieces(problem, theta, work))


@njit(cache=True, nogil=True, error_model="numpy")
def count_part(
    part: Problem, others: int, work: Work, restarts: NDArray[np.intp], objectives: Floats, line: int
) -> None:
    """E step of a part, with its log-likelihoods in a line of `objectives`."""
    store(objectives, line, count_rows(part, others, work, spread(0.0), restarts))


@njit(cache=True, nogil=True, error_model="numpy")
def update(problem: Problem, theta: Floats, work: Work, updated: Floats) -> None:
    """M step."""
    reestimate(problem, theta, work, updated)
