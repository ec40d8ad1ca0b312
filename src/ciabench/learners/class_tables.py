"""Tables about fitted classes: profiles, standard errors, bivariate residuals."""

import warnings
from contextlib import suppress
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from ciabench.arrays import Coded, Floats
from ciabench.columns import Columns
from ciabench.errors import BoundaryWarning
from ciabench.latent.information import BOUNDARY, Free, free_entries, information
from ciabench.latent.pieces import distinct
from ciabench.probability.product import Parameters

if TYPE_CHECKING:
    import pandas as pd

QUANTILE = float(norm.ppf(0.975))


def profiles(columns: Columns, parameters: Parameters) -> "pd.DataFrame":
    """Rows by column and level, one column per class."""
    import pandas as pd

    found: dict[tuple[Any, Any], Floats] = {("class", "share"): parameters.weights}
    tables, numeric = iter(parameters.tables), 0
    for column in columns.columns:
        if column.is_numeric:
            found[column.name, "mean"] = parameters.means[numeric]
            found[column.name, "sd"] = np.sqrt(_variances(parameters)[numeric])
            numeric += 1
        else:
            found.update(
                {(column.name, shown(level)): line for level, line in zip(column.levels, next(tables), strict=False)}
            )
    index = pd.MultiIndex.from_tuples(list(found), names=["column", "level"])
    return pd.DataFrame(np.array(list(found.values())), index=index).rename_axis(columns="class")


def shown(level: Any) -> Any:
    """A level as a table shows it: True as text, because an index of pandas takes it for the 1 of another column."""
    return str(level) if isinstance(level, bool) else level


def _variances(parameters: Parameters) -> Floats:
    """Variances (m, k)."""
    covariances = parameters.covariances
    return np.diagonal(covariances, axis1=1, axis2=2).T if parameters.is_full else covariances.T


def standard_errors(columns: Columns, table: Coded, counts: Floats, parameters: Parameters) -> "pd.DataFrame":
    """One row per parameter: column, level, class, estimate, standard_error, low, high; NaN at the boundary."""
    import pandas as pd

    free = free_entries(parameters)
    centres = np.nanmean(table.numbers, axis=0)  # the information is that of centred numbers, whose digits all count
    if not table.numbers.shape[1]:
        codes, counts = distinct(table.codes, table.n_levels + 1, counts)
        table = Coded(codes, table.n_levels, np.empty((len(codes), 0)))
    centred = parameters._replace(means=parameters.means - centres[:, None])
    found = information(table._replace(numbers=table.numbers - centres), counts, centred, free)
    covariance: Floats = np.full_like(found, np.nan)
    with suppress(np.linalg.LinAlgError):
        np.linalg.cholesky(found)
        covariance = np.asarray(np.linalg.inv(found), dtype=np.float64)
    _warn(parameters, covariance)
    rows = _weight_rows(parameters, free, covariance) + _level_rows(columns, parameters, free, covariance)
    rows += _number_rows(columns, parameters, free, covariance)
    names = ["column", "level", "class", "estimate", "standard_error", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def _warn(parameters: Parameters, covariance: Floats) -> None:
    values = [parameters.weights, *(table.ravel() for table in parameters.tables if len(table) > 1)]
    n_outside = int((np.concatenate(values) < BOUNDARY).sum())
    if np.isnan(covariance).any():
        text = (
            "the information is not positive definite, so that there are no standard errors; is the model identified?"
        )
        warnings.warn(text, BoundaryWarning, stacklevel=5)
    elif n_outside:
        text = (
            f"{n_outside} probabilities are at the boundary and have no standard error; other intervals may be "
            "too short; refit samples of the fitted model (a bootstrap) to check them."
        )
        warnings.warn(text, BoundaryWarning, stacklevel=5)


def _shares(values: Floats, is_free: Any, covariance: Floats) -> list[tuple[float, float, float, float]]:
    """Estimates, standard errors and intervals of probabilities, from the covariance of their free logits."""
    slopes = -np.outer(values, values)[:, is_free]
    slopes[is_free, np.arange(slopes.shape[1])] += values[is_free]
    errors = np.sqrt(np.einsum("ij,jk,ik->i", slopes, covariance, slopes))
    rows = []
    for value, error in zip(values, errors, strict=True):
        if BOUNDARY <= value <= 1 - BOUNDARY and values.size > 1:
            logit, spread = np.log(value / (1 - value)), QUANTILE * error / (value * (1 - value))
            rows.append((value, error, expit(logit - spread), expit(logit + spread)))
        else:
            rows.append((value, np.nan, np.nan, np.nan))
    return rows


def _weight_rows(parameters: Parameters, free: Free, covariance: Floats) -> list[tuple[Any, ...]]:
    n_free = int(free.weights.sum())
    shares = _shares(parameters.weights, free.weights, covariance[:n_free, :n_free])
    return [("class", "share", z, *values) for z, values in enumerate(shares)]


def _level_rows(columns: Columns, parameters: Parameters, free: Free, covariance: Floats) -> list[tuple[Any, ...]]:
    rows, place = [], int(free.weights.sum())
    for column, probs, is_free in zip(columns.discrete, parameters.tables, free.tables, strict=True):
        positions = np.full(is_free.shape, -1)
        positions[is_free] = place + np.arange(is_free.sum())
        place += int(is_free.sum())
        for z in range(probs.shape[1]):
            own = positions[is_free[:, z], z]
            shares = _shares(probs[:, z], is_free[:, z], covariance[np.ix_(own, own)])
            rows += [(column.name, shown(level), z, *one) for level, one in zip(column.levels, shares, strict=False)]
    return rows


def _number_rows(columns: Columns, parameters: Parameters, free: Free, covariance: Floats) -> list[tuple[Any, ...]]:
    """Means, and standard deviations on the log scale."""
    rows, errors = [], np.sqrt(np.diag(covariance))
    n_numbers, n_classes = parameters.means.shape
    first = int(free.weights.sum()) + sum(int(one.sum()) for one in free.tables)
    variances, n_lower = _variances(parameters), n_numbers * (n_numbers + 1) // 2
    for d, column in enumerate(columns.numeric):
        for z in range(n_classes):
            mean, error = parameters.means[d, z], errors[first + d * n_classes + z]
            rows.append((column.name, "mean", z, mean, error, mean - QUANTILE * error, mean + QUANTILE * error))
        for z in range(n_classes):
            deviation = float(np.sqrt(variances[d, z]))
            if parameters.is_full:
                place = first + n_numbers * n_classes + z * n_lower + d * (d + 3) // 2
                log_error = errors[place] / (2 * variances[d, z])
            else:
                log_error = errors[first + n_numbers * n_classes + d * n_classes + z]
            low, high = deviation * np.exp(-QUANTILE * log_error), deviation * np.exp(QUANTILE * log_error)
            rows.append((column.name, "sd", z, deviation, deviation * log_error, low, high))
    return rows


def bivariate_residuals(columns: Columns, table: Coded, counts: Floats, parameters: Parameters) -> "pd.DataFrame":
    """Pairs of columns with χ² / degrees of freedom, the largest first."""
    import pandas as pd

    names = [column.name for column in (*columns.discrete, *columns.numeric)]
    codes, tables = _cut_at_medians(table, parameters)
    n_discrete, rows = len(columns.discrete), []
    for i, j in combinations(range(len(names)), 2):
        if parameters.is_full and i >= n_discrete:
            continue
        shape = len(tables[i]), len(tables[j])
        if min(shape) < 2:
            continue
        both = (codes[i] < shape[0]) & (codes[j] < shape[1])
        pairs = np.bincount(codes[i][both] * shape[1] + codes[j][both], counts[both], shape[0] * shape[1])
        expected = counts[both].sum() * (tables[i] * parameters.weights) @ tables[j].T
        observed = pairs.reshape(shape)
        terms = np.divide((observed - expected) ** 2, expected, out=np.zeros(shape), where=expected > 0)
        rows.append((names[i], names[j], terms.sum() / ((shape[0] - 1) * (shape[1] - 1))))
    found = pd.DataFrame(rows, columns=["first", "second", "residual"])
    return found.sort_values("residual", ascending=False, ignore_index=True)


def _cut_at_medians(table: Coded, parameters: Parameters) -> tuple[list[Any], list[Floats]]:
    """Codes and tables of all columns; a number is above its median or not."""
    codes, tables = list(table.codes.astype(np.intp).T), list(parameters.tables)
    for d, numbers in enumerate(table.numbers.T):
        median = np.nanmedian(numbers)
        codes.append(np.where(np.isnan(numbers), 2, numbers > median).astype(np.intp))
        above = norm.sf(median, parameters.means[d], np.sqrt(_variances(parameters)[d]))
        tables.append(np.vstack([1 - above, above]))
    return codes, tables
