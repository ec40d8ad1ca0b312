"""Starts of EM: one rule for every kind of column (ours).

Every class starts at a random row of the data, blended with what all rows have in common. Where there is a target, one
start is by its labels: each class has most of the rows of its own label. `draw_starts` settles that for classes and
rows without looking at a column; what it means for the columns depends on their kind, and `binary_starts` says it for
bits. The likelihood decides between all starts.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from ciabench.arrays import Bits, Floats
from ciabench.latent.mixture import EDGE

Random = np.random.RandomState | np.random.Generator
Start = tuple[Floats, Floats]
"""Weights (k,) and probabilities (a, k)."""

ROW_SHARE = 0.3
"""Share of its own row in the start of a class."""

LABEL_SHARE = 0.9
"""Share of the rows with its own label that a class gets in the start by labels."""

WEIGHT_CONCENTRATION = 5.0
"""Concentration of the Dirichlet distribution of the classes' weights."""


class Starts(NamedTuple):
    """R starts of k classes, for columns of any kind.

    Class z of start r has the weight `weights[r, z]`. It blends the statistics of a group of rows, `groups[r, z]`, with
    the row `rows[r, z]`, whose share is `row_shares[r, z]`; these four have the shape (R, k). Line g of `label_shares`
    (·, L) says how much of the rows with each label is in group g.
    """

    weights: Floats
    groups: NDArray[np.intp]
    rows: NDArray[np.intp]
    row_shares: Floats
    label_shares: Floats


class Deal(NamedTuple):
    """Labels and classes, dealt to groups of rows.

    The k classes belong to `groups` (k,) of which `label_shares` (·, L) are as in `Starts`; `class_shares` (k, L) are
    shares of the rows with each label that the classes have, and `own_labels` (k, L) are those dealt to their groups.
    If `is_shared`, some of the classes have the same ones.
    """

    groups: NDArray[np.intp]
    label_shares: Floats
    class_shares: Floats
    own_labels: NDArray[np.bool_]
    is_shared: bool


def make_starts(
    rows: Any,
    counts: Floats,
    n_classes: int,
    n_init: int,
    random: Random,
    *,
    target: int | None = None,
    own: Sequence[Start] = (),
) -> Floats:
    """Starting parameters (R, k, 1 + a) of a mixture of product-Bernoullis, in the order of `mixture`.

    Parameters
    ----------
    rows : array (s, a) or sparse matrix (s, a)
        Bits, floats with NaN where cells are missing, or a sparse matrix of ones.
    counts : array (s,)
        How often each row occurs.
    n_classes : int
    n_init : int
        Number R of starts; more if there are more starts of one's own.
    random : RandomState or Generator
    target : int, optional
        Complete column by whose values one of the starts is made.
    own : sequence of (weights, probs)
        Starts of one's own, which come first and take the place of others.
    """
    labels = np.zeros(rows.shape[0], dtype=np.uint8) if target is None else column_of(rows, target)
    starts = draw_starts(counts, labels, n_classes, max(n_init - len(own), 0), random, by_label=target is not None)
    theta = (sparse_starts if sparse.issparse(rows) else dense_starts)(starts, rows, counts, labels)
    if own:
        given = np.array([np.vstack([weights, probs]).T for weights, probs in own])
        theta = np.concatenate([np.clip(given, EDGE, 1 - EDGE), theta])
    return theta


def draw_starts(
    counts: Floats, labels: NDArray[Any], n_classes: int, n_init: int, random: Random, *, by_label: bool
) -> Starts:
    """Draw `n_init` starts: the first one by the labels (s,) 0, 1, … of the rows if asked for, the others at random.

    Rows are drawn with probabilities proportional to their counts (s,).

    Examples
    --------
    >>> starts = draw_starts(np.ones(4), np.array([0, 0, 0, 1]), 2, 3, np.random.RandomState(0), by_label=True)
    >>> starts.groups.tolist(), starts.label_shares.round(1).tolist()
    ([[1, 2], [0, 0], [0, 0]], [[1.0, 1.0], [0.9, 0.1], [0.1, 0.9]])
    >>> starts.weights[0].round(2).tolist(), starts.row_shares.tolist()
    ([0.7, 0.3], [[0.0, 0.0], [0.3, 0.3], [0.3, 0.3]])
    """
    masses = np.bincount(labels, counts)
    deal = deal_labels(tuple((masses > 0).tolist()), n_classes)
    starts = Starts(
        weights=random.dirichlet(np.full(n_classes, WEIGHT_CONCENTRATION), n_init),
        groups=np.zeros((n_init, n_classes), dtype=np.intp),
        rows=_drawn_rows(counts, (n_init, n_classes), random),
        row_shares=np.full((n_init, n_classes), ROW_SHARE),
        label_shares=deal.label_shares,
    )
    if by_label and n_init:
        starts.weights[0] = deal.class_shares @ masses / masses.sum()
        starts.groups[0] = deal.groups
        if deal.is_shared:
            starts.rows[0] = [_drawn_rows(counts * is_own[labels], (), random) for is_own in deal.own_labels]
        else:
            starts.row_shares[0] = 0.0
    return starts


@lru_cache(maxsize=64)
def deal_labels(is_present: tuple[bool, ...], n_classes: int) -> Deal:
    """Deal the labels that rows have, and the classes, in turn to as many groups as there are of the fewer.

    Examples
    --------
    >>> deal_labels((True, True, True), n_classes=2).label_shares.round(1).tolist()
    [[1.0, 1.0, 1.0], [0.9, 0.1, 0.9], [0.1, 0.9, 0.1]]
    >>> deal_labels((True, True), n_classes=3).class_shares.round(2).tolist()
    [[0.45, 0.05], [0.1, 0.9], [0.45, 0.05]]
    """
    positions = np.cumsum(is_present) - 1
    n_labels = int(positions[-1]) + 1
    n_groups = min(n_classes, n_labels)
    is_own = positions % n_groups == np.arange(n_groups)[:, None]
    shares = np.ones((1, positions.size))
    if n_groups > 1:
        shares = np.where(is_own, LABEL_SHARE, (1 - LABEL_SHARE) / (n_groups - 1))
    group = np.arange(n_classes) % n_groups
    class_shares = (shares / np.bincount(group)[:, None])[group]
    label_shares = np.vstack([np.ones_like(shares[0]), shares])
    return Deal(1 + group, label_shares, class_shares, is_own[group], n_classes > n_labels)


def _drawn_rows(counts: Floats, shape: tuple[int, ...], random: Random) -> NDArray[np.intp]:
    """Numbers of rows drawn in proportion to their counts; a count of 2 is as a row twice."""
    bounds = np.cumsum(counts)
    drawn: NDArray[np.intp] = np.searchsorted(bounds[:-1], random.random(shape) * bounds[-1], side="right")  # numpy's  # nosec B311
    return drawn


def dense_starts(starts: Starts, rows: NDArray[Any], counts: Floats, labels: NDArray[np.uint8]) -> Floats:
    """Parameters (R, k, 1 + a) for bits (s, a), or floats with NaN: weights, then means blended with rows."""
    bits = np.column_stack([rows == 1, ~np.isnan(rows)]) if rows.dtype.kind == "f" else rows
    theta = np.empty((*starts.rows.shape, 1 + rows.shape[1]))
    blend(np.ascontiguousarray(bits, dtype=np.uint8), counts, labels, starts, theta)
    return theta


def sparse_starts(starts: Starts, rows: Any, counts: Floats, labels: NDArray[np.uint8]) -> Floats:
    """As `dense_starts`, for a sparse matrix of ones, of which only the rows drawn are looked at one by one."""
    of_labels = counts * (labels == np.arange(starts.label_shares.shape[1])[:, None])
    members, chosen = starts.label_shares @ of_labels, rows[starts.rows.ravel()]
    means = (rows.T @ members.T).T / members.sum(axis=1, keepdims=True)
    theta = np.empty((*starts.rows.shape, 1 + rows.shape[1]))
    theta[:, :, 0] = starts.weights
    theta[:, :, 1:] = (1 - starts.row_shares[:, :, None]) * means[starts.groups]
    owners = np.repeat(np.arange(starts.rows.size), np.diff(chosen.indptr))
    theta.reshape(starts.rows.size, theta.shape[2])[owners, 1 + chosen.indices] += starts.row_shares.ravel()[owners]
    return np.clip(theta, EDGE, 1 - EDGE, out=theta)


@njit(cache=True, nogil=True)
def blend(bits: Bits, counts: Floats, labels: NDArray[np.uint8], starts: Starts, theta: Floats) -> None:
    """Fill `theta` from bits [x] or, where cells are missing, [x = 1 | observed]; these take the mean of all rows."""
    n_starts, n_classes, width = theta.shape
    means = group_means(bits, counts, labels, starts.label_shares, width - 1)
    for r in range(n_starts):
        for z in range(n_classes):
            row, mean, share = bits[starts.rows[r, z]], means[starts.groups[r, z]], starts.row_shares[r, z]
            theta[r, z, 0] = starts.weights[r, z]
            for i in range(width - 1):
                is_observed = row.size < width or row[width - 1 + i]
                cell = float(row[i]) if is_observed else means[0, i]
                theta[r, z, 1 + i] = min(max((1 - share) * mean[i] + share * cell, EDGE), 1 - EDGE)


@njit(error_model="numpy")
def group_means(
    bits: Bits, counts: Floats, labels: NDArray[np.uint8], label_shares: Floats, n_attributes: int
) -> Floats:
    """Means (g, a) of the observed cells of every group of rows; ½ where there are none."""
    n_groups, n_labels = label_shares.shape
    sums, masses, means = np.zeros((n_labels, bits.shape[1])), np.zeros(n_labels), np.empty((n_groups, n_attributes))
    for row in range(bits.shape[0]):
        own, count = sums[labels[row]], counts[row]
        masses[labels[row]] += count
        for column in range(bits.shape[1]):
            own[column] += bits[row, column] * count
    for group in range(n_groups):
        for i in range(n_attributes):
            ones, observed = 0.0, 0.0
            for label in range(n_labels):
                present = masses[label] if bits.shape[1] == n_attributes else sums[label, n_attributes + i]
                ones += label_shares[group, label] * sums[label, i]
                observed += label_shares[group, label] * present
            means[group, i] = ones / observed if observed > 0 else 0.5
    return means


def column_of(rows: Any, column: int) -> NDArray[np.uint8]:
    """One complete column of small whole numbers as bytes; a sparse matrix stays sparse."""
    values = rows[:, [column]].sum(axis=1) if sparse.issparse(rows) else rows[:, column]
    return np.ascontiguousarray(np.asarray(values).ravel(), dtype=np.uint8)
