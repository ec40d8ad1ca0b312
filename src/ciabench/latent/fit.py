"""Fit a mixture of product-Bernoullis by maximum likelihood: rows in, the best of many restarts out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ciabench.arrays import Floats
from ciabench.kernels import prepare_kernels
from ciabench.latent.mixture import log_likelihoods
from ciabench.latent.pieces import make_problem
from ciabench.latent.restarts import Random, maximize, random_starts

REPRODUCED = 1e-4
"""Restarts whose objective is this close to the best one count as having reached it."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """A fitted mixture of product-Bernoullis: the best of several restarts, and what became of the others.

    Attributes
    ----------
    weights : array (k,)
        P(z).
    probs : array (a, k)
        P(attribute i = 1 | z).
    log_likelihood : float
        Log-likelihood of the best restart, without the prior.
    log_likelihoods : array (n_init,)
        Log-likelihoods of all restarts, without the prior.
    n_best_reproduced : int
        Number of restarts whose objective came within 1e-4 of the best one, which is counted too.
    converged : bool
        Whether the best restart converged.
    n_iter : int
        E steps of the best restart.
    paths : list of arrays
        Objective (the log-likelihood plus the log prior) of each restart after each E step; where a jump was rejected,
        that of the step before it is repeated.
    n_samples : float
        Sum of the counts.
    """

    weights: Floats
    probs: Floats
    log_likelihood: float
    log_likelihoods: Floats
    n_best_reproduced: int
    converged: bool
    n_iter: int
    paths: list[Floats]
    n_samples: float

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return self.probs.size + self.weights.size - 1

    @property
    def aic(self) -> float:
        """Akaike's information criterion; lower is better."""
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Bayesian information criterion; lower is better."""
        return float(np.log(self.n_samples)) * self.n_parameters - 2 * self.log_likelihood


def fit_mixture(
    rows: Any,
    counts: ArrayLike,
    n_classes: int,
    *,
    random: Random,
    n_init: int = 20,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    accelerate: bool = True,
    smoothing: float = 0.0,
) -> Mixture:
    """Fit a mixture of product-Bernoullis by EM from many random starts.

    Parameters are not checked: this is the estimators' job.

    Parameters
    ----------
    rows : array (s, a) or sparse matrix (s, a)
        Complete rows as integers 0 and 1; rows with missing cells as floats 0, 1 and NaN; or a sparse matrix whose
        stored entries are all 1, which stays sparse.
    counts : array-like (s,)
        How often each row occurs: numbers of at least 0, not all 0, which need not be integers.
    n_classes : int
        Number k of hidden classes.
    random : RandomState or Generator
        Source of the random starts.
    n_init : int
        Number of random starts.
    tol : float
        A restart has converged when a plain EM step gains less than this; every second step is examined.
    max_iter : int
        Maximum number of E steps per restart.
    accelerate : bool
        Extrapolate by SQUAREM, with a guard under which the objective never falls.
    smoothing : float
        Pseudo-count added to every expected count (a Beta and Dirichlet prior); 0 is maximum likelihood.

    Returns
    -------
    Mixture
        The restart with the largest objective, the log-likelihood plus the log prior.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 0, 1]], dtype=np.uint8)
    >>> mixture = fit_mixture(rows, [40, 10, 40, 10], 2, random=np.random.RandomState(0))
    >>> mixture.weights.round(3)
    array([0.5, 0.5])
    >>> round(mixture.log_likelihood, 3), mixture.n_parameters, round(mixture.bic, 3)
    (-119.355, 7, 270.946)
    """
    prepare_kernels()
    counts = np.asarray(counts, dtype=np.float64)
    problem = make_problem(rows, counts, float(smoothing))
    starts = random_starts(problem, n_classes, n_init, random)
    ascents = maximize(problem, starts, tol=tol, max_iter=max_iter, accelerate=accelerate)
    best = int(np.argmax(ascents.objective))
    unpenalised = ascents.objective
    if smoothing > 0:
        unpenalised = log_likelihoods(problem._replace(smoothing=0.0), ascents.theta)
    return Mixture(
        weights=ascents.theta[best, :, 0],
        probs=ascents.theta[best, :, 1:].T,
        log_likelihood=float(unpenalised[best]),
        log_likelihoods=unpenalised,
        n_best_reproduced=int((ascents.objective > ascents.objective[best] - REPRODUCED).sum()),
        converged=bool(ascents.converged[best]),
        n_iter=int(ascents.n_evaluations[best]),
        paths=[path[:n].copy() for path, n in zip(ascents.paths, ascents.n_evaluations, strict=True)],
        n_samples=float(counts.sum()),
    )
