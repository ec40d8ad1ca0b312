"""Binary CIA models with a tree among their attributes: given the hidden value, they are no longer independent."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciabench.arrays import Bits, Floats
from ciabench.errors import ModelError, check_between
from ciabench.probability import bernoulli, tree
from ciabench.world.bit_model import BitModel, RandomSource, frozen_floats
from ciabench.world.conditions import Conditions, Decision
from ciabench.world.model import CIAModel
from ciabench.world.model_family import ModelFamily, crosses_half

STRONGEST = 500.0
"""Largest d; from about 40 on, an attribute simply copies its parent, or its opposite."""


@dataclass(frozen=True, eq=False)
class TreeModel(BitModel):
    """A CIA model whose attributes also depend on each other, along a tree; the target does not.

    logit P(X_i = 1 | z, parent) = logit probs[i, z] + effects[i] (2 parent − 1).

    Parameters
    ----------
    base : CIAModel
        The model without its tree.
    parents : array-like of int (n,)
        Position, among the attributes, of each attribute's parent, an earlier one; the first attribute has none, and
        names itself.
    effects : array-like (n,)
        Effect of the parent on the log-odds; that of the first attribute is 0.

    Examples
    --------
    >>> base = CIAModel([0.5, 0.5], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.4]])
    >>> TreeModel(base, parents=[0, 0], effects=[0, 1.5]).predict([[1, 1], [0, 1]])
    array([1, 0], dtype=uint8)
    """

    base: CIAModel
    parents: NDArray[np.intp]
    effects: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "effects", frozen_floats("effects", self.effects))
        object.__setattr__(self, "parents", np.array(self.parents, dtype=np.intp))
        self.parents.flags.writeable = False
        if self.parents.shape != (self.n,) or self.effects.shape != (self.n,):
            raise ModelError(f"parents and effects must have shape ({self.n},), one entry per attribute.")
        earlier = np.maximum(np.arange(self.n), 1)
        if not ((self.parents >= 0) & (self.parents < earlier)).all() or self.effects[0] != 0:
            raise ModelError("the first attribute must have parent 0 and effect 0, all others an earlier parent.")
        if not np.isfinite(self.effects).all():
            raise ModelError("effects must be finite.")

    def __repr__(self) -> str:
        return f"TreeModel(n={self.n})"

    @property
    def weights(self) -> Floats:  # type: ignore[override]
        """P(Z = z), shape (k,)."""
        return self.base.weights

    @property
    def n(self) -> int:
        """Number of attributes that a learner sees."""
        return self.base.n

    @property
    def target_mean(self) -> float:
        """P(x_0 = 1), exact."""
        return self.base.target_mean

    @property
    def target_given_hidden(self) -> Floats:
        """P(x_0 = 1 | Z = z), shape (k,)."""
        return self.base.target_given_hidden

    @cached_property
    def _log_probs(self) -> Floats:
        """Log P(value | parent, z) as `probability.tree` has them, shape (n, 4, k)."""
        log_odds, shift = bernoulli.logit(self.base.probs[1:]), self.effects[:, None]
        signed = [-(log_odds - shift), log_odds - shift, -(log_odds + shift), log_odds + shift]
        log_probs: Floats = -np.logaddexp(0, -np.stack(signed, axis=1))
        return log_probs

    def sample_attributes(self, size: int, rng: np.random.Generator) -> Bits:
        """Draw the attributes alone, shape (size, n)."""
        return tree.draw(self.weights, self._log_probs, self.parents, size, rng)

    def log_joint(self, X: ArrayLike) -> Floats:
        """Log P(x_1 … x_n, Z = z) for every row, shape (s, k)."""
        return tree.log_joint(self._bits(X), self.weights, self._log_probs, self.parents)

    def chances(self, X: ArrayLike, posterior: Floats) -> Floats:
        """P(x_0 = 1 | x) for every row, from its P(Z = z | x)."""
        return self.base.chances(X, posterior)

    def _draw(self, size: int, rng: np.random.Generator) -> tuple[Bits, Bits]:
        # Given the attributes the target is independent of everything else that was drawn.
        X = self.sample_attributes(size, rng)
        return X, (rng.random(size) < self.target_probability(X)).astype(np.uint8)


@dataclass(frozen=True, repr=False)
class TreeFamily(ModelFamily[TreeModel]):
    """Tree(n, d, b): binary CIA models of difficulty b with a random tree of strength d among their attributes.

    The parent of an attribute is uniform among the earlier ones; it shifts the attribute's log-odds by d or −d, with a
    random sign (and by as much the other way where it is 0). The target depends on the hidden value alone, so that d
    changes one thing: with d = 0 the attributes are independent given the hidden value. Models are drawn and accepted
    for their difficulty as CIA(n, 2, b); then they get their tree, and with it must have headroom.

    Parameters
    ----------
    n : int
        Number of attributes.
    d : float in [0, 500]
        Strength of the tree, in log-odds.
    b : float in (1/2, 1)
        Difficulty of the model without its tree.
    tolerance : float
        Largest `|B − b|` of an accepted model without its tree.
    min_headroom : float
        Smallest S_best − S_const of an accepted model with its tree.
    concentration : float, optional
        The beta parameter a (default: calibrated, as of CIA(n, 2, b)).
    t_target : float
        Standard error of T at which the test of a rule stops, where scores are sampled.

    Examples
    --------
    >>> from ciabench import departure
    >>> for d in (0, 0.5, 2):
    ...     print(f"{d}: {departure(TreeFamily(n=10, d=d, b=0.9).draw(rng=0)):.3f} nats")
    0: 0.000 nats
    0.5: 0.113 nats
    2: 0.698 nats
    """

    n: int
    d: float
    b: float
    tolerance: float = 0.01
    min_headroom: float = 0.02
    concentration: float | None = None
    t_target: float = 0.005

    use: ClassVar[str] = "Tree"

    def _check_own(self) -> None:
        check_between("d, the strength of the tree,", self.d, 0, STRONGEST, closed=True)

    def draw_unselected(self, rng: RandomSource = None) -> TreeModel:
        """Draw one model, whatever its difficulty and headroom."""
        rng = np.random.default_rng(rng)
        return self._with_tree(CIAModel(*self._draw_mixture(self.n + 1, rng)), rng)

    def _attempt(self, rng: np.random.Generator) -> tuple[TreeModel | None, Decision]:
        weights, probs = self._draw_mixture(self.n + 1, rng)
        if self.min_headroom > 0 and not crosses_half(probs[0]):
            return None, "headroom"
        base = CIAModel(weights, probs)
        decision = Conditions(self.b, self.tolerance, -np.inf).judge(base, rng)
        if decision != "accepted":
            return None, decision
        model = self._with_tree(base, rng)
        return model, Conditions(self.b, np.inf, self.min_headroom or -np.inf).judge(model, rng)

    def _with_tree(self, base: CIAModel, rng: np.random.Generator) -> TreeModel:
        """Model with a random tree."""
        parents = rng.integers(0, np.maximum(np.arange(self.n), 1))
        effects = self.d * rng.choice([-1.0, 1.0], self.n)
        effects[0] = 0.0
        return TreeModel(base, parents, effects)
