"""The parametric bootstrap likelihood-ratio test of k classes against k + 1 (BLRT)."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ciabench.arrays import Coded, Floats
from ciabench.latent.fit import Mixture
from ciabench.probability.product import draw_like

FitTable = Callable[[Coded, Floats, int], Mixture]
"""A fit of a table, its counts and a number of classes, with everything else decided."""


class BootstrapTest(NamedTuple):
    """Likelihood ratio 2 (log L_{k+1} − log L_k), those of the bootstrap tables, and p = (1 + # as large) / (B + 1)."""

    ratio: float
    bootstrap_ratios: Floats
    p_value: float


def bootstrap_test(
    fit: FitTable, table: Coded, counts: Floats, n_classes: int, n_bootstrap: int, rng: np.random.Generator
) -> BootstrapTest:
    """Test k classes against k + 1 on tables drawn from the fit with k, with the same cells missing.

    The same fit, and so the same number of restarts, serves the data and the bootstrap tables: fewer for these would
    reject too often.
    """
    null = fit(table, counts, n_classes)
    ratio = 2 * (fit(table, counts, n_classes + 1).log_likelihood - null.log_likelihood)
    ratios = np.empty(n_bootstrap)
    for b in range(n_bootstrap):
        sample = draw_like(table, null.parameters, rng)
        small, large = (fit(sample, counts, k).log_likelihood for k in (n_classes, n_classes + 1))
        ratios[b] = 2 * (large - small)
    return BootstrapTest(float(ratio), ratios, float((1 + (ratios >= ratio).sum()) / (n_bootstrap + 1)))
