"""EM: fit a mixture of product-Bernoullis to (y, X), then predict y from X (Grove & Roth 1997, §3)."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state

from ciabench.arrays import Floats
from ciabench.errors import ParameterError, SearchWarning, check_between, check_integer
from ciabench.latent.fit import Mixture, fit_mixture
from ciabench.latent.selection import held_out_loss, random_folds, search_classes
from ciabench.learners.base import MixtureClassifier
from ciabench.learners.data import checked_starts, checked_weights, with_target

CRITERIA = ("bic", "aic", "cv")
TARGET = 0
"""Column of the target among the attributes of the mixture."""

LEAST_TOLERANCE = 1e-4
"""Tolerance of the fits that criteria are computed from, unless `tol` is larger."""

MANY_RESTARTS = 5
"""Restarts from which on an optimum that only one of them reached is reported."""


class EM(MixtureClassifier):
    """Maximum-likelihood mixture of product-Bernoullis over the target and the attributes.

    The model is P(y, x) = Σ_z w_z Π_i p_iz^x_i (1 − p_iz)^(1 − x_i), with y as attribute 0 and a hidden class z. EM
    runs from many starts, and the fit with the largest likelihood is kept. One start has a class for each label; in
    the others every class starts at a random row, blended with the means of all attributes. Prediction is by
    P(y = 1 | x) > 1/2, which for two classes is a linear rule. When only one of five or more restarts reached the best
    optimum, `fit` gives a `ciabench.errors.SearchWarning`.

    Parameters
    ----------
    n_classes : int or {"bic", "aic", "cv"}
        Number of hidden classes, or the criterion by which it is chosen from 1 to `max_classes`: an information
        criterion, or the log-loss of P(y | x) on held-out folds.
    max_classes : int
        Largest number of classes tried when `n_classes` is a criterion.
    n_init : int
        Number of starts.
    init : (weights, probs), list of such pairs, or None
        Starts of one's own, in the shapes of `weights_` and `probs_`; they take the place of as many of the `n_init`
        starts, random ones first. With `n_init=1` and one pair EM starts there and nowhere else.
    tol : float
        A restart has converged when a plain EM step gains less than this in log-likelihood; every second step is
        examined.
    max_iter : int
        Maximum number of E steps per restart.
    accelerate : bool
        Extrapolate by SQUAREM, with a guard under which the likelihood never falls.
    smoothing : float
        Pseudo-count added to every expected count (a Beta and Dirichlet prior); 0 is maximum likelihood.
    binarize : float or None
        Threshold above which a value counts as 1; None accepts only 0 and 1. NaN is missing at random.
    random_state : int, RandomState or None
        Source of the random starts and folds.

    Attributes
    ----------
    weights_ : array (k,)
        P(z).
    probs_ : array (n + 1, k)
        P(attribute i = 1 | z); row 0 is the target.
    coef_ : array (1, n)
        Coefficients of the linear rule; only for two hidden classes.
    intercept_ : array (1,)
        Intercept of the linear rule; only for two hidden classes.
    log_likelihood_ : float
        Log-likelihood of the best restart.
    log_likelihoods_ : array (n_init,)
        Log-likelihoods of all restarts: from starts of one's own, by the labels, at random.
    n_best_reproduced_ : int
        Number of restarts that came within 1e-4 (or 100 `tol`, if that is more) of the best, which is counted too.
    is_reproduced_ : bool
        Whether more than one restart reached the best optimum; otherwise there may be a better one.
    converged_ : bool
        Whether the best restart converged.
    n_iter_ : int
        E steps of the best restart.
    n_classes_ : int
        Number of hidden classes.
    n_parameters_ : int
        Number of free parameters.
    criterion_ : dict
        Number of classes → criterion (lower is better); only when the number was chosen.
    aic_ : float
        Akaike's information criterion.
    bic_ : float
        Bayesian information criterion.
    restart_paths_ : list of arrays
        Objective of each restart after each E step; where a jump was rejected, that of the step before it is repeated.

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
    >>> em.n_best_reproduced_, em.is_reproduced_
    (18, True)

    Continue from an earlier fit, once there are more rows:

    >>> early = EM(random_state=0).fit(X[:200], y[:200])
    >>> late = EM(init=(early.weights_, early.probs_), n_init=1).fit(X, y)
    >>> late.log_likelihoods_.size, bool(abs(late.log_likelihood_ - em.log_likelihood_) < 1e-4)
    (1, True)
    """

    facts: ClassVar[tuple[str, ...]] = ("n_iter_", "converged_", "n_best_reproduced_")
    version: ClassVar[int] = 2

    def __init__(
        self,
        *,
        n_classes: int | str = 2,
        max_classes: int = 8,
        n_init: int = 20,
        init: Any = None,
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
        self.init = init
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
        rows, codes = self.check_training_data(X, y)
        counts, joint = checked_weights(sample_weight, codes.size), with_target(rows, codes)
        random, n_classes = check_random_state(self.random_state), self.n_classes
        own = checked_starts(self.init, n_classes, joint.shape[1])
        if isinstance(n_classes, str):
            self.criterion_, fitted = self._criteria(joint, counts, random)
            n_classes = min(self.criterion_, key=self.criterion_.__getitem__)
            own = [(mixture.weights, mixture.probs) for mixture in fitted if mixture.weights.size == n_classes]
        options = {"random": random, "tol": self.tol, "init": own, **self._options()}
        self._set_mixture(fit_mixture(joint, counts, n_classes, **options))
        self._warn_of_the_search()
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

    def _options(self) -> dict[str, Any]:
        """Parameters that all fits have in common."""
        own = {name: getattr(self, name) for name in ("n_init", "max_iter", "accelerate", "smoothing")}
        return {"target": TARGET, **own}

    def _warn_of_the_search(self) -> None:
        """Warn if the best restart did not converge, or was the only one of many to reach its optimum."""
        n_restarts = self.log_likelihoods_.size
        if not self.converged_:
            text = f"the best of {n_restarts} restarts did not converge in {self.max_iter} steps; raise max_iter."
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        elif n_restarts >= MANY_RESTARTS and not self.is_reproduced_:
            text = f"only one of {n_restarts} restarts reached the best optimum; a better one may exist; raise n_init."
            warnings.warn(text, SearchWarning, stacklevel=3)

    def _criteria(
        self, joint: Any, counts: Floats, random: np.random.RandomState
    ) -> tuple[dict[int, float], list[Mixture]]:
        """Information criterion or held-out loss of 1, 2, … classes, and the fits to all rows, if there were any."""
        options = {"random": random, "tol": max(self.tol, LEAST_TOLERANCE), **self._options()}
        folds = random_folds(joint.shape[0], random) if self.n_classes == "cv" else None
        fitted: list[Mixture] = []

        def criterion(k: int) -> float:
            if folds is not None:
                return held_out_loss(lambda rows, n: fit_mixture(rows, n, k, **options), joint, counts, folds)
            fitted.append(fit_mixture(joint, counts, k, **options))
            return float(getattr(fitted[-1], str(self.n_classes)))

        return search_classes(criterion, self.max_classes), fitted

    def _set_mixture(self, mixture: Mixture) -> None:
        """Copy the fitted mixture into the attributes."""
        self.weights_, self.probs_ = mixture.weights, mixture.probs
        self.log_likelihood_, self.log_likelihoods_ = mixture.log_likelihood, mixture.log_likelihoods
        self.n_best_reproduced_, self.restart_paths_ = mixture.n_best_reproduced, mixture.paths
        self.is_reproduced_ = mixture.n_best_reproduced > 1
        self.converged_, self.n_iter_ = mixture.converged, mixture.n_iter
        self.n_classes_, self.n_parameters_ = mixture.weights.size, mixture.n_parameters
        self.aic_, self.bic_ = mixture.aic, mixture.bic
