"""Confidence sequences: intervals for a mean that hold at all numbers of trials at once.

Asymptotic confidence sequences (Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2021) with Hall's correction for skewness
(1992), because leads at small sizes are skewed. They may be looked at after every trial from the first look on, and
trials may be added until a statement is decided.
"""

from typing import Any, Literal

import numpy as np

from ciabench.arrays import Floats

FIRST_LOOK = 500
"""Number of trials from which on the intervals are used: with fewer, the normal approximation is too coarse."""

NARROWEST_AT = 5_000
"""Number of trials at which the intervals are as narrow as they can be made."""

NEVER_SKEWED = 1e-12

End = Literal["low", "high"]


def bound(count: Any, mean: Any, deviation: Any, skewness: Any, level: Any, end: End) -> Floats:
    """One-sided bound of a mean, which holds at all numbers of trials with probability 1 − level; infinite before 500.

    Parameters
    ----------
    count : array
        Number of trials.
    mean : array
    deviation : array
        Standard deviation of the trials.
    skewness : array
    level : array
        Probability that the bound is ever wrong.
    end : {"low", "high"}
        Lower or upper bound.

    Returns
    -------
    array

    Examples
    --------
    >>> bound([499, 500, 5_000], 0.1, 0.3, 0.0, 0.05 / 12, "low").round(3)
    array([ -inf, 0.041, 0.085])
    """
    count, mean, deviation, skewness = (np.asarray(one, dtype=np.float64) for one in (count, mean, deviation, skewness))
    sign = 1.0 if end == "low" else -1.0
    seen = np.maximum(count, FIRST_LOOK)
    ends = mean - deviation * _unskewed(sign * half_width(seen, level), skewness, seen)
    found: Floats = np.where(count < FIRST_LOOK, -sign * np.inf, ends)
    return found


def half_width(count: Any, level: Any) -> Floats:
    """Half-width in standard deviations, without skewness, of an interval whose two ends each have this level.

    Examples
    --------
    >>> half_width(np.array([500, 5_000, 50_000]), 0.05 / 12).round(4)
    array([0.1952, 0.0513, 0.017 ])
    """
    doubled = 2 * np.asarray(level, dtype=np.float64)
    square = (-2 * np.log(doubled) + np.log(1 - 2 * np.log(doubled))) / NARROWEST_AT
    grown = np.asarray(count, dtype=np.float64) * square + 1
    width: Floats = np.sqrt(2 * grown / (np.asarray(count) ** 2 * square) * np.log(np.sqrt(grown) / doubled))
    return width


def _unskewed(y: Floats, skewness: Floats, count: Floats) -> Floats:
    """Hall's h(y) = (3/γ)(∛(1 + γ(y − γ/(6t))) − 1), the inverse of the cubic that removes the skewness γ of a mean."""
    is_skewed = np.abs(skewness) > NEVER_SKEWED
    gamma = np.where(is_skewed, skewness, 1.0)
    roots = np.cbrt(1 + gamma * (y - gamma / (6 * count)))
    found: Floats = np.where(is_skewed, 3 / gamma * (roots - 1), y)
    return found
