"""Families of CIA models of a given size and difficulty (Grove & Roth 1997, §7 and footnote 4)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ciabench.arrays import Floats
from ciabench.errors import check_integer
from ciabench.seeds import Seed
from ciabench.world.conditions import Conditions
from ciabench.world.limit import KnownFamily
from ciabench.world.model import CIAModel
from ciabench.world.model_family import MixtureFamily
from ciabench.world.scoring import Scorer

MOST_HIDDEN_VALUES = 1_000


@dataclass(frozen=True, repr=False)
class CIAFamily(MixtureFamily):
    """CIA(n, k, b): random models with n attributes, k hidden values and difficulty b.

    Probabilities are Beta(a, a) and weights Dirichlet(a, …, a), with the concentration a calibrated so that the mean
    difficulty is b. Models are then kept if their own difficulty is within `tolerance` of b and the best rule beats
    the best constant rule by at least `min_headroom`.

    Parameters
    ----------
    n : int
        Number of attributes.
    k : int
        Number of hidden values.
    b : float in (1/k, 1)
        Difficulty: how accurately the true model predicts Z from the attributes. Larger is easier.
    tolerance : float
        Largest `|B − b|` of an accepted model.
    min_headroom : float
        Smallest S_best − S_const of an accepted model; 0 gives the paper's definition, under which T is undefined
        for many models.
    concentration : float, optional
        The beta parameter a (default: calibrated).
    t_target : float
        Standard error of T at which the test of a rule stops, where scores are sampled.

    Notes
    -----
    Up to n = 14 both conditions are decided exactly. For larger n, attributes are drawn in growing samples of up to
    16,000 until both are settled at 2.5 standard errors (at most 0.003 for the difficulty); a model still in doubt then
    is rejected. So a model that violates a condition is accepted with probability below 1%, and one that violates the
    tolerance by more than 0.002 hardly ever.

    Examples
    --------
    >>> family = CIAFamily(n=10, k=3, b=0.9)
    >>> round(family.concentration, 1)
    1.1
    >>> model = family.draw(rng=0)
    >>> abs(model.difficulty() - 0.9) <= 0.01
    True
    """

    n: int
    k: int
    b: float
    tolerance: float = 0.01
    min_headroom: float = 0.02
    concentration: float | None = None
    t_target: float = 0.005

    use: ClassVar[str] = "CIA"
    references: ClassVar[Mapping[str, int]] = {**MixtureFamily.references, "limit": 1}

    def _check_own(self) -> None:
        check_integer("k, the number of hidden values,", self.k, 2, MOST_HIDDEN_VALUES)

    @property
    def n_hidden(self) -> int:
        """Number of hidden values, k."""
        return self.k

    @property
    def identity(self) -> dict[str, Any]:
        """Its parameters alone: the seeds of all committed rows are derived from them."""
        return self.parameters

    def _references(self, model: CIAModel, judge: Scorer, seed: Seed) -> dict[str, Callable[[Any, Any], Any]]:
        assert self.concentration is not None
        known = KnownFamily(self.concentration, Conditions(self.b, self.tolerance, self.min_headroom))
        limit = {"limit": lambda X, y: known.limit(X, y, model, judge, seed)}
        return {**super()._references(model, judge, seed), **limit}

    def _draw_parameters(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        return self._draw_mixture(self.n + 1, rng)
