"""Trees of bits under a hidden variable on arrays: log-joint and draws.

A hidden value z is drawn with probability `weights[z]`; then attribute i is 1 with a probability that depends on z and
on the value of its parent, an earlier attribute. `log_probs[i, 2 * parent + value, z]` is the logarithm of the
probability of a value. An attribute without a parent names any, itself too, and has equal entries for both its values.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ciabench.arrays import Bits, Floats
from ciabench.kernels import prepare_kernels
from ciabench.probability import bernoulli

MOST_UNIFORM = 4_000_000
"""Random numbers held at a time."""


def log_joint(X: Bits, weights: Floats, log_probs: Floats, parents: NDArray[np.intp]) -> Floats:
    """Log P(x, z) for every row x of bits and hidden value z, shape (s, k).

    Examples
    --------
    >>> log_probs = np.log([[[0.4], [0.6], [0.4], [0.6]], [[0.9], [0.1], [0.2], [0.8]]])
    >>> X = np.array([[1, 1], [0, 1]], dtype=np.uint8)
    >>> np.exp(log_joint(X, np.ones(1), log_probs, np.array([0, 0]))).round(3).tolist()
    [[0.48], [0.04]]
    """
    prepare_kernels()
    sums: Floats = _sums(X, log_probs, parents)
    return sums + bernoulli.floored_log(weights)


def draw(weights: Floats, log_probs: Floats, parents: NDArray[np.intp], size: int, rng: np.random.Generator) -> Bits:
    """Draw `size` rows, shape (size, n)."""
    prepare_kernels()
    n = len(parents)
    hidden = bernoulli.hidden_values(weights, size, rng)
    chances, rows = np.exp(log_probs[:, 1::2]), np.empty((size, n), dtype=np.uint8)
    at_once = max(1, MOST_UNIFORM // n)
    for start in range(0, size, at_once):
        block = slice(start, min(start + at_once, size))
        uniform = rng.random((block.stop - start, n))
        _grow(rows[block], uniform, hidden[block], chances, parents)
    return rows


@njit(cache=True)
def _sums(X: Bits, log_probs: Floats, parents: NDArray[np.intp]) -> Floats:
    """Sum of the logarithms of all attributes, row by row and hidden value by hidden value."""
    sums = np.zeros((X.shape[0], log_probs.shape[2]))
    for row in range(X.shape[0]):
        for column in range(X.shape[1]):
            entry = 2 * X[row, parents[column]] + X[row, column]
            for z in range(log_probs.shape[2]):
                sums[row, z] += log_probs[column, entry, z]
    return sums


@njit(cache=True)
def _grow(rows: Bits, uniform: Floats, hidden: NDArray[np.intp], chances: Floats, parents: NDArray[np.intp]) -> None:
    """Fill the rows from the first attribute on; before it has a value, a root counts as its own parent of value 0."""
    for row in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            rows[row, column] = 0
            parent = rows[row, parents[column]]
            rows[row, column] = uniform[row, column] < chances[column, parent, hidden[row]]
