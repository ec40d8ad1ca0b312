"""exp and log over whole arrays, in loops that vectorise: several times as fast as one call an element."""

import numpy as np
from numba import njit

from ciabench.learners.data import Floats

LOG2_HIGH, LOG2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""log 2 in two parts, the first of so few bits that its multiples by exponents are exact."""


@njit(cache=True, error_model="numpy", fastmath={"contract", "nnan", "nsz"})
def exp_negative(values: Floats, scratch: Floats) -> None:
    """Take exp of values <= 0 in place.

    With n = round(x / log 2), exp x = 2**n exp(x − n log 2). Adding 1.5 · 2**52 leaves n in the low bits of a double.
    """
    bits = scratch.view(np.int64)
    for j in range(values.size):
        values[j] = max(values[j], -708.0)
        scratch[j] = values[j] * 1.4426950408889634 + 6755399441055744.0
    for j in range(values.size):
        n = scratch[j] - 6755399441055744.0
        r = values[j] - n * LOG2_HIGH - n * LOG2_LOW
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
        values[j] = (p * r + 1.0) * r + 1.0
    for j in range(values.size):
        bits[j] = (bits[j] + 1023) << 52
    for j in range(values.size):
        values[j] *= scratch[j]


@njit(cache=True, error_model="numpy", fastmath={"contract", "nnan", "nsz"})
def log_positive(values: Floats, scratch: Floats) -> None:
    """Take log of normal positive values in place.

    With x = 2**n m and m in [√½, √2), log x = n log 2 + 2 artanh s and s = (m − 1) / (m + 1). Bits of an exponent
    below those of 2**52 make the double 2**52 + exponent.
    """
    bits, exponents = values.view(np.uint64), scratch.view(np.uint64)
    below_root, shift = np.uint64(0x00195F619980C433), np.uint64(52)
    one, large = np.uint64(0x4000000000000000), np.uint64(0x4330000000000000)
    for j in range(values.size):
        exponent = (bits[j] + below_root) >> shift
        bits[j] = bits[j] + one - (exponent << shift)
        exponents[j] = exponent | large
    for j in range(values.size):
        n = scratch[j] - 4503599627371520.0
        s = (values[j] - 1.0) / (values[j] + 1.0)
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
        values[j] = n * LOG2_HIGH + (2 * s + (2 * s * z * p + n * LOG2_LOW))
