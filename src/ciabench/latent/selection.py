"""Choose the number of hidden classes: a search from one class upwards, and a loss on held-out rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ciabench.arrays import Coded, Floats
from ciabench.latent.fit import Mixture
from ciabench.latent.starts import Random
from ciabench.probability import bernoulli, product

FOLDS = 5

FitRows = Callable[[Any, Floats], Mixture]
"""A fit of rows and their counts, with everything else decided."""


def search_classes(criterion: Callable[[int], float], max_classes: int) -> dict[int, float]:
    """Criterion of 1, 2, … classes, lower is better; stops after two in a row that are worse than the best before them.

    Examples
    --------
    >>> search_classes(lambda k: (k - 2) ** 2, max_classes=8)
    {1: 1, 2: 0, 3: 1, 4: 4}
    """
    values: dict[int, float] = {}
    for k in range(1, max_classes + 1):
        values[k] = criterion(k)
        if k >= 3 and min(values[k], values[k - 1]) > min(values[j] for j in range(1, k - 1)):
            break
    return values


def random_folds(n_samples: int, random: Random) -> NDArray[np.intp]:
    """Fold (s,) of every row, at random."""
    return random.permutation(n_samples) % min(FOLDS, n_samples)


def held_out_loss(fit: FitRows, rows: Any, counts: Floats, folds: NDArray[np.intp]) -> float:
    """Weighted mean of −log P(attribute 0 | the others) over held-out folds.

    Every probability is taken as at least 1 / (number of training rows + 2): a maximum-likelihood model that rules out
    what it has not seen would otherwise be judged by a single row.
    """

    def losses(fitted: Mixture, tested: Any, n_training: int) -> Floats:
        return -np.log(np.maximum(target_chances(fitted, tested), 1 / (n_training + 2)))

    return _over_folds(fit, losses, rows, counts, folds)


def held_out_surprise(fit: FitRows, table: Coded, counts: Floats, folds: NDArray[np.intp]) -> float:
    """Weighted mean of −log P(x) over held-out folds; the fits get a pseudo-count of 1 / levels per level and class."""

    def losses(fitted: Mixture, tested: Coded, n_training: int) -> Floats:
        smoothed = smoothed_levels(fitted.parameters, fitted.n_samples)
        return np.asarray(-np.logaddexp.reduce(product.log_joint(tested, smoothed), axis=1), dtype=np.float64)

    return _over_folds(fit, losses, table, counts, folds)


def smoothed_levels(parameters: product.Parameters, n_samples: float) -> product.Parameters:
    """Parameters in which every class has seen 1 / levels more rows of each level."""
    masses = parameters.weights * n_samples
    tables = tuple((table * masses + 1 / len(table)) / (masses + 1) for table in parameters.tables)
    return parameters._replace(tables=tables)


def target_chances(fitted: Mixture, rows: Any) -> Floats:
    """P(attribute 0 of the row | its other attributes), (s,)."""
    if isinstance(rows, Coded):
        joint = product.log_joint(rows, fitted.parameters)
        others = product.log_joint(without_first(rows), fitted.parameters.without(0))
        chances: Floats = np.exp(np.logaddexp.reduce(joint, axis=1) - np.logaddexp.reduce(others, axis=1))
        return chances
    one = bernoulli.target_chances(rows[:, 1:], fitted.weights, fitted.probs)
    target = np.asarray(rows[:, [0]].sum(axis=1)).ravel()
    return np.where(target == 1, one, 1 - one)


def without_first(table: Coded) -> Coded:
    """The table without its first discrete column."""
    n_indicators = int(table.n_levels[0]) - 1 if sparse.issparse(table.codes) else 1
    return table._replace(codes=table.codes[:, n_indicators:], n_levels=table.n_levels[1:])


def _over_folds(
    fit: FitRows, losses: Callable[..., Floats], rows: Any, counts: Floats, folds: NDArray[np.intp]
) -> float:
    """Weighted mean of losses on the folds of fits to the other folds."""
    found, take = np.zeros(folds.size), rows.rows if isinstance(rows, Coded) else rows.__getitem__
    for fold in range(folds.max() + 1 if folds.size > 1 else 0):
        held_out = folds == fold
        found[held_out] = losses(fit(take(~held_out), counts[~held_out]), take(held_out), (~held_out).sum())
    return float(np.average(found, weights=counts))
