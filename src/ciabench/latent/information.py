"""Standard errors of a mixture: the observed information, on a scale without bounds.

The parameters are logits of the weights and of the levels, each against the largest; means; and logarithms of standard
deviations, or the elements of a log-Cholesky factor. Levels and weights within 1e-4 of 0 are fixed. The information is
the derivative, by central differences, of the score, which is exact: by Louis' identity it is the expected score of
the complete data.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ciabench.arrays import Coded, Floats
from ciabench.probability.product import Parameters, log_joint, patterns

BOUNDARY = 1e-4
"""Probabilities nearer to 0 than this are left out."""

STEP = 1e-5


class Free(NamedTuple):
    """Which entries of the weights and tables are parameters: all but fixed ones and the largest of a class."""

    weights: NDArray[np.bool_]
    tables: tuple[NDArray[np.bool_], ...]


def free_entries(parameters: Parameters) -> Free:
    """Entries that are neither at the boundary nor the largest of their class."""
    weights = parameters.weights >= BOUNDARY
    weights[parameters.weights.argmax()] = False
    tables = []
    for table in parameters.tables:
        is_free = table >= BOUNDARY
        is_free[table.argmax(axis=0), np.arange(table.shape[1])] = False
        tables.append(is_free & (parameters.weights >= BOUNDARY))
    return Free(weights, tuple(tables))


def score(table: Coded, counts: Floats, parameters: Parameters, free: Free) -> Floats:
    """Derivative of the log-likelihood by all free parameters."""
    joint = log_joint(table, parameters)
    chances = softmax(joint, axis=1) * counts[:, None]
    masses = chances.sum(axis=0)
    parts = [(masses - masses.sum() * parameters.weights)[free.weights]]
    for column, (probs, is_free) in enumerate(zip(parameters.tables, free.tables, strict=True)):
        codes = table.codes[:, column]
        sums = np.stack([np.bincount(codes, chances[:, z], len(probs) + 1)[:-1] for z in range(masses.size)], axis=1)
        parts.append((sums - sums.sum(axis=0) * probs)[is_free])
    if parameters.means.size:
        parts += _score_numbers(table.numbers, chances, parameters)
    return np.concatenate(parts)


def _score_numbers(numbers: Floats, chances: Floats, parameters: Parameters) -> list[Floats]:
    """Derivatives by means and log standard deviations, or by means and covariances."""
    if not parameters.is_full:
        centred = numbers[:, :, None] - parameters.means
        ratios = centred / parameters.covariances.T
        is_observed = ~np.isnan(centred)
        weights = chances[:, None, :] * is_observed
        means = np.where(is_observed, ratios, 0.0) * weights
        scales = np.where(is_observed, ratios * centred - 1, 0.0) * weights
        return [means.sum(axis=0).ravel(), scales.sum(axis=0).ravel()]
    means, covariances = np.zeros_like(parameters.means), np.zeros_like(parameters.covariances)
    for rows, observed in patterns(numbers):
        for z, covariance in enumerate(parameters.covariances):
            inverse = np.linalg.inv(covariance[np.ix_(observed, observed)])
            scaled = (numbers[np.ix_(rows, observed)] - parameters.means[observed, z]) @ inverse
            weights = chances[rows, z]
            means[observed, z] += weights @ scaled
            covariances[z][np.ix_(observed, observed)] += (scaled.T * weights) @ scaled - weights.sum() * inverse
    lower = np.tril_indices(len(means))
    halves = np.where(lower[0] == lower[1], 0.5, 1.0)
    return [means.ravel(), (covariances[:, lower[0], lower[1]] * halves).ravel()]


def moved(parameters: Parameters, free: Free, change: Floats) -> Parameters:
    """Parameters after a change of the free ones."""
    logits, tables = np.log(np.maximum(parameters.weights, 1e-300)), []
    n_weights = int(free.weights.sum())
    logits[free.weights] += change[:n_weights]
    place = n_weights
    for probs, is_free in zip(parameters.tables, free.tables, strict=True):
        levels = np.log(np.maximum(probs, 1e-300))
        levels[is_free] += change[place : place + is_free.sum()]
        place += int(is_free.sum())
        tables.append(softmax(levels, axis=0))
    n_means = parameters.means.size
    means = parameters.means + change[place : place + n_means].reshape(parameters.means.shape)
    rest, covariances = change[place + n_means :], parameters.covariances
    if parameters.is_full:
        n_numbers = len(parameters.means)
        lower, added = np.tril_indices(n_numbers), np.zeros_like(covariances)
        added[:, lower[0], lower[1]] = rest.reshape(len(covariances), -1)
        covariances = covariances + added + np.tril(added, -1).transpose(0, 2, 1)
    elif n_means:
        covariances = covariances * np.exp(2 * rest.reshape(parameters.means.shape)).T
    return Parameters(softmax(logits), tuple(tables), means, covariances)


def scales_of(parameters: Parameters, free: Free) -> Floats:
    """Size of a step in every free parameter: 1 for logits, standard deviations for means, and so on."""
    n_logits = int(free.weights.sum()) + sum(int(one.sum()) for one in free.tables)
    deviations = np.sqrt(
        np.diagonal(parameters.covariances, axis1=1, axis2=2) if parameters.is_full else parameters.covariances
    )
    if not parameters.is_full:
        return np.concatenate([np.ones(n_logits), deviations.T.ravel(), np.ones(deviations.size)])
    rows, columns = np.tril_indices(len(parameters.means))
    products = deviations[:, rows] * deviations[:, columns]
    return np.concatenate([np.ones(n_logits), deviations.T.ravel(), products.ravel()])


def information(table: Coded, counts: Floats, parameters: Parameters, free: Free) -> Floats:
    """Observed information (p, p) of the free parameters."""
    scales = scales_of(parameters, free)
    found = np.empty((scales.size, scales.size))
    for i, scale in enumerate(scales):
        change = np.zeros(scales.size)
        change[i] = STEP * scale
        ahead, behind = (score(table, counts, moved(parameters, free, sign * change), free) for sign in (1, -1))
        found[i] = (behind - ahead) / (2 * STEP * scale)
    symmetric: Floats = (found + found.T) / 2
    return symmetric
