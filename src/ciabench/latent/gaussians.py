"""Gaussian classes for eight sets of parameters at once: coefficients of the features of `numbers`, and the M step.

After its weight and probabilities a class has, in `theta`, the mean and log standard deviation of every numeric column
if the covariance is diagonal. If it is full: all means, then the rows of the Cholesky factor L of the covariance, with
the logarithms of its diagonal, so that every value stands for a covariance and can be extrapolated.

With a full covariance, missing numbers enter the M step by their conditional means and covariances: given the observed
ones x_o a missing one is a + B x_o + noise, with B = Σ_mo Σ_oo⁻¹, so that expected sums over the rows of a pattern
follow from those of the observed features. Matrices are factored without square roots, as L D Lᵀ.
"""

from typing import Any

import numpy as np
from numba import njit

from ciabench.arrays import Floats
from ciabench.latent.elementary import exp_either, larger, log_positive
from ciabench.latent.lanes import choose, load, spread, store
from ciabench.latent.numbers import Numbers

VARIANCE_FLOOR = 1e-6
"""Least variance of a class, as a share of the column's variance, and least pivot of a full covariance."""

LOG_FLOOR = 0.5 * np.log(VARIANCE_FLOOR)

FEWEST = 1e-8
"""A class with a smaller expected count keeps its mean and covariance."""

HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)

MATRICES, VECTORS = 6, 4
"""Numbers of m × m matrices and of m-vectors among the scratch lines."""

COVARIANCE, FACTOR, INVERSE, SLOPES, PRODUCTS, SECOND = range(MATRICES)
FIRST, LEVEL, EXPECTED, SCALED = range(VECTORS)


@njit(error_model="numpy")
def at(n: int, matrix: int, d: int, e: int) -> int:
    """Scratch line of an element of a matrix."""
    return (matrix * n + d) * n + e


@njit(error_model="numpy")
def vector_at(n: int, vector: int, d: int) -> int:
    """Scratch line of an element of a vector."""
    return MATRICES * n * n + vector * n + d


@njit(error_model="numpy")
def product_feature(n: int, d: int, e: int) -> int:
    """Feature x_d x_e."""
    high, low = max(d, e), min(d, e)
    return 1 + n + high * (high + 1) // 2 + low


@njit(error_model="numpy")
def score_diagonal(theta: Floats, base: int, d: int, lines: Floats, first: int) -> Any:
    """Set the coefficients of x_d and x_d²; return the constant."""
    mean, log_scale = load(theta, base + 2 * d), load(theta, base + 2 * d + 1)
    precision = exp_either(-2.0 * log_scale)
    store(lines, first + 2 * d, mean * precision)
    store(lines, first + 2 * d + 1, -0.5 * precision)
    return spread(-HALF_LOG_2PI) - log_scale - 0.5 * mean * mean * precision


@njit(error_model="numpy")
def reestimate_diagonal(theta: Floats, updated: Floats, line: int, count: Any, total: Any, squares: Any) -> None:
    """Mean and log standard deviation, at `line`, from an expected count, a sum and a sum of squares."""
    share = 1.0 / larger(count, spread(FEWEST))
    mean = total * share
    variance = larger(squares * share - mean * mean, spread(VARIANCE_FLOOR))
    is_enough = spread(FEWEST)
    store(updated, line, choose(count, is_enough, mean, load(theta, line)))
    store(updated, line + 1, choose(count, is_enough, 0.5 * log_positive(variance), load(theta, line + 1)))


@njit(error_model="numpy")
def set_covariance(n: int, theta: Floats, base: int, scratch: Floats) -> None:
    """Covariance L Lᵀ of the factor in `theta`."""
    place = base + n
    for d in range(n):
        for e in range(d):
            store(scratch, at(n, FACTOR, d, e), load(theta, place + e))
        store(scratch, at(n, FACTOR, d, d), exp_either(load(theta, place + d)))
        place += d + 1
    for d in range(n):
        for e in range(d + 1):
            total = spread(0.0)
            for f in range(e + 1):
                total += load(scratch, at(n, FACTOR, d, f)) * load(scratch, at(n, FACTOR, e, f))
            store(scratch, at(n, COVARIANCE, d, e), total)
            store(scratch, at(n, COVARIANCE, e, d), total)


@njit(error_model="numpy")
def factorize(n: int, source: int, observed: Any, least: float, scratch: Floats) -> None:
    """Factor L D Lᵀ of the observed part of a matrix; pivots are at least `least`, and D is on the diagonal."""
    for j in range(n):
        if not observed[j]:
            continue
        for i in range(j, n):
            if not observed[i]:
                continue
            total = load(scratch, at(n, source, i, j))
            for q in range(j):
                if observed[q]:
                    pivot = load(scratch, at(n, FACTOR, q, q))
                    total -= load(scratch, at(n, FACTOR, i, q)) * load(scratch, at(n, FACTOR, j, q)) * pivot
            if i == j:
                store(scratch, at(n, FACTOR, j, j), larger(total, spread(least)))
            else:
                store(scratch, at(n, FACTOR, i, j), total / load(scratch, at(n, FACTOR, j, j)))


@njit(error_model="numpy")
def invert(n: int, observed: Any, scratch: Floats) -> Any:
    """Inverse of the observed part of the covariance; return the logarithm of its determinant."""
    factorize(n, COVARIANCE, observed, 1e-300, scratch)
    log_determinant = spread(0.0)
    for j in range(n):
        if not observed[j]:
            continue
        log_determinant += log_positive(load(scratch, at(n, FACTOR, j, j)))
        store(scratch, at(n, PRODUCTS, j, j), spread(1.0))
        for i in range(j + 1, n):
            if observed[i]:
                total = spread(0.0)
                for q in range(j, i):
                    if observed[q]:
                        total -= load(scratch, at(n, FACTOR, i, q)) * load(scratch, at(n, PRODUCTS, q, j))
                store(scratch, at(n, PRODUCTS, i, j), total)
    for i in range(n):
        for j in range(i + 1):
            if observed[i] and observed[j]:
                total = spread(0.0)
                for q in range(i, n):
                    if observed[q]:
                        product = load(scratch, at(n, PRODUCTS, q, i)) * load(scratch, at(n, PRODUCTS, q, j))
                        total += product / load(scratch, at(n, FACTOR, q, q))
                store(scratch, at(n, INVERSE, i, j), total)
                store(scratch, at(n, INVERSE, j, i), total)
    return log_determinant


@njit(error_model="numpy")
def score_full(
    numbers: Numbers, theta: Floats, base: int, lines: Floats, first: int, step: int, scratch: Floats
) -> None:
    """Set the coefficients of a class for every pattern; those of pattern p begin at line `first` + p · `step`."""
    n = numbers.values.shape[1]
    set_covariance(n, theta, base, scratch)
    for p in range(len(numbers.observed)):
        observed, start = numbers.observed[p], first + p * step
        constant = -0.5 * invert(n, observed, scratch)
        for f in range(numbers.totals.shape[1]):
            store(lines, start + f, spread(0.0))
        for d in range(n):
            if not observed[d]:
                continue
            slope = spread(0.0)
            for e in range(n):
                if observed[e]:
                    element = load(scratch, at(n, INVERSE, d, e))
                    slope += element * load(theta, base + e)
                    if e <= d:
                        store(lines, start + product_feature(n, d, e), (-0.5 if e == d else -1.0) * element)
            store(lines, start + 1 + d, slope)
            constant -= 0.5 * slope * load(theta, base + d)
            constant -= HALF_LOG_2PI
        store(lines, start, constant)


@njit(error_model="numpy")
def complete_sums(n: int, theta: Floats, base: int, observed: Any, counts: Floats, first: int, scratch: Floats) -> None:
    """Add a pattern's expected sums of all x and products, missing ones included, to FIRST and SECOND."""
    mass = load(counts, first)
    regress(n, theta, base, observed, scratch)
    for d in range(n):
        if observed[d]:
            expected = load(counts, first + 1 + d)
        else:
            expected = mass * load(scratch, vector_at(n, LEVEL, d))
            sloped = spread(0.0)
            for e in range(n):
                if observed[e]:
                    slope = load(scratch, at(n, SLOPES, d, e))
                    sloped += slope * load(counts, first + 1 + e)
                    product = spread(0.0)
                    for f in range(n):
                        if observed[f]:
                            square = load(counts, first + product_feature(n, e, f))
                            product += load(scratch, at(n, SLOPES, d, f)) * square
                    store(scratch, at(n, PRODUCTS, d, e), product)
            store(scratch, vector_at(n, SCALED, d), sloped)
            expected += sloped
        store(scratch, vector_at(n, EXPECTED, d), expected)
        line = vector_at(n, FIRST, d)
        store(scratch, line, load(scratch, line) + expected)
    for d in range(n):
        for e in range(d + 1):
            line = at(n, SECOND, d, e)
            store(scratch, line, load(scratch, line) + second_moment(n, observed, counts, first, d, e, scratch))


@njit(error_model="numpy")
def regress(n: int, theta: Floats, base: int, observed: Any, scratch: Floats) -> None:
    """Set slopes B and levels a of every missing number given the observed ones."""
    invert(n, observed, scratch)
    for d in range(n):
        if observed[d]:
            continue
        level = load(theta, base + d)
        for e in range(n):
            if observed[e]:
                slope = spread(0.0)
                for f in range(n):
                    if observed[f]:
                        slope += load(scratch, at(n, COVARIANCE, d, f)) * load(scratch, at(n, INVERSE, f, e))
                store(scratch, at(n, SLOPES, d, e), slope)
                level -= slope * load(theta, base + e)
        store(scratch, vector_at(n, LEVEL, d), level)


@njit(error_model="numpy")
def second_moment(n: int, observed: Any, counts: Floats, first: int, d: int, e: int, scratch: Floats) -> Any:
    """Expected sum of x_d x_e over the rows of a pattern."""
    if observed[d] and observed[e]:
        return load(counts, first + product_feature(n, d, e))
    if observed[d] != observed[e]:
        hidden, seen = (e, d) if observed[d] else (d, e)
        level = load(scratch, vector_at(n, LEVEL, hidden))
        return level * load(counts, first + 1 + seen) + load(scratch, at(n, PRODUCTS, hidden, seen))
    rest, total = load(scratch, at(n, COVARIANCE, d, e)), spread(0.0)
    for f in range(n):
        if observed[f]:
            slope = load(scratch, at(n, SLOPES, d, f))
            rest -= slope * load(scratch, at(n, COVARIANCE, f, e))
            total += load(scratch, at(n, PRODUCTS, d, f)) * load(scratch, at(n, SLOPES, e, f))
    total += load(counts, first) * rest
    total += load(scratch, vector_at(n, LEVEL, d)) * load(scratch, vector_at(n, EXPECTED, e))
    return total + load(scratch, vector_at(n, SCALED, d)) * load(scratch, vector_at(n, LEVEL, e))


@njit(error_model="numpy")
def reestimate_full(
    numbers: Numbers, theta: Floats, updated: Floats, base: int, counts: Floats, first: int, step: int, scratch: Floats
) -> None:
    """Means and factor of a class from the expected sums of every pattern, which begin at `first` + p · `step`."""
    n, mass = numbers.values.shape[1], spread(0.0)
    set_covariance(n, theta, base, scratch)
    for d in range(n):
        store(scratch, vector_at(n, FIRST, d), spread(0.0))
        for e in range(n):
            store(scratch, at(n, SECOND, d, e), spread(0.0))
    for p in range(len(numbers.observed)):
        mass += load(counts, first + p * step)
        complete_sums(n, theta, base, numbers.observed[p], counts, first + p * step, scratch)
    share, is_enough = 1.0 / larger(mass, spread(FEWEST)), spread(FEWEST)
    for d in range(n):
        mean = load(scratch, vector_at(n, FIRST, d)) * share
        store(scratch, vector_at(n, FIRST, d), mean)
        store(updated, base + d, choose(mass, is_enough, mean, load(theta, base + d)))
        for e in range(d + 1):
            line = at(n, SECOND, d, e)
            store(scratch, line, load(scratch, line) * share - mean * load(scratch, vector_at(n, FIRST, e)))
    factorize(n, SECOND, numbers.every, VARIANCE_FLOOR, scratch)
    place = base + n
    for d in range(n):
        for e in range(d + 1):
            log_scale = 0.5 * log_positive(load(scratch, at(n, FACTOR, e, e)))
            value = log_scale if e == d else load(scratch, at(n, FACTOR, d, e)) * exp_either(log_scale)
            store(updated, place + e, choose(mass, is_enough, value, load(theta, place + e)))
        place += d + 1
