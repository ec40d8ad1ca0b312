"""A rule in place of a hidden cause: the target says whether more than half of some attributes hold."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciabench.arrays import Bits, Floats
from ciabench.errors import FamilyError, ModelError, check_between, check_integer
from ciabench.world.bit_model import BitModel, RandomSource
from ciabench.world.conditions import Conditions, Decision
from ciabench.world.model import CIAModel
from ciabench.world.model_family import ModelFamily


@dataclass(frozen=True, eq=False)
class ThresholdModel(BitModel):
    """Attributes of a CIA model, and a target that follows them by a rule, but for some noise.

    The target is 1 if more than half of the relevant attributes have the value that counts, 0 otherwise, and flipped
    with probability `noise`. The hidden variable has nothing to do with the target but through the attributes.

    Parameters
    ----------
    base : CIAModel
        Model of the attributes; its own target is not used.
    relevant : array-like of int (r,)
        Positions of the relevant attributes.
    counting : array-like of 0 and 1 (r,)
        The values that count.
    noise : float in [0, 1/2)
        Probability that the target is flipped.

    Examples
    --------
    >>> base = CIAModel([0.5, 0.5], [[0.5, 0.5], [0.8, 0.2], [0.7, 0.4], [0.6, 0.1]])
    >>> model = ThresholdModel(base, relevant=[0, 1, 2], counting=[1, 1, 0], noise=0.1)
    >>> model.target_probability([[1, 1, 1], [0, 1, 1]])
    array([0.9, 0.1])
    """

    base: CIAModel
    relevant: NDArray[np.intp]
    counting: Bits
    noise: float

    def __post_init__(self) -> None:
        for name, kind in (("relevant", np.intp), ("counting", np.uint8)):
            object.__setattr__(self, name, np.array(getattr(self, name), dtype=kind))
            getattr(self, name).flags.writeable = False
        if self.relevant.ndim != 1 or self.counting.shape != self.relevant.shape or not self.relevant.size:
            raise ModelError("relevant and counting must have the same shape (r,), with r of at least 1.")
        if len(set(self.relevant.tolist())) < self.relevant.size or not np.isin(self.relevant, range(self.n)).all():
            raise ModelError(f"relevant must be different positions from 0 to {self.n - 1}.")
        if self.counting.max() > 1:
            raise ModelError("counting must hold 0 and 1 only.")
        if not 0 <= self.noise < 0.5:
            raise ModelError(f"noise must lie in [0, 0.5); got {self.noise!r}.")

    def __repr__(self) -> str:
        return f"ThresholdModel(n={self.n}, r={self.relevant.size}, noise={self.noise:g})"

    @property
    def weights(self) -> Floats:  # type: ignore[override]
        """P(Z = z), shape (k,)."""
        return self.base.weights

    @property
    def n(self) -> int:
        """Number of attributes that a learner sees."""
        return self.base.n

    @cached_property
    def target_mean(self) -> float:
        """P(x_0 = 1), exact: from the distribution of the number of attributes that count, given the hidden value."""
        probs = self.base.probs[1:][self.relevant]
        counts = np.zeros((self.relevant.size + 1, self.k))
        counts[0] = 1
        for chance in np.where(self.counting[:, None], probs, 1 - probs):
            counts[1:] = counts[1:] * (1 - chance) + counts[:-1] * chance
            counts[0] *= 1 - chance
        is_one = 2 * np.arange(len(counts)) > self.relevant.size
        return float(self.noise + (1 - 2 * self.noise) * (is_one @ counts @ self.weights))

    @property
    def headroom(self) -> float:
        """S_best − S_const, exact."""
        return 1 - self.noise - self.constant_success

    def rule(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Whether more than half of the relevant attributes have the value that counts."""
        counts = (self._bits(X)[:, self.relevant] == self.counting).sum(axis=1)
        holds: NDArray[np.bool_] = 2 * counts > self.relevant.size
        return holds

    def sample_attributes(self, size: int, rng: np.random.Generator) -> Bits:
        """Draw the attributes alone, shape (size, n)."""
        return self.base.sample_attributes(size, rng)

    def log_joint(self, X: ArrayLike) -> Floats:
        """Log P(x_1 … x_n, Z = z) for every row, shape (s, k)."""
        return self.base.log_joint(X)

    def chances(self, X: ArrayLike, posterior: Floats) -> Floats:
        """P(x_0 = 1 | x) for every row."""
        return self.target_probability(X)

    def target_probability(self, X: ArrayLike) -> Floats:
        """P(x_0 = 1 | x_1 … x_n) for every row, shape (s,)."""
        return np.where(self.rule(X), 1 - self.noise, self.noise)

    def _draw(self, size: int, rng: np.random.Generator) -> tuple[Bits, Bits]:
        X = self.sample_attributes(size, rng)
        return X, (rng.random(size) < self.target_probability(X)).astype(np.uint8)


@dataclass(frozen=True, repr=False)
class ThresholdFamily(ModelFamily[ThresholdModel]):
    """Threshold(n, r, noise, b): "at least so many of these properties", on attributes of CIA(n, 2, b).

    The target is 1 if at least (r + 1)/2 of r relevant attributes hold, each of them as it is or negated, at random;
    it is flipped with probability `noise`. So S_best is 1 − noise, a linear rule attains it, and the hidden variable
    is real but does not help: the home ground of learners that look for a rule. If r is even, this is r/2 + 1.

    Parameters
    ----------
    n : int
        Number of attributes.
    r : int
        Number of relevant attributes, at most n.
    noise : float in [0, 1/2)
        Probability that the target is flipped.
    b : float in (1/2, 1)
        Difficulty of the model of the attributes.
    tolerance : float
        Largest `|B − b|` of an accepted model.
    min_headroom : float
        Smallest S_best − S_const of an accepted model.
    concentration : float, optional
        The beta parameter a (default: calibrated, as of CIA(n, 2, b)).
    t_target : float
        Standard error of T at which the test of a rule stops, where scores are sampled.

    Examples
    --------
    >>> from ciabench import Scorer
    >>> round(Scorer(ThresholdFamily(n=10, r=5, noise=0.05, b=0.9).draw(rng=0)).best, 9)
    0.95
    """

    n: int
    r: int
    noise: float
    b: float
    tolerance: float = 0.01
    min_headroom: float = 0.02
    concentration: float | None = None
    t_target: float = 0.005

    use: ClassVar[str] = "Threshold"

    def _check_own(self) -> None:
        check_integer("r, the number of relevant attributes,", self.r, 1, self.n)
        check_between("noise", self.noise, 0, 0.5, closed=True)
        if 0.5 - self.noise <= 0 or 0.5 - self.noise < self.min_headroom:
            raise FamilyError(
                f"noise = {self.noise:g} leaves a headroom of at most {0.5 - self.noise:.3g}, and T needs at least "
                f"min_headroom = {self.min_headroom:g}, more than 0; choose less noise."
            )

    def draw_unselected(self, rng: RandomSource = None) -> ThresholdModel:
        """Draw one model, whatever its difficulty and headroom."""
        rng = np.random.default_rng(rng)
        base = CIAModel(*self._draw_mixture(self.n + 1, rng))
        relevant, counting = rng.permutation(self.n)[: self.r], rng.integers(0, 2, self.r, dtype=np.uint8)
        return ThresholdModel(base, relevant, counting, float(self.noise))

    def _attempt(self, rng: np.random.Generator) -> tuple[ThresholdModel | None, Decision]:
        model = self.draw_unselected(rng)
        if model.headroom < self.min_headroom:
            return None, "headroom"
        return model, Conditions(self.b, self.tolerance, -np.inf).judge(model, rng)
