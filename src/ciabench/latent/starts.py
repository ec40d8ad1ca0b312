"""Starts of EM: one rule for every kind of column (ours).

Every class starts at a random row of the data, blended with what all rows have in common. Where there is a target, one
start is by its labels: each class has most of the rows of its own label. `draw_starts` settles that for classes and
rows without looking at a column; what it means for the columns depends on their kind: `dense_starts` says it for
discrete ones, `number_starts` for numeric ones. The likelihood decides between all starts.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from ciabench.arrays import Coded, Floats
from ciabench.latent.gaussians import VARIANCE_FLOOR
from ciabench.latent.mixture import EDGE
from ciabench.latent.pieces import as_coded
from ciabench.probability.product import Parameters

Random = np.random.RandomState | np.random.Generator
Start = Parameters | tuple[Floats, Floats]
"""All parameters; or, for bits, weights (k,) and probabilities (a, k)."""

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
    full: bool = False,
) -> Floats:
    """Starting parameters (R, k, width) in the order of `mixture`.

    Parameters
    ----------
    rows : Coded, array (s, a) or sparse matrix (s, a)
        A table with standardised numbers; or bits, floats with NaN where cells are missing, a sparse matrix of ones.
    counts : array (s,)
        How often each row occurs.
    n_classes : int
    n_init : int
        Number R of starts; more if there are more starts of one's own.
    random : RandomState or Generator
    target : int, optional
        Complete discrete column by whose levels one of the starts is made.
    own : sequence of Parameters or (weights, probs)
        Starts of one's own, which come first and take the place of others.
    full : bool
        Whether numeric columns have a full covariance.
    """
    table = as_coded(rows)
    labels = np.zeros(table.n_rows, dtype=np.uint8) if target is None else labels_of(table, target)
    starts = draw_starts(counts, labels, n_classes, max(n_init - len(own), 0), random, by_label=target is not None)
    theta = (sparse_starts if sparse.issparse(table.codes) else dense_starts)(starts, table, counts, labels)
    if table.numbers.shape[1]:
        theta = np.concatenate([theta, number_starts(starts, table.numbers, counts, labels, full)], axis=2)
    if own:
        given = [packed(one) if isinstance(one, Parameters) else np.vstack(one).T for one in own]
        theta = np.concatenate([np.array(given), theta])
        discrete = theta[: len(own), :, : 1 + (table.n_levels - 1).sum()]
        np.clip(discrete, EDGE, 1 - EDGE, out=discrete)
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
    masses, bounds = np.zeros(int(labels.max()) + 1), np.empty(counts.size)
    add_up(counts, labels, masses, bounds)
    deal = deal_labels(tuple((masses > 0).tolist()), n_classes)
    starts = Starts(
        weights=random.dirichlet(np.full(n_classes, WEIGHT_CONCENTRATION), n_init),
        groups=np.zeros((n_init, n_classes), dtype=np.intp),
        rows=drawn_rows(bounds, (n_init, n_classes), random),
        row_shares=np.full((n_init, n_classes), ROW_SHARE),
        label_shares=deal.label_shares,
    )
    if by_label and n_init:
        starts.weights[0] = deal.class_shares @ masses / masses.sum()
        starts.groups[0] = deal.groups
        if deal.is_shared:
            starts.rows[0] = [drawn_rows(np.cumsum(counts * is_own[labels]), (), random) for is_own in deal.own_labels]
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


@njit(cache=True, nogil=True)
def add_up(counts: Floats, labels: NDArray[Any], masses: Floats, bounds: Floats) -> None:
    """Fill the masses of the labels, which are 0, and the cumulative sums of the counts."""
    total = 0.0
    for row in range(counts.size):
        total += counts[row]
        bounds[row] = total
        masses[labels[row]] += counts[row]


def drawn_rows(bounds: Floats, shape: tuple[int, ...], random: Random) -> NDArray[np.intp]:
    """Numbers of rows drawn in proportion to their counts, of which `bounds` are the sums; 2 is as a row twice."""
    drawn: NDArray[np.intp] = np.searchsorted(bounds[:-1], random.random(shape) * bounds[-1], side="right")  # numpy's  # nosec B311
    return drawn


def dense_starts(starts: Starts, table: Coded, counts: Floats, labels: NDArray[Any]) -> Floats:
    """Parameters (R, k, 1 + indicators) for the discrete columns: weights, then means blended with rows."""
    offsets = np.append(0, np.cumsum(table.n_levels - 1))
    theta = np.empty((*starts.rows.shape, 1 + offsets[-1]))
    blend(np.ascontiguousarray(table.codes), offsets, counts, labels, starts, theta)
    return theta


def sparse_starts(starts: Starts, table: Coded, counts: Floats, labels: NDArray[Any]) -> Floats:
    """As `dense_starts`, for a sparse matrix of indicators, of which only the rows drawn are looked at one by one."""
    rows, n_columns = table.codes, table.codes.shape[1]
    of_labels = counts * (labels == np.arange(starts.label_shares.shape[1])[:, None])
    members, chosen = starts.label_shares @ of_labels, rows[starts.rows.ravel()]
    means = (rows.T @ members.T).T / members.sum(axis=1, keepdims=True)
    theta = np.empty((*starts.rows.shape, 1 + n_columns))
    theta[:, :, 0] = starts.weights
    theta[:, :, 1:] = (1 - starts.row_shares[:, :, None]) * means[starts.groups]
    owners = np.repeat(np.arange(starts.rows.size), np.diff(chosen.indptr))
    theta.reshape(starts.rows.size, theta.shape[2])[owners, 1 + chosen.indices] += starts.row_shares.ravel()[owners]
    return np.clip(theta, EDGE, 1 - EDGE, out=theta)


def number_starts(starts: Starts, numbers: Floats, counts: Floats, labels: NDArray[Any], full: bool) -> Floats:
    """Parameters (R, k, ·) for standardised numeric columns, in the order of `gaussians`.

    A class that starts at a row has its numbers as means and the variances of all rows. One that starts by the labels
    has the means and variances of its group, blended with its row if it shares the group. A missing number is 0, the
    mean of all.
    """
    of_labels = counts * (labels == np.arange(starts.label_shares.shape[1])[:, None])
    members, observed, filled = starts.label_shares @ of_labels, ~np.isnan(numbers), np.nan_to_num(numbers)
    masses = np.maximum(members @ observed, np.finfo(np.float64).tiny)
    group_means = members @ filled / masses
    variances = np.maximum(members @ filled**2 / masses - group_means**2, VARIANCE_FLOOR)
    is_random, shares = (starts.groups == 0)[:, :, None], starts.row_shares[:, :, None]
    cells = filled[starts.rows]
    means = np.where(is_random, cells, (1 - shares) * group_means[starts.groups] + shares * cells)
    log_scales = 0.5 * np.log(variances)[starts.groups]
    if not full:
        return np.stack([means, log_scales], axis=3).reshape(*starts.rows.shape, 2 * numbers.shape[1])
    rows, columns = np.tril_indices(numbers.shape[1])
    factors = np.where(rows == columns, log_scales[:, :, rows], 0.0)
    return np.concatenate([means, factors], axis=2)


@njit(cache=True, nogil=True)
def blend(
    codes: NDArray[Any], offsets: NDArray[np.int64], counts: Floats, labels: NDArray[Any], starts: Starts, theta: Floats
) -> None:
    """Fill `theta` from codes (s, c); missing cells take the mean of all rows."""
    n_starts, n_classes, _ = theta.shape
    means = group_means(codes, offsets, counts, labels, starts.label_shares)
    for r in range(n_starts):
        for z in range(n_classes):
            row, mean, share = codes[starts.rows[r, z]], means[starts.groups[r, z]], starts.row_shares[r, z]
            theta[r, z, 0] = starts.weights[r, z]
            for i in range(row.size):
                first, last, code = offsets[i], offsets[i + 1], np.int64(row[i])
                for j in range(first, last):
                    cell = 1.0 if code == 1 + j - first else 0.0
                    if code > last - first:
                        cell = means[0, j]
                    theta[r, z, 1 + j] = min(max((1 - share) * mean[j] + share * cell, EDGE), 1 - EDGE)


@njit(error_model="numpy")
def group_means(
    codes: NDArray[Any], offsets: NDArray[np.int64], counts: Floats, labels: NDArray[Any], label_shares: Floats
) -> Floats:
    """Shares (g, indicators) of the levels among the observed cells of every group of rows; equal if there are none."""
    n_groups, n_labels = label_shares.shape
    n_columns = offsets.size - 1
    sums, masses = np.zeros((n_labels, offsets[-1])), np.zeros((n_labels, n_columns))
    means = np.empty((n_groups, offsets[-1]))
    are_bits = n_columns > 0 and offsets[-1] == n_columns and (np.diff(offsets) == 1).all() and codes.max() <= 1
    for row in range(codes.shape[0]):
        label, count = labels[row], counts[row]
        if are_bits:  # the most common case, in a loop without branches
            own, cells = sums[label], codes[row]
            masses[label, 0] += count
            for i in range(n_columns):
                own[i] += cells[i] * count
            continue
        for i in range(n_columns):
            first, last, code = offsets[i], offsets[i + 1], np.int64(codes[row, i])
            if code <= last - first:
                masses[label, i] += count
                if code > 0:
                    sums[label, first + code - 1] += count
    if are_bits:
        masses[:, 1:] = masses[:, :1]
    for group in range(n_groups):
        for i in range(n_columns):
            observed = 0.0
            for label in range(n_labels):
                observed += label_shares[group, label] * masses[label, i]
            for j in range(offsets[i], offsets[i + 1]):
                total = 0.0
                for label in range(n_labels):
                    total += label_shares[group, label] * sums[label, j]
                means[group, j] = total / observed if observed > 0 else 1.0 / (offsets[i + 1] - offsets[i] + 1)
    return means


def labels_of(table: Coded, column: int) -> NDArray[Any]:
    """Levels of a complete discrete column; a sparse matrix stays sparse."""
    if not sparse.issparse(table.codes):
        return np.ascontiguousarray(table.codes[:, column])
    first = int((table.n_levels[:column] - 1).sum())
    levels = 1 + np.arange(table.n_levels[column] - 1)
    return np.asarray(table.codes[:, first : first + levels.size] @ levels).ravel().astype(np.uint8)


def packed(parameters: Parameters) -> Floats:
    """Parameters of one start as `theta` (k, width)."""
    discrete = [table[1:].T for table in parameters.tables]
    means, covariances = parameters.means.T, parameters.covariances
    if parameters.is_full:
        factors = np.linalg.cholesky(covariances)
        rows, columns = np.tril_indices(means.shape[1])
        logs = np.where(rows == columns, np.log(np.maximum(factors[:, rows, columns], VARIANCE_FLOOR)), 0.0)
        numbers = np.concatenate([means, np.where(rows == columns, logs, factors[:, rows, columns])], axis=1)
    else:
        numbers = np.stack([means, 0.5 * np.log(covariances)], axis=2).reshape(len(means), -1)
    return np.concatenate([parameters.weights[:, None], *discrete, numbers], axis=1)


def unpacked(theta: Floats, n_levels: NDArray[np.int64], n_numbers: int, full: bool) -> Parameters:
    """Parameters of `theta` (k, width)."""
    last = 1 + int((n_levels - 1).sum())
    free = np.split(theta[:, 1:last].T, np.cumsum(n_levels - 1)[:-1])
    tables = tuple(np.vstack([np.maximum(1 - one.sum(axis=0), EDGE), one]) for one in free) if n_levels.size else ()
    numbers = theta[:, last:]
    if not full:
        means, log_scales = numbers.reshape(len(theta), n_numbers, 2).transpose(2, 0, 1)
        return Parameters(theta[:, 0], tables, means.T, np.exp(2 * log_scales))
    factors, (rows, columns) = np.zeros((len(theta), n_numbers, n_numbers)), np.tril_indices(n_numbers)
    values = numbers[:, n_numbers:]
    factors[:, rows, columns] = np.where(rows == columns, np.exp(np.where(rows == columns, values, 0.0)), values)
    return Parameters(theta[:, 0], tables, numbers[:, :n_numbers].T, factors @ factors.transpose(0, 2, 1))
