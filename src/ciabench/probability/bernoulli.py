"""Mixtures of product-Bernoulli distributions on arrays: log-joint, posterior, draws and linear rules.

A mixture has `weights` (k,) and `probs` (n, k): a hidden value z is drawn with probability `weights[z]`, then every
attribute i is 1 with probability `probs[i, z]`, independently. Computations are in log space. Leading axes may stack
several mixtures: `weights` (..., k), `probs` (..., n, k), `X` (..., s, n).
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ciabench.arrays import Floats
from ciabench.kernels import prepare_kernels

IMPOSSIBLE = -1e9
"""Stands for log 0: finite, so that 0 × log 0 = 0, and below any sum of logarithms of possible events."""

MANY = 8
"""Largest number of hidden values for which bytes are multiplied without a float copy."""


def floored_log(values: ArrayLike) -> Floats:
    """Natural logarithm with log 0 = `IMPOSSIBLE`."""
    values = np.asarray(values, dtype=np.float64)
    logs: Floats = np.log(values, out=np.full_like(values, IMPOSSIBLE), where=values > 0)
    return logs


def logit(probs: ArrayLike) -> Floats:
    """Log-odds of `probs`, finite also at 0 and 1."""
    probs = np.asarray(probs, dtype=np.float64)
    return floored_log(probs) - floored_log(1 - probs)


def linear_scores(X: NDArray[np.uint8], coefficients: Floats, intercept: float) -> Floats:
    """X · coefficients + intercept on bytes, without a float copy of X."""
    prepare_kernels()
    scores: Floats = _linear_scores(X, coefficients, intercept)
    return scores


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def _linear_scores(X: NDArray[np.uint8], coefficients: Floats, intercept: float) -> Floats:
    """Sum row by row."""
    scores = np.empty(X.shape[0])
    for row in range(X.shape[0]):
        total = 0.0
        for column in range(X.shape[1]):
            total += X[row, column] * coefficients[column]
        scores[row] = total + intercept
    return scores


def log_joint(X: Any, weights: Floats, probs: Floats) -> Floats:
    """Log P(x, z) for every row x and hidden value z; NaN entries are missing and summed out.

    Parameters
    ----------
    X : array (..., s, n) of 0, 1 or NaN; or a sparse matrix (s, n) of ones, which stays sparse
    weights : array (..., k)
    probs : array (..., n, k)

    Returns
    -------
    array (..., s, k)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, 0], [1, 1]])
    >>> np.exp(log_joint(X, np.array([0.5, 0.5]), np.array([[0.8, 0.1], [0.5, 0.0]])))
    array([[0.2 , 0.05],
           [0.2 , 0.  ]])
    """
    log_weights = floored_log(weights)[..., None, :]
    log_one, log_zero = floored_log(probs), floored_log(1 - probs)
    joint: Floats
    if sparse.issparse(X):
        joint = X @ (log_one - log_zero) + (log_weights + log_zero.sum(axis=-2, keepdims=True))
        return joint
    complete = X.dtype.kind != "f" or not np.isnan(X).any()
    if complete and IMPOSSIBLE not in (log_one.min(), log_zero.min()):
        scores = np.swapaxes(_products(X, np.swapaxes(log_one - log_zero, -1, -2)), -1, -2)
        joint = scores + (log_weights + log_zero.sum(axis=-2, keepdims=True))
    else:
        # With log 0 among the terms the two sums stay apart: ordinary terms would be lost in their difference.
        is_one, is_zero = (X == 1).astype(np.float64), (X == 0).astype(np.float64)
        joint = is_one @ log_one + is_zero @ log_zero + log_weights
    return joint


def _products(X: NDArray[Any], coefficients: Floats) -> Floats:
    """Coefficients (..., k, n) times X (..., s, n), shape (..., k, s).

    In this order, reductions over the few hidden values run along whole columns, twice as fast. For many hidden values
    a float copy of X and one matrix product take less time than one pass over its bytes per hidden value.
    """
    if X.dtype == np.uint8 and X.ndim == coefficients.ndim == 2 and len(coefficients) <= MANY:
        return np.stack([linear_scores(X, line, 0.0) for line in np.ascontiguousarray(coefficients)])
    scores: Floats = coefficients @ np.swapaxes(X.astype(np.float64), -1, -2)
    return scores


def normalize(log_joint: Floats) -> tuple[Floats, Floats]:
    """Posterior P(z | x) and log P(x) from log P(x, z), along the last axis."""
    peak = log_joint.max(axis=-1, keepdims=True)
    relative = np.exp(log_joint - peak)
    total = relative.sum(axis=-1, keepdims=True)
    return relative / total, (peak + np.log(total))[..., 0]


def posterior(X: Any, weights: Floats, probs: Floats) -> Floats:
    """P(z | x), shape (..., s, k); a row that is impossible under every z goes to the z that it contradicts least."""
    return normalize(log_joint(X, weights, probs))[0]


def target_chances(X: Any, weights: Floats, probs: Floats) -> Floats:
    """P(attribute 0 = 1 | the others), shape (s,), for rows X (s, n − 1) of the others and one mixture."""
    chances: Floats = posterior(X, weights, probs[1:]) @ probs[0]
    return chances


def target_log_odds(X: Any, weights: Floats, probs: Floats) -> Floats:
    """Log-odds (s,) of attribute 0 given the others, accurate also where `target_chances` rounds to 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> weights, probs = np.array([0.5, 0.5]), np.array([[1 - 1e-12, 0.2], [0.9, 0.1]])
    >>> target_log_odds(np.array([[0], [1]]), weights, probs).round(3)
    array([-0.944,  2.442])
    """
    joint = log_joint(X, weights, probs[1:])
    joint -= joint.max(axis=-1, keepdims=True)
    one, zero = (normalize(joint + floored_log(chances))[1] for chances in (probs[0], 1 - probs[0]))
    log_odds: Floats = one - zero
    return log_odds


def log_likelihood(X: Any, weights: Floats, probs: Floats) -> Floats:
    """Log P(x) of every row, shape (..., s)."""
    return normalize(log_joint(X, weights, probs))[1]


def draw(weights: Floats, probs: Floats, size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw `size` rows from each stacked mixture, shape (..., size, n).

    A uniform number is compared with a probability by its first byte; its remaining digits are drawn only if the first
    byte does not decide, one time in 256. This is exact, at a fifth of the cost of drawing doubles.
    """
    n, k = probs.shape[-2:]
    chosen = hidden_values(weights, size, rng) + np.arange(0, weights.size, k).reshape((*weights.shape[:-1], 1))
    table = 256 * np.swapaxes(probs, -1, -2).reshape(-1, n)
    first_bytes = np.minimum(table, 255).astype(np.uint8)
    thresholds = np.take(first_bytes, chosen.ravel(), axis=0)
    uniform = _random_bytes(thresholds.size, rng).reshape(thresholds.shape)
    rows: NDArray[np.bool_] = uniform < thresholds
    undecided = np.flatnonzero(uniform == thresholds)
    remainders = (table - first_bytes)[chosen.ravel()[undecided // n], undecided % n]
    rows.ravel()[undecided] = rng.random(undecided.size) < remainders
    return rows.view(np.uint8).reshape((*chosen.shape, n))


def hidden_values(weights: Floats, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw z for `size` rows of each stacked mixture, shape (..., size)."""
    uniform = rng.random((*weights.shape[:-1], size))
    hidden = np.zeros(uniform.shape, dtype=np.intp)
    for bound in np.moveaxis(np.cumsum(weights, axis=-1)[..., :-1], -1, 0):
        hidden += uniform >= bound[..., None]
    return hidden


def _random_bytes(size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    return rng.integers(0, 2**64, size // 8 + 1, dtype=np.uint64).view(np.uint8)[:size]


def all_patterns(n: int) -> NDArray[np.uint8]:
    """Every pattern of n bits, shape (2**n, n), in counting order.

    Examples
    --------
    >>> all_patterns(2)
    array([[0, 0],
           [0, 1],
           [1, 0],
           [1, 1]], dtype=uint8)
    """
    return (np.arange(2**n)[:, None] >> np.arange(n)[::-1] & 1).astype(np.uint8)


def linear_rule(weights: Floats, probs: Floats) -> tuple[Floats, float]:
    """Bayes rule for attribute 0 of a two-component mixture as a linear rule (Grove & Roth 1997, §5).

    With ℓ(x) the log-odds of z = 1 given the other attributes, P(x_0 = 1 | x) = q_0 + δ_0 σ(ℓ(x)) is monotone in ℓ,
    so it exceeds 1/2 iff sign(δ_0)(ℓ(x) − logit t) > 0 with t = (1/2 − q_0) / δ_0; outside 0 < t < 1 the rule is
    constant.

    Returns
    -------
    coefficients : array (n,)
    intercept : float
        The rule is 1 iff x · coefficients + intercept > 0.
    """
    (q_0, p_0), (q, p) = probs[0], probs[1:].T
    if not min(p_0, q_0) < 0.5 < max(p_0, q_0):
        constant = 1.0 if weights @ probs[0] > 0.5 else -1.0
        return np.zeros(p.size), constant
    prior = floored_log(weights[1]) - floored_log(weights[0])
    absent = (floored_log(1 - p) - floored_log(1 - q)).sum()
    # logit t, with t = (1/2 − q_0)/(p_0 − q_0), needs no division
    threshold = np.log(abs(0.5 - q_0)) - np.log(abs(p_0 - 0.5))
    sign = np.sign(p_0 - q_0)
    return sign * (logit(p) - logit(q)), float(sign * (prior + absent - threshold))
