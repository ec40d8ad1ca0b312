"""What estimators report about their search for the best optimum."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ciabench.errors import FloorWarning, ParameterError, SearchWarning, check_between, check_integer
from ciabench.latent.fit import Mixture
from ciabench.learners.data import MOST_WEIGHT

MANY_RESTARTS = 5
"""Restarts from which on an optimum that only one of them reached is reported."""

SINGLE = 1e-5
"""Share of its variance below which a single column, and not a combination of several, is at the floor."""


def warn_of_the_search(estimator: Any, mixture: Mixture | None = None) -> None:
    """Warn, from `fit`, if the best restart did not converge, has no variance left, or alone reached its optimum."""
    n_restarts = estimator.log_likelihoods_.size
    if not estimator.converged_:
        text = f"the best of {n_restarts} restarts did not converge in {estimator.max_iter} steps; raise max_iter."
        warnings.warn(text, ConvergenceWarning, stacklevel=3)
    elif mixture is not None and mixture.is_on_floor:
        warnings.warn(_floor(estimator, mixture), FloorWarning, stacklevel=3)
    elif n_restarts >= MANY_RESTARTS and not estimator.is_reproduced_:
        text = f"only one of {n_restarts} restarts reached the best optimum; a better one may exist; raise n_init."
        warnings.warn(text, SearchWarning, stacklevel=3)


def _floor(estimator: Any, mixture: Mixture) -> str:
    """Name the column, and the value, at which a class has the least variance."""
    parameters = mixture.parameters
    variances = np.diagonal(parameters.covariances, axis1=1, axis2=2) if mixture.is_full else parameters.covariances
    shares = variances / mixture.scale.spreads**2
    if shares.min() > SINGLE:
        return (
            "every restart has a class in which one numeric column is almost determined by others; lower n_classes, "
            'leave a column out, or use covariance="diag".'
        )
    place, column = np.unravel_index(shares.argmin(), shares.shape)
    name = [name for name, kind in estimator.kinds_.items() if kind == "numeric"][column]
    return (
        f"every restart has a class with almost no variance in a numeric column, such as {name!r} near "
        f"{parameters.means[column, place]:.6g}; if that value means missing, replace it with NaN; otherwise lower "
        "n_classes, or make the column categorical by kinds."
    )


def check_jobs(n_jobs: object) -> None:
    """Raise on an invalid number of threads."""
    if n_jobs is not None and not (isinstance(n_jobs, int) and n_jobs == -1):
        check_integer("n_jobs, unless it is None or -1,", n_jobs, 1)


def check_search(estimator: Any) -> None:
    """Raise on invalid `n_init`, `max_iter`, `accelerate`, `tol` or `smoothing`."""
    check_integer("n_init", estimator.n_init, 1)
    check_integer("max_iter", estimator.max_iter, 1)
    if not isinstance(estimator.accelerate, bool | np.bool_):
        raise ParameterError(f"accelerate must be True or False; got {estimator.accelerate!r}.")
    check_between("tol", estimator.tol, 0, np.inf)
    check_between("smoothing", estimator.smoothing, 0, MOST_WEIGHT, closed=True)
