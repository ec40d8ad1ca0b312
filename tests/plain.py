"""Slow, plain implementations of what `ciabench.latent` and `ciabench.probability` compute, from their definitions.

Nothing here is shared with the library but the containers of parameters and tables.
"""

from itertools import product as combinations

import numpy as np
from scipy.special import logsumexp, softmax

from ciabench.probability.product import Parameters

EDGE = 1e-15
"""Distance that probabilities keep from 0 and 1."""

LIGHT, LIGHT_OF_NUMBERS = 1e-100, 1e-8
"""Classes with a smaller expected count keep their probabilities, and their means and covariances."""

FLOOR = 1e-6
"""Least variance, and least pivot of a covariance, as a share of the column's variance."""


def log_joint(table, parameters):
    """Log P(x, z), (s, k); missing cells say nothing."""
    found = np.tile(np.log(parameters.weights), (len(table.codes), 1))
    for chances, codes in zip(parameters.tables, table.codes.T, strict=True):
        found += np.vstack([np.log(chances), np.zeros(found.shape[1])])[codes]
    patterns = ~np.isnan(table.numbers)
    for seen in np.unique(patterns, axis=0):
        if seen.any():
            rows = (patterns == seen).all(axis=1)
            for z in range(found.shape[1]):
                covariance = covariance_of(parameters, z)[np.ix_(seen, seen)]
                found[rows, z] += log_density(table.numbers[rows][:, seen] - parameters.means[seen, z], covariance)
    return found


def log_density(centred, covariance):
    """Log-density of a Gaussian of mean 0 at the rows of an array."""
    _, log_determinant = np.linalg.slogdet(2 * np.pi * covariance)
    return -0.5 * ((centred * np.linalg.solve(covariance, centred.T).T).sum(axis=1) + log_determinant)


def covariance_of(parameters, z):
    """Covariance matrix of a class."""
    return parameters.covariances[z] if parameters.is_full else np.diag(parameters.covariances[z])


def log_prior(parameters, smoothing):
    """Logarithm of the prior, up to a constant."""
    return smoothing * (np.log(parameters.weights).sum() + sum(np.log(one).sum() for one in parameters.tables))


def column_variances(numbers, counts):
    """Weighted variances of the observed numbers."""
    found = []
    for column in numbers.T:
        seen = ~np.isnan(column)
        found.append(np.cov(column[seen], aweights=counts[seen], ddof=0))
    return np.array(found)


def em_path(table, counts, parameters, n_steps, smoothing=0.0):
    """Objectives at the start and after each of the first steps of EM but the last; and the parameters there."""
    objectives, passed, variances = [], [], column_variances(table.numbers, counts)
    for _ in range(n_steps):
        joint = log_joint(table, parameters)
        objectives.append(counts @ logsumexp(joint, axis=1) + log_prior(parameters, smoothing))
        passed.append(parameters)
        parameters = m_step(table, counts[:, None] * softmax(joint, axis=1), parameters, smoothing, variances)
    return np.array(objectives), passed


def m_step(table, chances, old, smoothing, variances):
    """Parameters that maximise the expected complete log-likelihood, given counts · P(z | x)."""
    masses = chances.sum(axis=0) + smoothing
    tables = []
    for column, before in enumerate(old.tables):
        levels = np.arange(len(before))
        counts = (table.codes[:, column] == levels[:, None]) @ chances + smoothing
        total = counts.sum(axis=0)
        tables.append(kept_inside(np.where(total > LIGHT, counts / np.maximum(total, LIGHT), before)))
    means, covariances = old.means.copy(), old.covariances.copy()
    for z in range(masses.size if len(means) else 0):
        mean, covariance, mass = moments_of(table.numbers, chances[:, z], old, z)
        enough = mass > LIGHT_OF_NUMBERS
        means[:, z] = np.where(enough, mean, old.means[:, z])
        if old.is_full and enough.all():
            covariances[z] = floored(covariance, np.sqrt(variances))
        elif not old.is_full:
            covariances[z] = np.where(enough, np.maximum(covariance, FLOOR * variances), old.covariances[z])
    return Parameters(np.maximum(masses / masses.sum(), EDGE), tuple(tables), means, covariances)


def kept_inside(chances):
    """Probabilities (levels, k) of which all but the first level's keep their distance from 0 and 1."""
    others = np.clip(chances[1:], EDGE, 1 - EDGE)
    return np.vstack([np.maximum(1 - others.sum(axis=0), EDGE), others])


def moments_of(numbers, chances, old, z):
    """Expected means and covariances, or variances, in a class, and the mass that each number's are of."""
    seen, filled, noise = ~np.isnan(numbers), np.nan_to_num(numbers), 0.0
    if not old.is_full:
        mass = chances @ seen
        mean = chances @ filled / np.maximum(mass, LIGHT)
        return mean, chances @ (seen * (filled - mean) ** 2) / np.maximum(mass, LIGHT), mass
    covariance, centre, mass = old.covariances[z], old.means[:, z], chances.sum() * np.ones(numbers.shape[1])
    filled = filled.copy()
    for row, (known, chance) in enumerate(zip(seen, chances, strict=True)):
        hidden = ~known
        slopes = np.linalg.solve(covariance[np.ix_(known, known)], covariance[np.ix_(known, hidden)]).T
        filled[row, hidden] = centre[hidden] + slopes @ (numbers[row, known] - centre[known])
        rest = np.zeros_like(covariance)
        rest[np.ix_(hidden, hidden)] = covariance[np.ix_(hidden, hidden)] - slopes @ covariance[np.ix_(known, hidden)]
        noise += chance * rest
    mean = chances @ filled / np.maximum(chances.sum(), LIGHT)
    centred = filled - mean
    return mean, ((centred.T * chances) @ centred + noise) / np.maximum(chances.sum(), LIGHT), mass


def floored(covariance, deviations):
    """The covariance with the pivots of L D Lᵀ, on the scale of standard deviations, kept above the floor."""
    scaled, size = covariance / np.outer(deviations, deviations), len(deviations)
    lower, pivots = np.eye(size), np.zeros(size)
    for j in range(size):
        pivots[j] = max(scaled[j, j] - lower[j, :j] ** 2 @ pivots[:j], FLOOR)
        for i in range(j + 1, size):
            lower[i, j] = (scaled[i, j] - (lower[i, :j] * lower[j, :j]) @ pivots[:j]) / pivots[j]
    return lower @ np.diag(pivots) @ lower.T * np.outer(deviations, deviations)


def joint_states(tables, parents):
    """P of every joint state; tables have an axis per parent and, last, the variable's own."""
    sizes = [table.shape[-1] for table in tables]
    found = np.ones(sizes)
    for state in combinations(*map(range, sizes)):
        for own, (table, above) in enumerate(zip(tables, parents, strict=True)):
            found[state] *= table[(*(state[one] for one in above), state[own])]
    return found


def possible(joint, row):
    """The joint with all states removed that contradict a row, in which −1 is missing."""
    mask = np.zeros_like(joint)
    mask[tuple(slice(None) if state < 0 else state for state in row)] = 1.0
    return joint * mask


def network_path(rows, counts, tables, parents, n_steps, smoothing=0.0):
    """As `em_path`, for a belief network, by sums over all joint states."""
    objectives, passed = [], []
    for _ in range(n_steps):
        joint = joint_states(tables, parents)
        prior = sum(np.log(table).sum() for table in tables) if smoothing else 0.0
        expected, objective = np.zeros_like(joint), smoothing * prior
        for row, count in zip(rows[counts > 0], counts[counts > 0], strict=True):
            chances = possible(joint, row)
            expected += count * chances / chances.sum()
            objective += count * np.log(chances.sum())
        objectives.append(objective)
        passed.append(tables)
        tables = [
            shares_of(expected, (*above, own), smoothing, before)
            for own, (before, above) in enumerate(zip(tables, parents, strict=True))
        ]
    return np.array(objectives), passed


def shares_of(expected, family, smoothing, before):
    """P(last of the family | the others) from expected counts of joint states."""
    order = [*family, *(one for one in range(expected.ndim) if one not in family)]
    counts = expected.transpose(order).reshape(*before.shape, -1).sum(axis=-1) + smoothing
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > LIGHT, counts / np.maximum(total, LIGHT), before)


def network_posterior(joint, row, variable):
    """P(variable | the other observed states of a row)."""
    asked = [-1 if one == variable else state for one, state in enumerate(row)]
    chances = possible(joint, asked).sum(axis=tuple(one for one in range(joint.ndim) if one != variable))
    return chances / chances.sum()
