"""CIA models: conditionally independent attributes given one hidden variable (Grove & Roth 1997, §2)."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciabench.arrays import Bits, Floats
from ciabench.errors import ModelError, ParameterError
from ciabench.probability import bernoulli

RandomSource = int | np.random.Generator | None

ENUMERATION_LIMIT = 14
"""Up to this n, expectations are sums over all 2**n patterns; for larger n, they are averages over a sample.

At this limit a rule predicts no more rows than the 20,000 draws that they replace; for linear rules enumeration would
pay off up to 16 (`experiments/world_speed.py`).
"""

DIFFICULTY_DRAWS = 100_000
HTML_ATTRIBUTES = 12


@lru_cache(maxsize=4)
def enumerated(n: int) -> Bits:
    """All 2**n patterns; read-only, because they are shared."""
    patterns = bernoulli.all_patterns(n)
    patterns.flags.writeable = False
    return patterns


class Enumeration(NamedTuple):
    """P(x), P(x_0 = 1 | x) and P(Z = z | x) of all patterns in `enumerated(n)`."""

    masses: Floats
    chances: Floats
    posterior: Floats


@dataclass(frozen=True, eq=False)
class CIAModel:
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
            object.__setattr__(self, name, _frozen_floats(name, getattr(self, name)))
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

    @property
    def k(self) -> int:
        """Number of values of the hidden variable."""
        return int(self.weights.size)

    @property
    def enumerable(self) -> bool:
        """Whether expectations are exact sums over all 2**n patterns."""
        return self.n <= ENUMERATION_LIMIT

    @cached_property
    def target_mean(self) -> float:
        """P(x_0 = 1), exact."""
        return float(self.weights @ self.probs[0])

    @property
    def target_given_hidden(self) -> Floats:
        """P(x_0 = 1 | Z = z), shape (k,)."""
        chances: Floats = self.probs[0]
        return chances

    @property
    def constant(self) -> int:
        """The more likely value of the target; 1 if both are equally likely."""
        return int(self.target_mean >= 0.5)

    @property
    def constant_success(self) -> float:
        """Success rate of the best constant rule, max(P(x_0 = 1), P(x_0 = 0))."""
        return max(self.target_mean, 1 - self.target_mean)

    def sample(self, size: int, rng: RandomSource = None) -> tuple[Bits, Bits]:
        """Draw `size` independent examples: attributes X (size, n) and targets y (size,)."""
        if not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 0:
            raise ParameterError(f"size must be an integer of at least 0; got {size!r}.")
        rows = bernoulli.draw(self.weights, self.probs, int(size), np.random.default_rng(rng))
        return np.ascontiguousarray(rows[:, 1:]), rows[:, 0].copy()

    def sample_attributes(self, size: int, rng: np.random.Generator) -> Bits:
        """Draw the attributes alone, shape (size, n)."""
        return bernoulli.draw(self.weights, self.probs[1:], size, rng)

    def posterior(self, X: ArrayLike) -> Floats:
        """P(Z = z | x_1 … x_n) for every row, shape (s, k)."""
        return bernoulli.posterior(self._rows(X), self.weights, self.probs[1:])

    def target_probability(self, X: ArrayLike) -> Floats:
        """P(x_0 = 1 | x_1 … x_n) for every row, shape (s,)."""
        chances: Floats = self.posterior(X) @ self.probs[0]
        return chances

    def predict(self, X: ArrayLike) -> Bits:
        """Bayes rule for the target: 1 where P(x_0 = 1 | x) > 1/2."""
        return (self.target_probability(X) > 0.5).astype(np.uint8)

    @cached_property
    def enumeration(self) -> Enumeration:
        """P(x) (2**n,), P(x_0 = 1 | x) (2**n,) and P(Z = z | x) (2**n, k) of all patterns in `enumerated(n)`."""
        joint = bernoulli.log_joint(enumerated(self.n), self.weights, self.probs[1:])
        posterior, evidence = bernoulli.normalize(joint)
        found = Enumeration(np.exp(evidence), posterior @ self.probs[0], posterior)
        for array in found:
            array.flags.writeable = False
        return found

    def difficulty(self, rng: RandomSource = 0) -> float:
        """B = E[max_z P(z | x)]: how accurately the true model predicts Z from the attributes.

        Exact up to n = 14; for larger n, the mean over 100,000 draws (standard error below 0.0008).
        """
        if self.enumerable:
            return float(self.enumeration.masses @ self.enumeration.posterior.max(axis=1))
        X = self.sample_attributes(DIFFICULTY_DRAWS, np.random.default_rng(rng))
        return float(self.posterior(X).max(axis=1).mean())

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

    def _rows(self, X: ArrayLike) -> NDArray[np.generic]:
        rows = np.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != self.n:
            raise ParameterError(f"X must have shape (s, {self.n}); got {rows.shape}.")
        return rows


def _frozen_floats(name: str, values: ArrayLike) -> Floats:
    """Read-only float copy of `values`."""
    try:
        if np.iscomplexobj(values):
            raise TypeError("complex numbers are not supported")
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} must be an array of numbers; {error}.") from None
    array.flags.writeable = False
    return array
