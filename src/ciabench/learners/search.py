"""What estimators report about their search for the best optimum."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ciabench.errors import FloorWarning, ParameterError, SearchWarning, check_between, check_integer

MANY_RESTARTS = 5
"""Restarts from which on an optimum that only one of them reached is reported."""


def warn_of_the_search(estimator: Any, is_on_floor: bool = False) -> None:
    """Warn, from `fit`, if the best restart did not converge, has no variance left, or alone reached its optimum."""
    n_restarts = estimator.log_likelihoods_.size
    if not estimator.converged_:
        text = f"the best of {n_restarts} restarts did not converge in {estimator.max_iter} steps; raise max_iter."
        warnings.warn(text, ConvergenceWarning, stacklevel=3)
    elif is_on_floor:
        text = "every restart has a class with almost no variance in a numeric column; lower n_classes, or use kinds."
        warnings.warn(text, FloorWarning, stacklevel=3)
    elif n_restarts >= MANY_RESTARTS and not estimator.is_reproduced_:
        text = f"only one of {n_restarts} restarts reached the best optimum; a better one may exist; raise n_init."
        warnings.warn(text, SearchWarning, stacklevel=3)


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
    check_between("smoothing", estimator.smoothing, 0, np.finfo(float).max, closed=True)
