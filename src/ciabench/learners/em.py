"""EM: fit a mixture of product-Bernoullis to (y, X), then predict y from X (Grove & Roth 1997, §3)."""

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state

from ciabench.arrays import Floats
from ciabench.errors import ParameterError, check_between, check_integer
from ciabench.latent import mixture, pieces, restarts
from ciabench.learners.base import MixtureClassifier
from ciabench.learners.data import checked_weights, with_target

CRITERIA = ("bic", "aic", "cv")
FOLDS = 5
REPRODUCED = 1e-4
"""Restarts whose log-likelihood is this close to the best one are said to have reached it."""


class EM(MixtureClassifier):
    """Maximum-likelihood mixture of product-Bernoullis over the target and the attributes.

    The model is P(y, x) = Σ_z w_z Π_i p_iz^x_i (1 − p_iz)^(1 − x_i), with y as attribute 0 and a hidden class z. Many
    random starts are climbed together and the best likelihood is kept. Prediction is by P(y = 1 | x) > 1/2, which for
    two classes is a linear rule.

    Parameters
    ----------
    n_classes : int or {"bic", "aic", "cv"}
        Number of hidden classes. A name has it chosen on the data from 1 to `max_classes`: by an information
        criterion, or by the log-loss of P(y | x) on held-out folds.
    max_classes : int
        Largest number tried when `n_classes` is a name.
    n_init : int
        Number of random starts.
    tol : float
        A restart has converged when a plain EM step gains less than this in log-likelihood; every second one is
        looked at.
    max_iter : int
        Most E steps of a restart.
    accelerate : bool
        Extrapolate by SQUAREM with a guard under which the likelihood never falls.
    smoothing : float
        Pseudo-count added to every expected count (a Beta and Dirichlet prior); 0 is maximum likelihood.
    binarize : float or None
        Threshold above which a value counts as 1; None takes 0/1 data as they are. NaN is missing at random.
    random_state : int, RandomState or None

    Attributes
    ----------
    weights_ : array (k,)
    probs_ : array (n + 1, k)
        P(attribute i = 1 | z); row 0 is the target.
    coef_, intercept_ : arrays (1, n) and (1,)
        The linear rule, for two classes.
    log_likelihood_ : float
    log_likelihoods_ : array (n_init,)
        Of all restarts, and `n_best_reproduced_` tells how many came within 1e-4 of the best.
    converged_, n_iter_ : bool and int
        Of the restart that was kept; `n_iter_` counts E steps.
    n_classes_, n_parameters_ : int
    criterion_ : dict
        Number of classes → criterion (lower is better), when the number was chosen.
    aic_, bic_ : float
    restart_paths_ : list of arrays
        Objective of each restart after each E step; where a jump was not kept, that of the step before it again.

    References
    ----------
    .. [1] A. J. Grove & D. Roth (1997). Linear concepts and hidden variables: an empirical study. NIPS 10, §3.
    .. [2] A. P. Dempster, N. M. Laird & D. B. Rubin (1977). Maximum likelihood from incomplete data via the EM
       algorithm. JRSS B 39.
    .. [3] R. Varadhan & C. Roland (2008). Simple and globally convergent methods for accelerating the convergence of
       any EM algorithm. Scandinavian Journal of Statistics 35.

    Examples
    --------
    >>> from ciabench import CIAModel
    >>> X, y = CIAModel([0.5, 0.5], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.6]]).sample(400, rng=0)
    >>> em = EM(random_state=0).fit(X, y)
    >>> round(em.score(X, y), 2)
    0.81
    """

    def __init__(
        self,
        *,
        n_classes: int | str = 2,
        max_classes: int = 8,
        n_init: int = 20,
        tol: float = 1e-8,
        max_iter: int = 10_000,
        accelerate: bool = True,
        smoothing: float = 0.0,
        binarize: float | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.max_classes = max_classes
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.accelerate = accelerate
        self.smoothing = smoothing
        self.binarize = binarize
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the mixture to attributes X (s, n), 0/1 or NaN, and labels y (s,)."""
        self._check_parameters()
        rows, codes = self._check_training_data(X, y)
        counts = checked_weights(sample_weight, codes.size)
        random = check_random_state(self.random_state)
        joint = with_target(rows, codes)
        n_classes = self.n_classes
        if isinstance(n_classes, str):
            self.criterion_ = self._criteria(joint, counts, random)
            n_classes = min(self.criterion_, key=self.criterion_.__getitem__)
        self._fit_mixture(joint, counts, n_classes, random)
        if not self.converged_:
            warnings.warn(
                f"the best of {self.n_init} restarts did not converge in {self.max_iter} steps; raise max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _check_parameters(self) -> None:
        if isinstance(self.n_classes, str):
            if self.n_classes not in CRITERIA:
                raise ParameterError(
                    f"n_classes must be an integer of at least 1 or one of {CRITERIA}; got {self.n_classes!r}."
                )
        else:
            check_integer("n_classes", self.n_classes, 1)
        check_integer("max_classes", self.max_classes, 1)
        check_integer("n_init", self.n_init, 1)
        check_integer("max_iter", self.max_iter, 1)
        if not isinstance(self.accelerate, bool | np.bool_):
            raise ParameterError(f"accelerate must be True or False; got {self.accelerate!r}.")
        check_between("tol", self.tol, 0, np.inf)
        check_between("smoothing", self.smoothing, 0, np.finfo(float).max, closed=True)

    def _criteria(self, joint: Any, counts: Floats, random: np.random.RandomState) -> dict[int, float]:
        """Criterion of 1, 2, … classes, up to the second in a row that is worse than the best before it."""
        values: dict[int, float] = {}
        folds = _folds(joint.shape[0], random) if self.n_classes == "cv" else None
        for k in range(1, self.max_classes + 1):
            values[k] = self._criterion(joint, counts, k, folds, random)
            if k >= 3 and min(values[k], values[k - 1]) > min(values[j] for j in range(1, k - 1)):
                break
        return values

    def _criterion(
        self, joint: Any, counts: Floats, k: int, folds: NDArray[np.intp] | None, random: np.random.RandomState
    ) -> float:
        """Information criterion or held-out loss of k classes; ties between optima need no tighter tolerance."""
        trial = clone(self).set_params(tol=max(self.tol, 1e-4))
        if folds is not None:
            return _held_out_loss(trial, joint, counts, k, folds, random)
        trial._fit_mixture(joint, counts, k, random)
        return float(getattr(trial, f"{self.n_classes}_"))

    def _fit_mixture(self, joint: Any, counts: Floats, n_classes: int, random: np.random.RandomState) -> None:
        """Climb from all starts and keep the best."""
        problem = pieces.make_problem(joint, counts, float(self.smoothing))
        starts = restarts.random_starts(problem, n_classes, self.n_init, random)
        fit = restarts.maximize(problem, starts, tol=self.tol, max_iter=self.max_iter, accelerate=self.accelerate)
        best = int(np.argmax(fit.objective))
        self.weights_, self.probs_ = fit.theta[best, :, 0], fit.theta[best, :, 1:].T
        self.log_likelihoods_ = fit.objective
        if self.smoothing > 0:
            self.log_likelihoods_ = mixture.log_likelihoods(problem._replace(smoothing=0.0), fit.theta)
        self.log_likelihood_ = float(self.log_likelihoods_[best])
        self.n_best_reproduced_ = int((fit.objective > fit.objective[best] - REPRODUCED).sum())
        self.converged_, self.n_iter_ = bool(fit.converged[best]), int(fit.n_evaluations[best])
        self.restart_paths_ = [path[:n].copy() for path, n in zip(fit.paths, fit.n_evaluations, strict=True)]
        self.n_classes_ = n_classes
        self.n_parameters_ = self.probs_.size + n_classes - 1
        self.aic_ = 2 * self.n_parameters_ - 2 * self.log_likelihood_
        self.bic_ = float(np.log(counts.sum())) * self.n_parameters_ - 2 * self.log_likelihood_


def _folds(n_samples: int, random: np.random.RandomState) -> NDArray[np.intp]:
    """Fold of every row."""
    return random.permutation(n_samples) % min(FOLDS, n_samples)


def _held_out_loss(
    trial: EM, joint: Any, counts: Floats, k: int, folds: NDArray[np.intp], random: np.random.RandomState
) -> float:
    """Weighted mean of −log P(y | x) over held-out folds.

    No probability is taken as smaller than one in two more than the training rows: a maximum-likelihood model that
    rules out what it has not seen would otherwise be judged by a single row.
    """
    losses = np.zeros(folds.size)
    for fold in range(folds.max() + 1 if folds.size > 1 else 0):
        held_out = folds == fold
        trial._fit_mixture(joint[~held_out], counts[~held_out], k, random)
        rows = joint[held_out]
        one, target = trial._target_chances(rows[:, 1:]), np.asarray(rows[:, [0]].sum(axis=1)).ravel()
        chances = np.where(target == 1, one, 1 - one)
        losses[held_out] = -np.log(np.maximum(chances, 1 / ((~held_out).sum() + 2)))
    return float(np.average(losses, weights=counts))
