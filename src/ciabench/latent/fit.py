"""Fit a mixture of product-Bernoullis by maximum likelihood: rows in, the best of many restarts out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ciabench.arrays import Floats
from ciabench.kernels import prepare_kernels
from ciabench.latent.mixture import log_likelihoods
from ciabench.latent.pieces import make_problem
from ciabench.latent.restarts import maximize
from ciabench.latent.starts import Random, Start, make_starts

REPRODUCED, STEPS_LEFT = 1e-4, 100
"""Restarts whose objective is this close to the best one, or as many times `tol`, count as having reached it."""


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
        Number of restarts whose objective came within 1e-4 (or 100 `tol`, if that is more) of the best one, which is
        counted too.
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
    target: int | None = None,
    init: Sequence[Start] = (),
) -> Mixture:
    """Fit a mixture of product-Bernoullis by EM from many starts, most of them random (`starts`).

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
        Number of starts, those by the target and of one's own included.
    tol : float
        A restart has converged when a plain EM step gains less than this; every second step is examined.
    max_iter : int
        Maximum number of E steps per restart.
    accelerate : bool
        Extrapolate by SQUAREM, with a guard under which the objective never falls.
    smoothing : float
        Pseudo-count added to every expected count (a Beta and Dirichlet prior); 0 is maximum likelihood.
    target : int, optional
        Complete column by whose values one of the starts is made.
    init : sequence of (weights, probs)
        Starts of one's own, shapes (k,) and (a, k).

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
    starts = make_starts(rows, counts, n_classes, n_init, random, target=target, own=init)
    ascents = maximize(problem, starts, tol=tol, max_iter=max_iter, accelerate=accelerate)
    best = int(np.argmax(ascents.objective))
    unpenalised, margin = ascents.objective, max(REPRODUCED, STEPS_LEFT * tol)
    if smoothing > 0:
        unpenalised = log_likelihoods(problem._replace(smoothing=0.0), ascents.theta)
    return Mixture(
        weights=ascents.theta[best, :, 0],
        probs=ascents.theta[best, :, 1:].T,
        log_likelihood=float(unpenalised[best]),
        log_likelihoods=unpenalised,
        n_best_reproduced=int((ascents.objective > ascents.objective[best] - margin).sum()),
        converged=bool(ascents.converged[best]),
        n_iter=int(ascents.n_evaluations[best]),
        paths=[path[:n].copy() for path, n in zip(ascents.paths, ascents.n_evaluations, strict=True)],
        n_samples=float(counts.sum()),
    )
