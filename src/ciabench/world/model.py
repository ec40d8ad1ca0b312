"""CIA models: conditionally independent attributes given one hidden variable (Grove & Roth 1997, §2)."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ciabench.arrays import Bits, Floats
from ciabench.errors import ModelError
from ciabench.probability import bernoulli
from ciabench.world.bit_model import BitModel, frozen_floats

HTML_ATTRIBUTES = 12


@dataclass(frozen=True, eq=False)
class CIAModel(BitModel):
    """A distribution over a binary target and n binary attributes that share a hidden cause.

    The hidden Z takes k values; given Z = z the target and the attributes are independent, and attribute i is 1
    with probability `probs[i, z]`.

    Parameters
    ----------
    weights : array-like (k,)
        P(Z = z).
    probs : array-like (n + 1, k)
        P(X_i = 1 | Z = z). Row 0 is the target; rows 1 to n are the attributes that a learner sees.

    Examples
    --------
    >>> model = CIAModel(weights=[0.5, 0.5], probs=[[0.9, 0.1], [0.8, 0.2], [0.7, 0.4]])
    >>> X, y = model.sample(4, rng=0)
    >>> X.shape, y.shape
    ((4, 2), (4,))
    >>> model.predict([[1, 1], [0, 1]])
    array([1, 0], dtype=uint8)
    >>> round(model.difficulty(), 3)
    0.8
    """

    weights: Floats
    probs: Floats

    def __post_init__(self) -> None:
        for name in ("weights", "probs"):
            object.__setattr__(self, name, frozen_floats(name, getattr(self, name)))
        k = self.weights.size
        if self.weights.ndim != 1 or k < 1:
            raise ModelError(f"weights must have shape (k,); got shape {self.weights.shape}.")
        if self.probs.ndim != 2 or self.probs.shape[0] < 2 or self.probs.shape[1] != k:
            raise ModelError(
                f"probs must have shape (n + 1, k) with n >= 1 and k = {k} as in weights; got {self.probs.shape}."
            )
        total, low, high = self.weights.sum(), self.probs.min(), self.probs.max()
        if not (self.weights.min() >= 0 and abs(total - 1) <= 1e-9):
            raise ModelError(f"weights must be finite, >= 0 and sum to 1; they sum to {total:.12g}.")
        if not (low >= 0 and high <= 1):
            raise ModelError(f"probs must lie in [0, 1]; they range from {low:g} to {high:g}.")

    def __repr__(self) -> str:
        return f"CIAModel(n={self.n}, k={self.k})"

    def _repr_html_(self) -> str:
        """Table for notebooks: weight, target and the first attributes by hidden value."""
        shown = min(self.n, HTML_ATTRIBUTES)
        names = ["z", "weight", "target", *map(str, range(1, shown + 1)), *["…"] * (self.n > shown)]
        head = "".join(f"<th>{name}</th>" for name in names)
        lines = [
            f"<tr><th>{z}</th>" + "".join(f"<td>{value:.2f}</td>" for value in (weight, *self.probs[: shown + 1, z]))
            for z, weight in enumerate(self.weights)
        ]
        return f"<table><caption>{self!r}</caption><tr>{head}</tr>{'</tr>'.join(lines)}</tr></table>"

    @property
    def n(self) -> int:
        """Number of attributes that a learner sees."""
        return len(self.probs) - 1

    @cached_property
    def target_mean(self) -> float:
        """P(x_0 = 1), exact."""
        return float(self.weights @ self.probs[0])

    @property
    def target_given_hidden(self) -> Floats:
        """P(x_0 = 1 | Z = z), shape (k,)."""
        chances: Floats = self.probs[0]
        return chances

    def sample_attributes(self, size: int, rng: np.random.Generator) -> Bits:
        """Draw the attributes alone, shape (size, n)."""
        return bernoulli.draw(self.weights, self.probs[1:], size, rng)

    def log_joint(self, X: ArrayLike) -> Floats:
        """Log P(x_1 … x_n, Z = z) for every row, shape (s, k)."""
        return bernoulli.log_joint(self._rows(X), self.weights, self.probs[1:])

    def chances(self, X: ArrayLike, posterior: Floats) -> Floats:
        """P(x_0 = 1 | x) for every row, from its P(Z = z | x)."""
        chances: Floats = posterior @ self.probs[0]
        return chances

    def _draw(self, size: int, rng: np.random.Generator) -> tuple[Bits, Bits]:
        rows = bernoulli.draw(self.weights, self.probs, size, rng)
        return np.ascontiguousarray(rows[:, 1:]), rows[:, 0].copy()

    def linear_rule(self) -> tuple[Floats, float]:
        """Coefficients (n,) and intercept of the Bayes rule, [x · coefficients + intercept > 0]; k = 2 only (§5).

        Examples
        --------
        >>> coefficients, intercept = CIAModel([0.5, 0.5], [[0.1, 0.9], [0.2, 0.8]]).linear_rule()
        >>> coefficients.round(3), round(intercept, 3)
        (array([2.773]), -1.386)
        """
        if self.k != 2:
            raise ModelError(f"the Bayes rule is linear for k = 2 hidden values only; this model has {self.k}.")
        return bernoulli.linear_rule(self.weights, self.probs)
