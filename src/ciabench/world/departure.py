"""How far a model is from the binary model: D = min over θ of KL(model ‖ binary CIA model θ), in nats.

The θ that attains it is what EM with two classes would fit to endless data, so that T of its rule is EM's plateau. Up
to n = 14 the rows to fit are all 2**(n + 1) patterns of target and attributes, with their probabilities as counts.
Beyond, two halves of a large sample are fitted one by one, and D is the mean of log P(row) − log Q(row) over all rows
and both fits Q: by as much as a fit is too good on its own rows, it is too poor on the other half, to first order.
"""

from typing import Any, NamedTuple

import numpy as np

from ciabench.arrays import Bits, Floats
from ciabench.latent.fit import Mixture, fit_mixture
from ciabench.probability import bernoulli
from ciabench.world.base import Facts
from ciabench.world.bit_model import BitModel, RandomSource, check_model, enumerated
from ciabench.world.model import CIAModel

N_INIT = 50
"""Starts of a fit; with 20, one in forty models of TwoHidden(10, 0.9) was not fitted as well as it could be."""

EXACT_TOL = 1e-13
"""Gain in nats below which a fit to the population has converged."""

SAMPLED_TOL = 1e-8
"""The same for a fit to a sample, per row."""

HALF, MOST_CELLS = 50_000, 100_000_000
"""Rows in each half of a sample, unless the half would then have more cells."""

SIGMAS = 1.96


class Departure(float):
    """A departure in nats: a number, with a 95% interval and the binary model that is nearest.

    Attributes
    ----------
    low : float
        Lower end of the interval; the number itself where it is exact.
    high : float
        Upper end of the interval.
    projection : CIAModel
        The nearest binary model.
    """

    low: float
    high: float
    projection: CIAModel

    def __new__(cls, nats: float, low: float, high: float, projection: CIAModel) -> "Departure":
        """Attach the interval and the projection to the number."""
        made = super().__new__(cls, nats)
        made.low, made.high, made.projection = low, high, projection
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return float(self), self.low, self.high, self.projection


class Projected(NamedTuple):
    """The rule of the nearest binary model, with the departure as a fact: the reference that families offer."""

    projection: CIAModel
    facts: Facts

    @classmethod
    def of(cls, model: BitModel, rng: np.random.Generator) -> "Projected":
        """Project a model."""
        found = departure(model, rng)
        facts = {"departure": float(found), "departure_low": found.low, "departure_high": found.high}
        return cls(found.projection, facts)

    def predict(self, X: Any) -> Bits:
        """Bayes rule of the nearest binary model."""
        return self.projection.predict(X)


def departure(model: BitModel, rng: RandomSource = 0) -> Departure:
    """How far a model is from the binary model with one hidden variable, in nats.

    Parameters
    ----------
    model : CIAModel or any model that a family draws
    rng : int, Generator or None
        Source of the starts of EM and, for n > 14, of the sample.

    Returns
    -------
    Departure
        A float. Up to n = 14 it is exact and never negative. For larger n it is estimated from up to 100,000 draws, may
        be slightly negative, and has an interval, `low` to `high`. Its `projection` is the nearest binary model, whose
        T is where EM with two classes ends.

    Examples
    --------
    >>> from ciabench import CIAFamily, Scorer
    >>> print(f"{departure(CIAFamily(n=10, k=2, b=0.9).draw(rng=0)):.8f}")
    0.00000000
    >>> model = CIAFamily(n=10, k=5, b=0.9).draw(rng=0)
    >>> found = departure(model)
    >>> print(f"{found:.3f} nats, plateau {Scorer(model).t(found.projection.predict):.2f}")
    0.461 nats, plateau 0.97
    """
    check_model(model)
    rng = np.random.default_rng(rng)
    return _exact(model, rng) if model.enumerable else _sampled(model, rng)


def _exact(model: BitModel, rng: np.random.Generator) -> Departure:
    """Departure from all patterns of target and attributes."""
    patterns, (masses, chances, _) = enumerated(model.n), model.enumeration
    rows = np.concatenate([_joined(np.full(len(patterns), y, np.uint8), patterns) for y in (0, 1)])
    counts = np.concatenate([masses * (1 - chances), masses * chances])
    is_possible = counts > 0
    fitted = fit_mixture(rows[is_possible], counts[is_possible], 2, random=rng, n_init=N_INIT, tol=EXACT_TOL, target=0)
    log_fitted = bernoulli.log_likelihood(rows, fitted.weights, fitted.probs)
    # With P − Q, whose sum is 0, added to it, no term is negative: rounding aside, which must not make it so.
    terms = counts * (bernoulli.floored_log(counts) - log_fitted) - counts + np.exp(log_fitted)
    nats = float(np.maximum(terms, 0.0).sum())
    return Departure(nats, nats, nats, _projection(fitted))


def _sampled(model: BitModel, rng: np.random.Generator) -> Departure:
    """Departure from two halves of a sample."""
    half = min(HALF, MOST_CELLS // model.n)
    X, y = model.sample(2 * half, rng)
    rows = _joined(y, X)
    halves = rows[:half], rows[half:]
    first = _fitted(halves[0], rng, N_INIT)
    fits = first, _fitted(halves[1], rng, N_INIT, first)
    log_fitted = np.mean([bernoulli.log_likelihood(rows, fit.weights, fit.probs) for fit in fits], axis=0)
    surplus = _log_likelihood(model, X, y) - log_fitted
    nats, error = float(surplus.mean()), float(surplus.std(ddof=1) / np.sqrt(len(surplus)))
    best = _fitted(rows, rng, len(fits), *fits)
    return Departure(nats, nats - SIGMAS * error, nats + SIGMAS * error, _projection(best))


def _fitted(rows: Bits, rng: np.random.Generator, n_init: int, *starts: Mixture) -> Mixture:
    """Binary mixture fitted to rows that occur once each."""
    own = [(start.weights, start.probs) for start in starts]
    tol = SAMPLED_TOL * len(rows)
    return fit_mixture(rows, np.ones(len(rows)), 2, random=rng, n_init=n_init, tol=tol, target=0, init=own)


def _joined(y: Bits, X: Bits) -> Bits:
    """Rows of target and attributes."""
    return np.column_stack([y, X])


def _log_likelihood(model: BitModel, X: Bits, y: Bits) -> Floats:
    """Log P(x_0, x) of every row."""
    posterior, evidence = bernoulli.normalize(model.log_joint(X))
    chances = model.chances(X, posterior)
    likelihood: Floats = evidence + bernoulli.floored_log(np.where(y == 1, chances, 1 - chances))
    return likelihood


def _projection(fitted: Mixture) -> CIAModel:
    return CIAModel(fitted.weights / fitted.weights.sum(), np.clip(fitted.probs, 0, 1))
