"""Splits of labelled rows into training rows in random order and test rows: by label, by group, by time."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ciabench.errors import DataError

Rows = NDArray[np.intp]

MOST_DRAWS = 100
"""Splits drawn in search of one with two classes in both parts."""


class Split(NamedTuple):
    """Training rows in random order, and test rows."""

    training: Rows
    test: Rows


Splitter = Callable[[np.random.Generator], Split]


def by_label(rng: np.random.Generator, labels: Rows, n_test: int) -> Split:
    """Hold out rows at random, stratified by label."""
    from sklearn.model_selection import train_test_split

    state = int(rng.integers(2**31))
    rows = np.arange(labels.size)
    return Split(*train_test_split(rows, test_size=n_test, stratify=labels, random_state=state))


def by_group(rng: np.random.Generator, labels: Rows, n_test: int, groups: Rows) -> Split:
    """Hold out whole groups in random order until they have at least `n_test` rows.

    Examples
    --------
    >>> groups = np.repeat([0, 1, 2, 3], 5)
    >>> split = by_group(np.random.default_rng(0), np.tile([0, 1], 10), 4, groups)
    >>> np.unique(groups[split.training]).tolist(), np.unique(groups[split.test]).tolist()
    ([0, 1, 3], [2])
    """
    sizes = np.bincount(groups)

    def draw() -> Iterator[NDArray[np.bool_]]:
        order = rng.permutation(sizes.size)
        held_out = order[: 1 + np.searchsorted(np.cumsum(sizes[order]), n_test)]
        is_test = np.isin(groups, held_out)
        yield from (~is_test, is_test)

    return _first_possible(rng, labels, draw)


def by_time(rng: np.random.Generator, labels: Rows, n_test: int, moments: Rows) -> Split:
    """Hold out the `n_test` rows from a random moment on, and train on all earlier ones, at least half of the table.

    Rows of the same moment stay together.

    Examples
    --------
    >>> split = by_time(np.random.default_rng(0), np.tile([0, 1], 10), 4, np.arange(20))
    >>> sorted(split.training.tolist()) == list(range(split.test[0])), split.test.size
    (True, 4)
    """
    ordered = np.sort(moments)
    latest = labels.size - n_test

    def draw() -> Iterator[NDArray[np.bool_]]:
        start = int(rng.integers(min(labels.size // 2, latest), latest + 1))
        first, last = ordered[start], ordered[start + n_test - 1]
        yield from (moments < first, (moments >= first) & (moments <= last))

    return _first_possible(rng, labels, draw)


def _first_possible(rng: np.random.Generator, labels: Rows, draw: Callable[[], Iterator[NDArray[np.bool_]]]) -> Split:
    """First split with two classes in both parts; its training rows are shuffled."""
    for _ in range(MOST_DRAWS):
        training, test = map(np.flatnonzero, draw())
        if all(np.unique(labels[part]).size > 1 for part in (training, test)):
            return Split(rng.permutation(training), test)
    raise DataError("no split was found that has two classes both in its training and in its test rows.")
