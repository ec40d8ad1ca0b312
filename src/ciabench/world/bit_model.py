"""Models of bits: n attributes and a target whose probability, given the attributes, is known exactly."""

from abc import ABC, abstractmethod
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


def check_model(model: object) -> None:
    """Refuse families and whatever else does not know P(x_0 = 1)."""
    if not hasattr(model, "target_mean"):
        raise ParameterError(f"model must be a model, such as family.draw(rng); got a {type(model).__name__}.")


class BitModel(ABC):
    """A distribution over a binary target and n binary attributes with a hidden variable Z.

    A model tells its joint distribution of attributes and Z, and the target's distribution given both.
    """

    weights: Floats
    """P(Z = z), shape (k,)."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of attributes that a learner sees."""

    @property
    def k(self) -> int:
        """Number of values of the hidden variable."""
        return int(self.weights.size)

    @property
    @abstractmethod
    def target_mean(self) -> float:
        """P(x_0 = 1), exact."""

    @abstractmethod
    def sample_attributes(self, size: int, rng: np.random.Generator) -> Bits:
        """Draw the attributes alone, shape (size, n)."""

    @abstractmethod
    def log_joint(self, X: ArrayLike) -> Floats:
        """Log P(x_1 … x_n, Z = z) for every row, shape (s, k)."""

    @abstractmethod
    def chances(self, X: ArrayLike, posterior: Floats) -> Floats:
        """P(x_0 = 1 | x) for every row, from the row and its P(Z = z | x)."""

    @abstractmethod
    def _draw(self, size: int, rng: np.random.Generator) -> tuple[Bits, Bits]:
        """Draw attributes and targets."""

    @property
    def enumerable(self) -> bool:
        """Whether expectations are exact sums over all 2**n patterns."""
        return self.n <= ENUMERATION_LIMIT

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
        return self._draw(int(size), np.random.default_rng(rng))

    def posterior(self, X: ArrayLike) -> Floats:
        """P(Z = z | x_1 … x_n) for every row, shape (s, k)."""
        return bernoulli.normalize(self.log_joint(X))[0]

    def target_probability(self, X: ArrayLike) -> Floats:
        """P(x_0 = 1 | x_1 … x_n) for every row, shape (s,)."""
        return self.chances(X, self.posterior(X))

    def predict(self, X: ArrayLike) -> Bits:
        """Bayes rule for the target: 1 where P(x_0 = 1 | x) > 1/2."""
        return (self.target_probability(X) > 0.5).astype(np.uint8)

    @cached_property
    def enumeration(self) -> Enumeration:
        """P(x) (2**n,), P(x_0 = 1 | x) (2**n,) and P(Z = z | x) (2**n, k) of all patterns in `enumerated(n)`."""
        patterns = enumerated(self.n)
        posterior, evidence = bernoulli.normalize(self.log_joint(patterns))
        found = Enumeration(np.exp(evidence), self.chances(patterns, posterior), posterior)
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

    def _rows(self, X: ArrayLike) -> NDArray[np.generic]:
        """Rows as an array of the right shape."""
        rows = np.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != self.n:
            raise ParameterError(f"X must have shape (s, {self.n}); got {rows.shape}.")
        return rows

    def _bits(self, X: ArrayLike) -> Bits:
        """Rows of the right shape as bytes 0 and 1."""
        rows = self._rows(X)
        if rows.dtype == np.uint8 and (not rows.size or rows.max() <= 1):
            return np.ascontiguousarray(rows)
        if not np.isin(rows, (0, 1)).all():
            raise ParameterError("X must hold 0 and 1 only.")
        return rows.astype(np.uint8, order="C")


def frozen_floats(name: str, values: ArrayLike) -> Floats:
    """Read-only float copy of `values`."""
    try:
        if np.iscomplexobj(values):
            raise TypeError("complex numbers are not supported")
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} must be an array of numbers; {error}.") from None
    array.flags.writeable = False
    return array
