"""Latent classes of a table without a target."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax, xlogy
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ciabench.arrays import Coded, Floats
from ciabench.errors import DataError, ParameterError, check_choice, check_integer
from ciabench.latent.bootstrap import bootstrap_test
from ciabench.latent.fit import Mixture, fit_mixture
from ciabench.latent.selection import held_out_surprise, random_folds, search_classes
from ciabench.latent.starts import Random
from ciabench.learners.class_tables import bivariate_residuals, profiles, standard_errors
from ciabench.learners.data import checked_parameters, checked_weights
from ciabench.learners.search import check_jobs, check_search, warn_of_the_search
from ciabench.probability.product import Parameters, draw, log_joint
from ciabench.seeds import as_random_state
from ciabench.tables import next_table, training_table

if TYPE_CHECKING:
    import pandas as pd

CRITERIA = ("bic", "aic", "cv", "blrt")

LEVEL = 0.05
"""Level at which the bootstrap test asks for one more class."""

ROWS_AT_ONCE = 2**16
"""Rows whose P(z | x) are in memory at a time while fitting."""


class LatentClass(ClusterMixin, DensityMixin, BaseEstimator):
    """Latent class analysis: a mixture of independent columns, fitted to a table without a target.

    In each class a binary or categorical column has a probability for every level, and a numeric one is Gaussian. The
    likelihood is maximised by EM from many random starts, accelerated; missing cells are summed out exactly. Classes
    are ordered by size, the largest first. Covariates and distal outcomes are out of scope; StepMix and poLCA have
    them.

    Parameters
    ----------
    n_classes : int or {"bic", "aic", "cv", "blrt"}
        Number of classes, or how it is chosen from 1 to `max_classes`: by an information criterion, by the likelihood
        of held-out rows, or by the parametric bootstrap likelihood-ratio test, which adds classes while p ≤ 0.05.
    max_classes : int
        Largest number of classes tried.
    n_init : int
        Number of starts; the bootstrap test uses as many for every table.
    init : Parameters, list of Parameters, or None
        Your own starts, as in `parameters_`; they take the place of as many random ones.
    tol : float
        A restart has converged when a plain EM step gains less than this in log-likelihood.
    max_iter : int
        Maximum number of E steps per restart.
    accelerate : bool
        Extrapolate by SQUAREM, with a guard under which the likelihood never falls.
    smoothing : float
        Pseudo-count of every level in every class, and of every class; 0 is maximum likelihood.
    covariance : {"diag", "full"}
        Whether numeric columns are independent in a class, or have a covariance matrix.
    kinds : str, dict or None
        Kinds of the columns, where they should not be inferred: "binary", "categorical" or "numeric", for all columns
        or by name.
    n_bootstrap : int
        Tables drawn for the bootstrap test, at each number of classes; weights of rows must then be whole numbers.
    n_jobs : int or None
        Threads for a table of more than 65,536 rows; −1 means all cores. Their number does not change a bit of the
        results, but the last digits may differ from those with None, which adds up all rows in their order.
    random_state : int, RandomState or None
        Source of starts, folds and bootstrap tables.

    Attributes
    ----------
    parameters_ : Parameters
        Weights (k,), tables (levels, k) of the discrete columns, means (m, k) and variances (k, m) or covariances
        (k, m, m) of the numeric ones.
    weights_ : array (k,)
        P(z).
    labels_ : array (s,)
        Class of every training row.
    kinds_ : dict
        Kind of every column.
    log_likelihood_ : float
        Log-likelihood of the best restart.
    log_likelihoods_ : array (n_init,)
        Log-likelihoods of all restarts.
    n_best_reproduced_ : int
        Number of restarts that reached the best optimum.
    is_reproduced_ : bool
        Whether more than one did.
    converged_ : bool
        Whether the best restart converged.
    n_iter_ : int
        E steps of the best restart.
    restart_paths_ : list of arrays
        Objective of each restart after each E step.
    n_classes_ : int
        Number of classes.
    n_parameters_ : int
        Number of free parameters.
    criterion_ : dict
        Number of classes → criterion, or p-value of the test against one more class; only when the number was chosen.
    aic_, bic_, sabic_, icl_ : float
        Information criteria, lower is better: Akaike's, Bayesian, adjusted for sample size, and integrated completed
        likelihood.
    entropy_r2_ : float
        1 − entropy of P(z | x) / log k: 1 if every row is certain.

    References
    ----------
    .. [1] L. A. Goodman (1974). Exploratory latent structure analysis. Biometrika 61.
    .. [2] G. J. McLachlan & D. Peel (2000). Finite Mixture Models. Wiley.

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> is_young = rng.random(500) < 0.4
    >>> table = pd.DataFrame({"age": rng.normal(np.where(is_young, 25.0, 60.0), 5.0)})
    >>> table["channel"] = np.where(rng.random(500) < np.where(is_young, 0.9, 0.2), "app", "shop")
    >>> table.loc[::10, "age"] = np.nan
    >>> lc = LatentClass(n_classes="bic", random_state=0).fit(table)
    >>> lc.n_classes_, lc.weights_.round(1).tolist()
    (2, [0.6, 0.4])
    >>> lc.profiles().round(2)
    class              0      1
    column  level
    class   share   0.63   0.37
    age     mean   59.87  24.39
            sd      4.70   4.51
    channel app     0.24   0.89
            shop    0.76   0.11
    """

    facts: ClassVar[tuple[str, ...]] = ("n_iter_", "converged_", "n_best_reproduced_")
    version: ClassVar[int] = 1

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
        covariance: str = "diag",
        kinds: Any = None,
        n_bootstrap: int = 99,
        n_jobs: int | None = None,
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
        self.covariance = covariance
        self.kinds = kinds
        self.n_bootstrap = n_bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to a table X (s, n); y is ignored, and a weight of 2 counts a row twice."""
        self._check_parameters()
        table = training_table(self, X, self.kinds)
        counts, random = checked_weights(sample_weight, table.n_rows), as_random_state(self.random_state)
        own = checked_parameters(self.init, self.n_classes, table, full=self._is_full)
        if isinstance(self.n_classes, str):
            mixture = self._chosen(self.n_classes, table, counts, random)
        else:
            mixture = self._fitted(table, counts, self.n_classes, random, init=own)
        self._set_mixture(mixture, table, counts)
        warn_of_the_search(self, mixture)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Most probable class of every row, (s,)."""
        classes: NDArray[np.intp] = self._log_joint(X).argmax(axis=1)
        return classes

    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(z | x) of every row and class, (s, k)."""
        chances: Floats = softmax(self._log_joint(X), axis=1)
        return chances

    def score_samples(self, X: ArrayLike) -> Floats:
        """Log-likelihood of every row, (s,)."""
        return np.asarray(np.logaddexp.reduce(self._log_joint(X), axis=1), dtype=np.float64)

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """Mean log-likelihood of the rows; y is ignored."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, random_state: int | None = None) -> tuple["pd.DataFrame", NDArray[np.intp]]:
        """Draw rows, as a DataFrame with the columns of training, and their classes (n_samples,)."""
        check_is_fitted(self)
        check_integer("n_samples", n_samples, 1)
        drawn, classes = draw(self.parameters_, n_samples, np.random.default_rng(random_state))
        return self.columns_.decoded(drawn), classes

    def profiles(self) -> "pd.DataFrame":
        """Table of the classes: their shares, probabilities of levels, means and standard deviations."""
        check_is_fitted(self)
        return profiles(self.columns_, self.parameters_)

    def standard_errors(self) -> "pd.DataFrame":
        """Estimates with standard errors and 95% intervals, from the observed information.

        Intervals of probabilities are computed on the logit scale, those of standard deviations on the log scale.
        Probabilities within 1e-4 of 0 or 1 have none; a warning says so, because other intervals may then be too short.
        """
        check_is_fitted(self)
        return standard_errors(self.columns_, self._table, self._counts, self.parameters_)

    def bivariate_residuals(self) -> "pd.DataFrame":
        """How far each pair of columns departs from independence within classes: χ² / degrees of freedom.

        Values far above 1 point at pairs that the classes do not explain. Numeric columns are cut at their medians;
        with a full covariance, pairs of them are left out.
        """
        check_is_fitted(self)
        return bivariate_residuals(self.columns_, self._table, self._counts, self.parameters_)

    @property
    def _is_full(self) -> bool:
        return self.covariance == "full"

    def _log_joint(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        return log_joint(next_table(self, X), self.parameters_)

    def _check_parameters(self) -> None:
        if isinstance(self.n_classes, str):
            if self.n_classes not in CRITERIA:
                raise ParameterError(
                    f"n_classes must be an integer of at least 1 or one of {CRITERIA}; got {self.n_classes!r}."
                )
        else:
            check_integer("n_classes", self.n_classes, 1)
        for name in ("max_classes", "n_bootstrap"):
            check_integer(name, getattr(self, name), 1)
        check_search(self)
        check_jobs(self.n_jobs)
        check_choice("covariance", self.covariance, ("diag", "full"))

    def _fitted(self, table: Coded, counts: Floats, n_classes: int, random: Any, init: Any = ()) -> Mixture:
        """Fit with the parameters of the estimator."""
        return fit_mixture(
            table, counts, n_classes, random=random, n_init=self.n_init, tol=self.tol, max_iter=self.max_iter,
            accelerate=self.accelerate, smoothing=self.smoothing, full=self._is_full, init=init,
            n_jobs=self.n_jobs,
        )  # fmt: skip

    def _chosen(self, criterion: str, table: Coded, counts: Floats, random: np.random.RandomState) -> Mixture:
        """Fit with the number of classes that a criterion, which is kept in `criterion_`, prefers."""
        fitted: dict[int, Mixture] = {}

        def fit(rows: Coded, weights: Floats, k: int) -> Mixture:
            return self._fitted(rows, weights, k, random)

        def information(k: int) -> float:
            fitted[k] = fit(table, counts, k)
            return float(getattr(fitted[k], criterion))

        if criterion == "blrt":
            n_classes = self._tested(fit, *single_rows(table, counts), random)
        else:
            value = information if criterion != "cv" else self._held_out(fit, *single_rows(table, counts), random)
            self.criterion_ = search_classes(value, self.max_classes)
            n_classes = min(self.criterion_, key=self.criterion_.__getitem__)
        return fitted.get(n_classes) or fit(table, counts, n_classes)

    def _held_out(self, fit: Any, table: Coded, counts: Floats, random: Random) -> Callable[[int], float]:
        """Loss on held-out rows as a function of the number of classes."""
        folds = random_folds(table.n_rows, random)
        return lambda k: held_out_surprise(lambda rows, n: fit(rows, n, k), table, counts, folds)

    def _tested(self, fit: Any, table: Coded, counts: Floats, random: np.random.RandomState) -> int:
        """Smallest number of classes that the bootstrap test does not reject."""
        if (counts != 1).any():
            raise DataError("n_classes='blrt' draws tables of single rows, so sample_weight must be whole numbers.")
        self.criterion_ = {}
        rng = np.random.default_rng(random.randint(2**31))  # numpy's  # nosec B311
        for k in range(1, self.max_classes):
            self.criterion_[k] = bootstrap_test(fit, table, counts, k, self.n_bootstrap, rng).p_value
            if self.criterion_[k] > LEVEL:
                return k
        return self.max_classes

    def _set_mixture(self, mixture: Mixture, table: Coded, counts: Floats) -> None:
        """Copy the fitted mixture into the attributes, the largest class first."""
        self.parameters_: Parameters = mixture.parameters.classes(np.argsort(-mixture.weights, kind="stable"))
        self.weights_, self.n_classes_ = self.parameters_.weights, mixture.weights.size
        self.log_likelihood_, self.log_likelihoods_ = mixture.log_likelihood, mixture.log_likelihoods
        self.n_best_reproduced_, self.is_reproduced_ = mixture.n_best_reproduced, mixture.n_best_reproduced > 1
        self.converged_, self.n_iter_, self.restart_paths_ = mixture.converged, mixture.n_iter, mixture.paths
        self.n_parameters_, self.aic_, self.bic_ = mixture.n_parameters, mixture.aic, mixture.bic
        self._table, self._counts = table, counts
        self.labels_, entropy = np.empty(table.n_rows, dtype=np.intp), 0.0
        for start in range(0, table.n_rows, ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            chances = softmax(log_joint(table.rows(rows), self.parameters_), axis=1)
            self.labels_[rows] = chances.argmax(axis=1)
            entropy -= float(counts[rows] @ xlogy(chances, chances).sum(axis=1))
        deviance, n = -2 * self.log_likelihood_, mixture.n_samples
        self.sabic_ = float(np.log((n + 2) / 24)) * self.n_parameters_ + deviance
        self.icl_ = self.bic_ + 2 * entropy
        self.entropy_r2_ = 1 - entropy / (n * float(np.log(self.n_classes_))) if self.n_classes_ > 1 else 1.0


def single_rows(table: Coded, counts: Floats) -> tuple[Coded, Floats]:
    """The table with every row as often as its weight says, if weights are whole numbers; otherwise as it is."""
    if (counts == 1).all() or (counts % 1 != 0).any():
        return table, counts
    owners = np.repeat(np.arange(table.n_rows), counts.astype(np.intp))
    return table.rows(owners), np.ones(owners.size)
