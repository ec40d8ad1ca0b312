"""Random numbers in eight lanes: normal and gamma variates from uniform ones.

A generator per lane: `random` (2, 8) holds the states of eight xorshift128+ generators (`lanes.draw_uniform`).

References
----------
Marsaglia & Tsang (2000), A simple method for generating gamma variables. Vigna (2017), Further scramblings of
Marsaglia's xorshift generators.
"""

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ciabench.latent.elementary import exp_negative, larger, log_positive
from ciabench.latent.lanes import LANES, any_larger, choose, draw_uniform, spread, square_root

Random = NDArray[np.uint64]

TINY = 1e-100
"""Stands for a positive number that is not 0."""


def make_random(rng: np.random.Generator) -> Random:
    """States of eight generators."""
    return rng.integers(1, 2**64, (2, LANES), dtype=np.uint64)


@njit
def sine_and_cosine(turns: Any) -> Any:
    """Sine and cosine of 2π · turns, in [0, 1], by the series at half the angle, which lies in [−π/2, π/2]."""
    x = (turns - 0.5) * math.pi
    z = x * x
    s = spread(-1.0 / 121645100408832000)
    s = s * z + 1.0 / 355687428096000
    s = s * z - 1.0 / 1307674368000
    s = s * z + 1.0 / 6227020800
    s = s * z - 1.0 / 39916800
    s = s * z + 1.0 / 362880
    s = s * z - 1.0 / 5040
    s = s * z + 1.0 / 120
    s = s * z - 1.0 / 6
    s = (s * z + 1.0) * x
    c = spread(1.0 / 2432902008176640000)
    c = c * z - 1.0 / 6402373705728000
    c = c * z + 1.0 / 20922789888000
    c = c * z - 1.0 / 87178291200
    c = c * z + 1.0 / 479001600
    c = c * z - 1.0 / 3628800
    c = c * z + 1.0 / 40320
    c = c * z - 1.0 / 720
    c = c * z + 1.0 / 24
    c = c * z - 0.5
    c = c * z + 1.0
    return -2.0 * s * c, 2.0 * s * s - 1.0


@njit
def draw_normals(random: Random) -> Any:
    """Two independent standard normal lanes (Box & Muller)."""
    radius = square_root(-2.0 * log_positive(1.0 - draw_uniform(random)))
    sine, cosine = sine_and_cosine(draw_uniform(random))
    return radius * sine, radius * cosine


@njit
def try_gamma(random: Random, d: Any, normal: Any) -> Any:
    """A gamma variate of shape d + ⅓ ≥ 1, or 0 where the proposal is rejected."""
    root = 1.0 + normal / square_root(9.0 * d)
    cube = root * root * root
    bound = 0.5 * normal * normal + d * (1.0 - cube + 3.0 * log_positive(larger(root, spread(TINY))))
    margin, zero = bound - log_positive(1.0 - draw_uniform(random)), spread(0.0)
    return choose(root, zero, choose(margin, zero, d * cube, zero), zero)


@njit
def shrink(random: Random, shape: Any, value: Any) -> Any:
    """Turn a gamma variate of shape + 1 into one of `shape` where that is less than 1."""
    one = spread(1.0)
    if not any_larger(one, shape):
        return value
    factor = exp_negative(log_positive(1.0 - draw_uniform(random)) / shape)
    return choose(one, shape, value * factor, value)


@njit
def draw_gammas(random: Random, first: Any, second: Any) -> Any:
    """Two independent gamma lanes of scale 1, for two lanes of positive shapes."""
    one, zero, third = spread(1.0), spread(0.0), 1.0 / 3
    d, e = choose(one, first, first + 1.0, first) - third, choose(one, second, second + 1.0, second) - third
    found, other = zero, zero
    while any_larger(spread(TINY), found) or any_larger(spread(TINY), other):
        x, y = draw_normals(random)
        found = choose(found, zero, found, try_gamma(random, d, x))
        other = choose(other, zero, other, try_gamma(random, e, y))
    return shrink(random, first, found), shrink(random, second, other)
