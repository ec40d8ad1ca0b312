"""Whether latent classes explain a table at all: a parametric bootstrap of its bivariate residuals.

The statistic is the sum over all pairs of columns of χ² / degrees of freedom, between the counts of the pair and those
that the fitted classes expect. It is compared with that of tables drawn from the fitted model, with the same cells
missing, and fitted again. An information criterion may take too few classes, and then the residuals of a true mixture
are large too: so before an alarm is raised, the number of classes is raised, once, by one.
"""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ciabench.arrays import Coded, Floats
from ciabench.errors import SearchWarning
from ciabench.latent.fit import fit_mixture
from ciabench.learners.class_tables import bivariate_residuals
from ciabench.learners.latent_class import LatentClass
from ciabench.probability.product import draw_like
from ciabench.tables import next_table

N_BOOTSTRAP = 19
"""Tables drawn from the fitted model; p = 0.05 is the least that they can show."""

N_STARTS = 5
"""Starts of EM on a drawn table, the parameters that it was drawn from among them."""


@dataclass(frozen=True, eq=False)
class Misfit:
    """How well the fitted classes explain the pairs of columns.

    Attributes
    ----------
    p_value : float
        Share of the tables, the own one and those drawn from the model, whose statistic is at least the own one.
    statistic : float
        Sum of the bivariate residuals of the table.
    bootstrap_statistics : array (19,)
        Those of the tables drawn from the model.
    n_classes : int
        Number of classes of the model.
    n_chosen : int
        Number of classes by BIC, which may be one less.
    pairs : DataFrame
        Pairs of columns ("first", "second") with their "residual", χ² / degrees of freedom, the largest first.
    largest_by_chance : float
        Largest residual of any pair in any of the drawn tables.
    model : LatentClass
        The fitted model.
    """

    p_value: float
    statistic: float
    bootstrap_statistics: Floats
    n_classes: int
    n_chosen: int
    pairs: pd.DataFrame
    largest_by_chance: float
    model: LatentClass

    @property
    def is_alarm(self) -> bool:
        """Whether the statistic exceeds those of all drawn tables."""
        return bool(self.statistic > self.bootstrap_statistics.max())

    @property
    def unexplained(self) -> pd.DataFrame:
        """Pairs whose residual exceeds that of every pair in every drawn table."""
        return self.pairs[self.pairs["residual"] > self.largest_by_chance]


def misfit(
    X: Any, *, max_classes: int = 8, n_init: int = 20, kinds: Any = None, random_state: int | None = None
) -> Misfit:
    """Fit latent classes to a table, and test whether they explain how its columns go together.

    Parameters
    ----------
    X : DataFrame or array-like (s, n)
        The table, its target included; missing cells are allowed.
    max_classes : int
        Largest number of classes that BIC may choose.
    n_init : int
        Starts of EM on the table.
    kinds : str, dict or None
        Kinds of the columns, as for `LatentClass`.
    random_state : int or None
        Source of starts and drawn tables.

    Examples
    --------
    >>> from ciabench import CIAFamily, TreeFamily
    >>> mixture = CIAFamily(n=6, k=2, b=0.9).draw(rng=0)
    >>> misfit(mixture.sample(500, rng=0)[0], random_state=0).is_alarm
    False
    >>> tree = TreeFamily(n=6, d=2, b=0.9).draw(rng=0)
    >>> found = misfit(tree.sample(1000, rng=0)[0], random_state=0)
    >>> found.p_value, found.n_chosen, found.n_classes
    (0.05, 3, 4)
    """
    rng = np.random.default_rng(random_state)
    chosen = _fitted(X, "bic", max_classes, n_init, kinds, rng)
    found = _tested(X, chosen, chosen.n_classes_, rng)
    if found.is_alarm:
        raised = _fitted(X, chosen.n_classes_ + 1, max_classes, n_init, kinds, rng)
        found = _tested(X, raised, chosen.n_classes_, rng)
    return found


class _Residuals(NamedTuple):
    total: float
    largest: float


def _fitted(
    X: Any, n_classes: int | str, max_classes: int, n_init: int, kinds: Any, rng: np.random.Generator
) -> LatentClass:
    """Latent classes; that a single restart reached the optimum matters little for the residuals."""
    state = int(rng.integers(2**31))
    lc = LatentClass(n_classes=n_classes, max_classes=max_classes, n_init=n_init, kinds=kinds, random_state=state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        return lc.fit(X)


def _tested(X: Any, model: LatentClass, n_chosen: int, rng: np.random.Generator) -> Misfit:
    """Compare the residuals of a table with those of tables drawn from its model."""
    table, pairs = next_table(model, X), model.bivariate_residuals()
    drawn = [_residuals_of_a_draw(model, table, rng) for _ in range(N_BOOTSTRAP)]
    statistic, totals = float(pairs["residual"].sum()), np.array([one.total for one in drawn])
    return Misfit(
        p_value=float((1 + (totals >= statistic).sum()) / (N_BOOTSTRAP + 1)),
        statistic=statistic,
        bootstrap_statistics=totals,
        n_classes=model.n_classes_,
        n_chosen=n_chosen,
        pairs=pairs,
        largest_by_chance=max(one.largest for one in drawn),
        model=model,
    )


def _residuals_of_a_draw(model: LatentClass, table: Coded, rng: np.random.Generator) -> _Residuals:
    """Residuals of a table drawn from the model, with the cells of the given one missing, and fitted again."""
    sample, counts = draw_like(table, model.parameters_, rng), np.ones(table.n_rows)
    fitted = fit_mixture(sample, counts, model.n_classes_, random=rng, n_init=N_STARTS, init=[model.parameters_])
    residuals = bivariate_residuals(model.columns_, sample, counts, fitted.parameters)["residual"]
    return _Residuals(float(residuals.sum()), float(residuals.max()))
