"""Mixtures over tables: in each class discrete columns are independent, and numeric ones Gaussian.

The table is a `Coded`: codes of levels, and numbers. Missing cells are summed out, exactly.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve_triangular

from ciabench.arrays import Coded, Floats
from ciabench.probability.bernoulli import floored_log

FURTHEST = 1e300
"""Largest squared distance from a mean, in variances; anything further away is taken as this far."""


class Parameters(NamedTuple):
    """Parameters of a mixture with k classes.

    Parameters
    ----------
    weights : array (k,)
        P(z).
    tables : tuple of arrays (levels, k)
        P(level | z) of every discrete column.
    means : array (m, k)
        Means of the numeric columns.
    covariances : array (k, m) or (k, m, m)
        Their variances, or covariance matrices.
    """

    weights: Floats
    tables: tuple[Floats, ...]
    means: Floats
    covariances: Floats

    @property
    def is_full(self) -> bool:
        """Whether the numeric columns of a class depend on each other."""
        return self.covariances.ndim == 3

    @property
    def n_free(self) -> int:
        """Number of free parameters."""
        n_numbers, n_classes = self.means.shape
        n_scales = n_numbers * (n_numbers + 1) // 2 if self.is_full else n_numbers
        n_levels = sum(len(table) - 1 for table in self.tables)
        return int((n_levels + n_numbers + n_scales) * n_classes + n_classes - 1)

    def classes(self, order: NDArray[np.intp]) -> "Parameters":
        """The same mixture with its classes in another order."""
        tables = tuple(table[:, order] for table in self.tables)
        return Parameters(self.weights[order], tables, self.means[:, order], self.covariances[order])

    def without(self, column: int) -> "Parameters":
        """The mixture of all columns but a discrete one."""
        return self._replace(tables=self.tables[:column] + self.tables[column + 1 :])


def log_joint(table: Coded, parameters: Parameters) -> Floats:
    """Log P(x, z) of every row and class, (s, k).

    Examples
    --------
    >>> table = Coded(np.array([[0], [2], [3]]), np.array([3]), np.array([[1.0], [np.nan], [0.0]]))
    >>> chances = np.array([[0.5, 0.1], [0.25, 0.1], [0.25, 0.8]])
    >>> mixture = Parameters(np.array([0.5, 0.5]), (chances,), np.array([[0.0, 1.0]]), np.array([[1.0], [1.0]]))
    >>> np.exp(log_joint(table, mixture)).round(4).tolist()
    [[0.0605, 0.0199], [0.125, 0.4], [0.1995, 0.121]]
    """
    joint: Floats = np.tile(floored_log(parameters.weights), (table.n_rows, 1))
    if sparse.issparse(table.codes):
        of_columns = [floored_log(one) for one in parameters.tables]
        joint += sum(one[0] for one in of_columns)
        joint += table.codes @ np.concatenate([one[1:] - one[0] for one in of_columns])
        return joint
    for column, probs in enumerate(parameters.tables):
        logs = np.vstack([floored_log(probs), np.zeros(parameters.weights.size)])
        joint += logs[table.codes[:, column]]
    if parameters.means.size:
        joint += log_densities(table.numbers, parameters)
    return joint


def log_densities(numbers: Floats, parameters: Parameters) -> Floats:
    """Log-density of the observed numbers of every row in every class, (s, k)."""
    if not parameters.is_full:
        total = np.zeros((len(numbers), parameters.weights.size))
        for x, mean, variance in zip(numbers.T, parameters.means, parameters.covariances.T, strict=True):
            with np.errstate(over="ignore"):
                distance = np.minimum((x[:, None] - mean) ** 2 / variance, FURTHEST)
            density = -0.5 * (np.log(2 * np.pi * variance) + distance)
            total += np.where(np.isnan(x)[:, None], 0.0, density)
        return total
    found = np.empty((len(numbers), parameters.weights.size))
    for rows, observed in patterns(numbers):
        for z, covariance in enumerate(parameters.covariances):
            factor = np.linalg.cholesky(covariance[np.ix_(observed, observed)])
            centred = numbers[np.ix_(rows, observed)] - parameters.means[observed, z]
            scaled = solve_triangular(factor, centred.T, lower=True)
            constant = np.log(np.diag(factor)).sum() + 0.5 * observed.size * np.log(2 * np.pi)
            with np.errstate(over="ignore", invalid="ignore"):
                distance = np.fmin((scaled**2).sum(axis=0), FURTHEST)
            found[rows, z] = -0.5 * distance - constant
    return found


def patterns(numbers: Floats) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows that have the same numbers observed, and the positions of these."""
    distinct, owners = np.unique(np.isnan(numbers), axis=0, return_inverse=True)
    for pattern, is_missing in enumerate(distinct):
        yield np.flatnonzero(owners.ravel() == pattern), np.flatnonzero(~is_missing)


def draw(parameters: Parameters, size: int, rng: np.random.Generator) -> tuple[Coded, NDArray[np.intp]]:
    """Draw `size` complete rows and their classes."""
    hidden = rng.choice(parameters.weights.size, size, p=parameters.weights / parameters.weights.sum())
    n_levels = np.array([len(table) for table in parameters.tables], dtype=np.int64)
    codes = np.empty((size, n_levels.size), dtype=np.uint8 if n_levels.max(initial=0) < 255 else np.uint16)
    for column, table in enumerate(parameters.tables):
        bounds = np.cumsum(table, axis=0)[:-1]
        codes[:, column] = (rng.random(size)[:, None] >= bounds.T[hidden]).sum(axis=1)
    means, noise = parameters.means, rng.standard_normal((size, parameters.means.shape[0]))
    if parameters.is_full:
        noise = np.einsum("sde,se->sd", np.linalg.cholesky(parameters.covariances)[hidden], noise)
    else:
        noise *= np.sqrt(parameters.covariances)[hidden]
    return Coded(codes, n_levels, means.T[hidden] + noise), hidden


def draw_like(table: Coded, parameters: Parameters, rng: np.random.Generator) -> Coded:
    """Draw as many rows as a table has, with the same cells missing."""
    drawn, _ = draw(parameters, table.n_rows, rng)
    codes = np.where(table.codes == table.n_levels, table.codes, drawn.codes)
    return Coded(codes, table.n_levels, np.where(np.isnan(table.numbers), np.nan, drawn.numbers))
