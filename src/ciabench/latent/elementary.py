"""exp and log of eight numbers together."""

from typing import Any

from numba import njit

from ciabench.latent.lanes import as_power_of_two, choose, exponent, mantissa, spread

LOG2_HIGH, LOG2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""log 2 as a sum of two numbers, the first with so few bits that its products with exponents are exact."""

SHIFT = 6755399441055744.0
"""1.5 · 2**52: adding it to a number leaves the rounded number in the low bits of the sum."""


@njit
def larger(left: Any, right: Any) -> Any:
    """Larger of two numbers, lane by lane."""
    return choose(left, right, left, right)


@njit
def exp_negative(x: Any) -> Any:
    """Exp of lanes <= 0. With n = round(x / log 2), exp x = 2**n exp(x − n log 2)."""
    x = larger(x, spread(-708.0))
    shifted = x * 1.4426950408889634 + SHIFT
    n = shifted - SHIFT
    r = x - n * LOG2_HIGH - n * LOG2_LOW
    p = 1.0 / 6227020800 * r + 1.0 / 479001600
    p = p * r + 1.0 / 39916800
    p = p * r + 1.0 / 3628800
    p = p * r + 1.0 / 362880
    p = p * r + 1.0 / 40320
    p = p * r + 1.0 / 5040
    p = p * r + 1.0 / 720
    p = p * r + 1.0 / 120
    p = p * r + 1.0 / 24
    p = p * r + 1.0 / 6
    p = p * r + 0.5
    return ((p * r + 1.0) * r + 1.0) * as_power_of_two(shifted)


@njit
def exp_either(x: Any) -> Any:
    """Exp of lanes of either sign, of size up to 708."""
    zero = spread(0.0)
    power = exp_negative(choose(x, zero, zero - x, x))
    return choose(x, zero, 1.0 / power, power)


@njit
def log_positive(x: Any) -> Any:
    """Log of normal positive lanes. With x = 2**n m, log x = n log 2 + 2 artanh s and s = (m − 1) / (m + 1)."""
    n, m = exponent(x), mantissa(x)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    p = 1.0 / 21 * z + 1.0 / 19
    p = p * z + 1.0 / 17
    p = p * z + 1.0 / 15
    p = p * z + 1.0 / 13
    p = p * z + 1.0 / 11
    p = p * z + 1.0 / 9
    p = p * z + 1.0 / 7
    p = p * z + 1.0 / 5
    p = p * z + 1.0 / 3
    return n * LOG2_HIGH + (2.0 * s + (2.0 * s * z * p + n * LOG2_LOW))
