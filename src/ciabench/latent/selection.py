"""Choose the number of hidden classes: a search from one class upwards, and a loss on held-out rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.latent.fit import Mixture
from ciabench.latent.starts import Random
from ciabench.probability import bernoulli

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
    losses = np.zeros(folds.size)
    for fold in range(folds.max() + 1 if folds.size > 1 else 0):
        held_out = folds == fold
        fitted, tested = fit(rows[~held_out], counts[~held_out]), rows[held_out]
        one = bernoulli.target_chances(tested[:, 1:], fitted.weights, fitted.probs)
        target = np.asarray(tested[:, [0]].sum(axis=1)).ravel()
        chances = np.where(target == 1, one, 1 - one)
        losses[held_out] = -np.log(np.maximum(chances, 1 / ((~held_out).sum() + 2)))
    return float(np.average(losses, weights=counts))
