"""Random small tables with weights and parameters, and how far numbers are apart."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from ciabench.arrays import Coded
from ciabench.probability.product import Parameters


class Problem(NamedTuple):
    """A table with its weights and kinds, its codes, and random parameters for them."""

    frame: pd.DataFrame
    kinds: dict
    table: Coded
    weights: np.ndarray
    start: Parameters
    full: bool
    smoothing: float


def has_gaps(rng, size):
    """Which cells of a column are missing; not those of the first two rows."""
    return (rng.random(size) < rng.choice([0.0, 0.0, 0.3])) & (np.arange(size) >= 2)


def weights_of(rng, size):
    """Ones, whole numbers, or numbers of many sizes; the first two are positive."""
    found = [np.ones(size), rng.integers(0, 4, size) + 0.0, 10.0 ** rng.uniform(-3, 3, size)][rng.integers(3)]
    return np.where(np.arange(size) < 2, np.maximum(found, 1.0), found)


def codes_of(rng, hidden, most):
    """A discrete column, all of whose levels occur, and their number."""
    size = hidden.size
    drawn = np.where(rng.random(size) < 0.5, hidden, rng.integers(0, most, size)) % most
    _, codes = np.unique(drawn, return_inverse=True)
    levels, missing = codes.max() + 1, has_gaps(rng, size)
    missing[np.unique(codes, return_index=True)[1]] = False
    return np.where(missing, levels, codes), levels


def numbers_of(rng, hidden):
    """A numeric column."""
    found = rng.normal(hidden * rng.choice([0.0, 1.0, 5.0]), 1.0) * 10.0 ** rng.integers(-3, 4) + rng.normal()
    return np.where(has_gaps(rng, hidden.size), np.nan, found)


def drawn_problem(seed, k, target):
    """A problem; if there is a target, it is the first column, complete and not constant."""
    rng = np.random.default_rng(seed)
    full = bool(rng.random() < 0.25)
    # Covariances of few rows are nearly singular: rounding then grows a thousandfold in a step.
    size, k = (int(rng.integers(15, 31)), min(k, 2)) if full else (int(rng.integers(4, 31)), k)
    hidden = rng.integers(0, k, size)
    columns = [codes_of(rng, hidden, int(rng.choice([2, 2, 3, 5]))) for _ in range(rng.integers(2, 7))]
    if target:
        labels = np.append([0, 1], rng.permutation(hidden)[2:] % rng.choice([2, 2, 3]))
        columns[0] = labels, labels.max() + 1
    numbers = [numbers_of(rng, hidden) for _ in range(rng.choice([0, 0, 1, 3]) if not full else rng.integers(1, 4))]
    table = Coded(
        np.column_stack([codes for codes, _ in columns]).astype(np.uint8),
        np.array([levels for _, levels in columns]),
        np.array(numbers).reshape(len(numbers), size).T,
    )
    smoothing = float(rng.choice([0.0, 0.0, 0.5]))
    weights, start = weights_of(rng, size), start_of(rng, table, k, full)
    return Problem(*framed(table), table, weights, start, full and table.numbers.shape[1] > 0, smoothing)


def framed(table):
    """The table as a user has it, and the kinds of its numbers; levels are named a, b, …, or are 0 and 1."""
    found = {}
    for place, (codes, levels) in enumerate(zip(table.codes.T, table.n_levels, strict=True)):
        names = np.array([0.0, 1.0, np.nan] if levels == 2 else [*"abcdefgh"[:levels], None], dtype=object)
        found[f"c{place}"] = pd.Series(names[codes]).infer_objects()
    kinds = {f"n{place}": "numeric" for place in range(table.numbers.shape[1])}
    return pd.DataFrame(found | dict(zip(kinds, table.numbers.T, strict=True))), kinds


def start_of(rng, table, k, full):
    """Random parameters with no probability near 0; means and variances as those of the columns."""
    tables = tuple(0.9 * rng.dirichlet(np.ones(levels), k).T + 0.1 / levels for levels in table.n_levels)
    numbers = table.numbers
    means = np.array([rng.choice(one[~np.isnan(one)], k) for one in numbers.T]).reshape(numbers.shape[1], k)
    variances = np.tile(np.nanvar(numbers, axis=0) if len(means) else np.empty(0), (k, 1))
    covariances = np.array([np.diag(one) for one in variances]) if full and len(means) else variances
    return Parameters(0.8 * rng.dirichlet(np.ones(k)) + 0.2 / k, tables, means, covariances)


def apart(found, expected, size=1.0):
    """Largest difference of two arrays, relative to their size but at least to `size`."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert np.isfinite(found).all()
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max(initial=0.0) / max(size, np.abs(expected).max(initial=0.0)))


def parameters_apart(found, expected, shares, deviations):
    """The same of the parameters of a mixture; those of a class count as much as it has observed cells.

    Of all rows, `shares` (k, columns) are in a class and have an observed cell in a column, numbers last.
    """
    n_numbers, parts = len(deviations), [apart(found.weights, expected.weights)]
    for one, other, share in zip(found.tables, expected.tables, shares.T, strict=False):
        parts.append(apart(one * share, other * share))
    if n_numbers:
        share = shares[:, shares.shape[1] - n_numbers :]
        means = [one.means.T * share / deviations for one in (found, expected)]
        scales = [one.covariances / scale_of(one, deviations) * weight_of(one, share) for one in (found, expected)]
        parts += [apart(*means), apart(*scales)]
    return max(parts)


def scale_of(parameters, deviations):
    """Variances or covariances of columns with these standard deviations."""
    return np.outer(deviations, deviations) if parameters.is_full else deviations**2


def weight_of(parameters, share):
    """Shares (k, m) as factors of variances, or of covariances."""
    return share.min(axis=1)[:, None, None] if parameters.is_full else share
