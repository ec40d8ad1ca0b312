"""Models with two hidden variables: half of the attributes depend on one of them, half on the other."""

import zlib
from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar

import numpy as np

from ciabench.arrays import Floats
from ciabench.world import calibration
from ciabench.world.model_family import MixtureFamily


def draw_parameters(n: int, concentration: float, size: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw weights (size, 4) and probs (size, n + 1, 4) of `size` unselected models.

    Hidden value z = 2 z_1 + z_2 stands for the pair (z_1, z_2). Attributes 1 to ⌈n/2⌉ depend on z_1 alone, the others
    on z_2 alone, the target on both.
    """
    own = rng.beta(concentration, concentration, (size, 2))
    first, second = (np.stack([1 - weight, weight], axis=-1) for weight in own.T)
    probs, target = (rng.beta(concentration, concentration, shape) for shape in ((size, n, 2), (size, 1, 4)))
    of_first, of_second = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    half = (n + 1) // 2
    weights = first[:, of_first] * second[:, of_second]
    return weights, np.concatenate([target, probs[:, :half, of_first], probs[:, half:, of_second]], axis=1)


@cache
def calibrate(n: int, b: float) -> float:
    """Concentration for which unselected models have mean difficulty b."""
    rng = np.random.default_rng([n, 2, 2, zlib.crc32(repr(float(b)).encode())])
    return calibration.solve(partial(draw_parameters, n), f"TwoHidden({n}, {b:g})", b, rng)


@dataclass(frozen=True, repr=False)
class TwoHiddenFamily(MixtureFamily):
    """TwoHidden(n, b): random models with two independent binary hidden variables, n attributes and difficulty b.

    The first ⌈n/2⌉ attributes depend on one hidden variable, the others on the other, the target on both. Both weights,
    all probabilities of attributes and the four of the target are Beta(a, a), with the concentration a calibrated so
    that the mean difficulty is b. Models are then kept if their own difficulty is within `tolerance` of b and the best
    rule beats the best constant rule by at least `min_headroom`. A model is a `CIAModel` of the four pairs of values.

    Parameters
    ----------
    n : int
        Number of attributes.
    b : float in (1/4, 1)
        Difficulty: how accurately the true model predicts both hidden values at once.
    tolerance : float
        Largest `|B − b|` of an accepted model.
    min_headroom : float
        Smallest S_best − S_const of an accepted model.
    concentration : float, optional
        The beta parameter a (default: calibrated).
    t_target : float
        Standard error of T at which the test of a rule stops, where scores are sampled.

    Examples
    --------
    >>> model = TwoHiddenFamily(n=10, b=0.9).draw(rng=0)
    >>> model, abs(model.difficulty() - 0.9) <= 0.01
    (CIAModel(n=10, k=4), True)
    """

    n: int
    b: float
    tolerance: float = 0.01
    min_headroom: float = 0.02
    concentration: float | None = None
    t_target: float = 0.005

    use: ClassVar[str] = "TwoHidden"

    @property
    def n_hidden(self) -> int:
        """Number of pairs of hidden values."""
        return 4

    def _calibrated(self) -> float:
        return calibrate(self.n, float(self.b))

    def _draw_parameters(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        assert self.concentration is not None
        weights, probs = draw_parameters(self.n, self.concentration, 1, rng)
        return weights[0], probs[0]
