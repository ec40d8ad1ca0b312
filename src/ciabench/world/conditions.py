"""Whether a drawn model belongs to its family: its difficulty and its headroom, exact or by growing samples."""

from typing import Literal, NamedTuple

import numpy as np

from ciabench.arrays import Bits, Floats
from ciabench.world.bit_model import BitModel, enumerated

STAGES = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
"""Sample sizes at which a model too large to enumerate is examined."""

SIGMAS = 2.5

Decision = Literal["accepted", "difficulty", "headroom"]
"""Whether a model is accepted; if not, the condition that it fails."""


class Rejections(NamedTuple):
    """Number of models rejected before one was accepted; a model that fails both conditions counts once."""

    difficulty: int
    headroom: int


class Conditions(NamedTuple):
    """What is asked of a model: |B − b| ≤ tolerance and S_best − S_const ≥ min_headroom.

    A tolerance of infinity, or a headroom of minus infinity, asks nothing.

    Examples
    --------
    >>> from ciabench import CIAModel
    >>> model = CIAModel([0.5, 0.5], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.4]])
    >>> rng = np.random.default_rng(0)
    >>> Conditions(0.8, 0.01, 0.02).judge(model, rng), Conditions(0.9, 0.01, 0.02).judge(model, rng)
    ('accepted', 'difficulty')
    """

    b: float
    tolerance: float
    min_headroom: float

    def judge(self, model: BitModel, rng: np.random.Generator) -> Decision:
        """Decide whether a model meets the conditions."""
        if model.enumerable:
            masses, _, posterior = model.enumeration
            confidence, gain = _confidence_and_gain(model, enumerated(model.n), posterior)
            return self._compare(float(masses @ confidence), 0.0, float(masses @ gain), 0.0) or "difficulty"
        return self._judge_by_sampling(model, rng)

    def _judge_by_sampling(self, model: BitModel, rng: np.random.Generator) -> Decision:
        """Draw growing samples until both conditions are settled; reject a model that remains in doubt."""
        confidence, gain = np.empty(0), np.empty(0)
        for stage in STAGES:
            X = model.sample_attributes(stage - confidence.size, rng)
            fresh = _confidence_and_gain(model, X, model.posterior(X))
            confidence, gain = np.append(confidence, fresh[0]), np.append(gain, fresh[1])
            decision = self._compare(*_mean_and_doubt(confidence), *_mean_and_doubt(gain))
            if decision is not None:
                return decision
        settled = abs(confidence.mean() - self.b) + _mean_and_doubt(confidence)[1] <= self.tolerance
        return "headroom" if settled else "difficulty"

    def _compare(self, difficulty: float, doubt: float, headroom: float, headroom_doubt: float) -> Decision | None:
        """Decision at the given doubts; None if they are too large for one."""
        distance = abs(difficulty - self.b)
        if distance > self.tolerance + doubt:
            return "difficulty"
        if headroom + headroom_doubt < self.min_headroom:
            return "headroom"
        if distance + doubt <= self.tolerance and headroom - headroom_doubt >= self.min_headroom:
            return "accepted"
        return None


def _confidence_and_gain(model: BitModel, X: Bits, posterior: Floats) -> tuple[Floats, Floats]:
    """For every row, max_z P(z | x) and the gain of the Bayes rule over the constant rule."""
    advantage = 1 - 2 * model.chances(X, posterior)
    return posterior.max(axis=1), np.maximum(advantage if model.constant else -advantage, 0.0)


def _mean_and_doubt(values: Floats) -> tuple[float, float]:
    """Mean, and 2.5 standard errors plus 1/size, an allowance for what a sample has not shown yet."""
    return float(values.mean()), float(SIGMAS * values.std() / np.sqrt(values.size) + 1 / values.size)
