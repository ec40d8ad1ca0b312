"""What more rows would bring: error rates at larger sizes with intervals, and the chance that another learner leads.

A learning curve is taken as a power law, e(n) = L (ρ + (1 − ρ) ((n/m + d) / (1 + d))^−c) with m the largest size so far
and L the error rate there. No single law is chosen: all those of a grid of shapes (c, ρ, d) are averaged, each weighted
by how well it fits the error rates seen, those at small sizes counting less. A shape with ρ > 1 rises.
"""

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from ciabench.arrays import Floats
from ciabench.errors import DataError

EXPONENTS = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
LIMITS = (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.2)
OFFSETS = (0.0, 0.1, 0.5)
SHAPES: Floats = np.array(list(product(EXPONENTS, LIMITS, OFFSETS)))
"""Shapes (c, ρ, d) of curves; all are equally probable before anything is seen."""

NEAR, FAR, FLOOR, LATER = 0.002, 0.04, 0.05, 0.03
"""How far curves are from power laws, relative to the last error rate plus FLOOR: NEAR at the largest size, and FAR
times the square of the number of doublings before it; LATER, relative to the forecast, at the sizes to come."""

LEAST_NOISE = 1e-3
DRAWS = 4_000
AGREEMENT = 0.4
"""Correlation of the errors of forecasts of two learners on the same table."""


class Forecast(NamedTuple):
    """Error rates to be expected.

    Parameters
    ----------
    rows : array (k,)
        Numbers of training rows.
    median : array (k,)
        Error rates, as likely to be above as below.
    low, high : array (k,)
        Ends of their intervals.
    """

    rows: Floats
    median: Floats
    low: Floats
    high: Floats


class Leads(NamedTuple):
    """Which learner leads now, and how probable it is that another one leads with more rows.

    Parameters
    ----------
    rows : array (k,)
        Numbers of training rows.
    leader : str
        Learner with the least error rate at the largest size so far.
    chance_of_change : array (k,)
        Probability that it is another one.
    """

    rows: Floats
    leader: str
    chance_of_change: Floats


def forecast(sizes: ArrayLike, errors: ArrayLike, rows: ArrayLike, *, level: float = 0.8) -> Forecast:
    """Forecast the error rate of a learner at other numbers of training rows.

    Parameters
    ----------
    sizes : array-like (k,)
        Numbers of training rows.
    errors : array-like (n_splits, k)
        Error rates on the test rows of each split; NaN where there is none.
    rows : array-like
        Numbers of training rows to forecast, such as twice and four times the largest size.
    level : float
        Probability that the error rate is in the interval.

    Examples
    --------
    >>> sizes = np.array([25, 50, 100, 200])
    >>> noise = np.random.default_rng(0).normal(0, 0.01, (15, 4))
    >>> found = forecast(sizes, 0.1 + sizes**-0.5 + noise, [400, 800])
    >>> found.median.round(2).tolist(), found.low.round(2).tolist(), found.high.round(2).tolist()
    ([0.15, 0.14], [0.14, 0.12], [0.17, 0.16])
    """
    targets = np.atleast_1d(np.asarray(rows, dtype=np.float64))
    curve = _averaged(sizes, errors, targets)
    low, median, high = (curve.quantiles(share) for share in ((1 - level) / 2, 0.5, (1 + level) / 2))
    return Forecast(targets, median, low, high)


def forecast_leader(sizes: ArrayLike, errors: Mapping[str, ArrayLike], rows: ArrayLike) -> Leads:
    """Forecast whether today's best learner stays the best.

    Parameters
    ----------
    sizes : array-like (k,)
        Numbers of training rows, the same for all learners.
    errors : mapping of str to array-like (n_splits, k)
        Error rates of each learner.
    rows : array-like
        Numbers of training rows to forecast.

    Examples
    --------
    >>> sizes, noise = np.array([25, 50, 100, 200]), np.random.default_rng(0).normal(0, 0.01, (2, 15, 4))
    >>> steep, flat = 2 / sizes**0.5 + noise[0], 0.12 + 0.0 * sizes + noise[1]
    >>> found = forecast_leader(sizes, {"steep": steep, "flat": flat}, [400, 800])
    >>> found.leader, found.chance_of_change.round(1).tolist()
    ('flat', [0.9, 1.0])
    """
    targets = np.atleast_1d(np.asarray(rows, dtype=np.float64))
    curves = [_averaged(sizes, one, targets) for one in errors.values()]
    leader = int(np.argmin([curve.last for curve in curves]))
    rng = np.random.default_rng(0)
    common, own = rng.standard_normal(DRAWS), rng.standard_normal((len(curves), DRAWS))
    shares = norm.cdf(np.sqrt(AGREEMENT) * common + np.sqrt(1 - AGREEMENT) * own)
    drawn = np.array([curve.quantiles(share) for curve, share in zip(curves, shares, strict=True)])
    return Leads(targets, list(errors)[leader], (drawn.argmin(axis=0) != leader).mean(axis=-1))


class _Averaged(NamedTuple):
    """An error rate at the targets as a mixture of normal distributions, one per shape."""

    last: float
    weights: Floats  # (shapes,)
    means: Floats  # (shapes, k)
    deviations: Floats  # (shapes, k)

    def quantiles(self, shares: Floats | float) -> Floats:
        """Quantiles at each target, (k,) or (k, shares)."""
        found = []
        for means, deviations in zip(self.means.T, self.deviations.T, strict=True):
            grid = np.linspace((means - 5 * deviations).min(), (means + 5 * deviations).max(), 400)
            below = norm.cdf((grid[:, None] - means) / deviations) @ self.weights
            found.append(np.interp(shares, below, grid))
        return np.clip(found, 0.0, 1.0)


def _averaged(sizes: ArrayLike, errors: ArrayLike, targets: Floats) -> _Averaged:
    """Fit all shapes to the mean error rates, and weigh them."""
    n, mean, error = _means(np.asarray(sizes, dtype=np.float64), np.asarray(errors, dtype=np.float64))
    scale = mean[-1] + FLOOR
    misfits = scale * np.hypot(NEAR, FAR * np.log2(n[-1] / n) ** 2)
    precisions = 1 / (error**2 + misfits**2 + LEAST_NOISE**2)
    seen, later = _shapes(n / n[-1]), _shapes(targets / n[-1])
    information = (seen**2) @ precisions
    levels = (seen * mean) @ precisions / information
    surprise = ((mean - levels[:, None] * seen) ** 2) @ precisions + np.log(information)
    weights = np.exp(-0.5 * (surprise - surprise.min()))
    kept = weights > 1e-6
    means = levels[kept, None] * later[kept]
    variances = later[kept] ** 2 / information[kept, None] + (LATER * means) ** 2 + LEAST_NOISE**2
    return _Averaged(float(mean[-1]), weights[kept] / weights[kept].sum(), means, np.sqrt(variances))


def _means(sizes: Floats, errors: Floats) -> tuple[Floats, Floats, Floats]:
    """Sizes in order that have two splits at least, mean error rates there, and their standard errors."""
    counts = (~np.isnan(errors)).sum(axis=0)
    order = np.argsort(sizes)
    order = order[counts[order] > 1]
    if not order.size:
        raise DataError("there is no size with at least two splits to forecast from.")
    kept = errors[:, order]
    return sizes[order], np.nanmean(kept, axis=0), np.nanstd(kept, axis=0, ddof=1) / np.sqrt(counts[order])


def _shapes(ratios: Floats) -> Floats:
    """Error rates relative to that at the largest size, (shapes, k)."""
    exponents, limits, offsets = SHAPES.T[:, :, None]
    powers = ((ratios + offsets) / (1 + offsets)) ** -exponents
    return np.asarray(limits + (1 - limits) * powers, dtype=np.float64)
