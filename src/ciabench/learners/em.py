"""EM: fit a mixture to (y, X), then predict y from X (Grove & Roth 1997, §3)."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ciabench.arrays import Coded, Floats
from ciabench.errors import ParameterError, check_choice, check_integer
from ciabench.latent.fit import Mixture, fit_mixture
from ciabench.latent.selection import held_out_loss, random_folds, search_classes
from ciabench.learners.base import MixtureClassifier
from ciabench.learners.data import checked_parameters, checked_starts, checked_weights, with_target
from ciabench.learners.rows import (
    as_table_rows,
    bit_columns,
    checked_labels,
    label_codes,
    next_rows,
    softmax,
    training_data,
    with_label,
)
from ciabench.learners.search import check_jobs, check_search, warn_of_the_search
from ciabench.probability import product
from ciabench.probability.product import Parameters
from ciabench.seeds import as_random_state

CRITERIA = ("bic", "aic", "cv")
TARGET = 0
"""Column of the target among the attributes of the mixture."""

LEAST_TOLERANCE = 1e-4
"""Tolerance of the fits that criteria are computed from, unless `tol` is larger."""


class EM(MixtureClassifier):
    """Maximum-likelihood mixture over the target and the attributes, with a hidden class.

    For bits the model is P(y, x) = Σ_z w_z Π_i p_iz^x_i (1 − p_iz)^(1 − x_i), with y as attribute 0 and a hidden class
    z. Tables of any kind are taken, with any number of labels: in each class a categorical column, the target among
    them, has a probability for every level, and a numeric one is Gaussian. Missing cells are summed out.

    EM runs from many starts, and the fit with the largest likelihood is kept. One start has a class for each label; in
    the others every class starts at a random row, blended with the means of all attributes. Prediction is by the
    largest P(y | x), which for bits, two labels and two classes is a linear rule. When only one of five or more
    restarts reached the best optimum, `fit` gives a `ciabench.errors.SearchWarning`.

    Parameters
    ----------
    n_classes : int or {"bic", "aic", "cv"}
        Number of hidden classes, or the criterion by which it is chosen from 1 to `max_classes`: an information
        criterion, or the log-loss of P(y | x) on held-out folds.
    max_classes : int
        Largest number of classes tried when `n_classes` is a criterion.
    n_init : int
        Number of starts.
    init : (weights, probs), Parameters, list of either, or None
        Your own starts, in the shapes of `weights_` and `probs_`, or as in `parameters_` for tables that are not
        bits; they take the place of as many of the `n_init` starts, random ones first. With `n_init=1` and one start EM
        starts there and nowhere else.
    tol : float
        A restart has converged when a plain EM step gains less than this in log-likelihood; every second step is
        examined.
    max_iter : int
        Maximum number of E steps per restart.
    accelerate : bool
        Extrapolate by SQUAREM, with a guard under which the likelihood never falls.
    smoothing : float
        Pseudo-count added to every expected count (a Beta and Dirichlet prior); 0 is maximum likelihood.
    covariance : {"diag", "full"}
        Whether numeric columns are independent in a class, or have a covariance matrix.
    kinds : str, dict or None
        Kinds of the columns, where they should not be inferred: "binary", "categorical" or "numeric", for all columns
        or by name.
    binarize : float or None
        Threshold above which a value counts as 1; None takes columns as they are. NaN is missing at random.
    n_jobs : int or None
        Threads for a table of more than 65,536 rows; −1 means all cores. Their number does not change a bit of the
        results, but the last digits may differ from those with None, which adds up all rows in their order.
    random_state : int, RandomState or None
        Source of the random starts and folds.

    Attributes
    ----------
    weights_ : array (k,)
        P(z).
    probs_ : array (n + 1, k)
        P(attribute i = 1 | z) for binary columns and two labels; row 0 is the target.
    parameters_ : Parameters
        All parameters of a mixture over any table; its first table is the target's.
    kinds_ : dict
        Kind of every column.
    coef_ : array (1, n)
        Coefficients of the linear rule; only for 0/1 columns, two labels and two hidden classes.
    intercept_ : array (1,)
        Intercept of the linear rule, under the same conditions.
    log_likelihood_ : float
        Log-likelihood of the best restart.
    log_likelihoods_ : array (n_init,)
        Log-likelihoods of all restarts: from your own starts, by the labels, at random.
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
    .. [1] Grove, A. J. & Roth, D. (1997). Linear concepts and hidden variables: an empirical study. NIPS 10, §3.
    .. [2] Dempster, A. P., Laird, N. M. & Rubin, D. B. (1977). Maximum likelihood from incomplete data via the EM
       algorithm. JRSS B 39.
    .. [3] Varadhan, R. & Roland, C. (2008). Simple and globally convergent methods for accelerating the convergence of
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

    A table with text, numbers and missing cells, and three labels:

    >>> import pandas as pd
    >>> table = pd.DataFrame({"petal": [1.4, 1.3, None, 4.5, 4.7, 4.4, 6.0, 5.9], "colour": list("bbbwwwyb")})
    >>> species = ["setosa"] * 3 + ["versicolor"] * 3 + ["virginica"] * 2
    >>> EM(n_classes=3, smoothing=0.1, n_init=4, random_state=0).fit(table, species).score(table, species)
    1.0
    """

    facts: ClassVar[tuple[str, ...]] = ("n_iter_", "converged_", "n_best_reproduced_")
    version: ClassVar[int] = 2
    takes_tables: ClassVar[bool] = True

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
        binarize: float | None = None,
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
        self.binarize = binarize
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = True
        tags.classifier_tags.poor_score = True  # two hidden classes, the default, cannot separate three labels
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the mixture to a table X (s, n), with NaN or None where cells are missing, and labels y (s,)."""
        self._check_parameters()
        rows, codes = training_data(self, X, y)
        counts, joint = checked_weights(sample_weight, codes.size), self._joint(rows, codes)
        random, n_classes = as_random_state(self.random_state), self.n_classes
        own = self._own_starts(joint)
        if isinstance(n_classes, str):
            self.criterion_, fitted = self._criteria(joint, counts, random)
            n_classes = min(self.criterion_, key=self.criterion_.__getitem__)
            own = [self._as_start(mixture) for mixture in fitted if mixture.weights.size == n_classes]
        options = {"random": random, "tol": self.tol, "init": own, **self._options()}
        mixture = fit_mixture(joint, counts, n_classes, **options)
        self._set_mixture(mixture)
        warn_of_the_search(self, None if self._are_bits else mixture)
        return self

    def check_rows(self, X: ArrayLike) -> Any:
        """Check the rows X (s, n) that a fitted learner is asked about; for authors of learners."""
        return next_rows(self, X)

    def check_training_data(self, X: ArrayLike, y: ArrayLike, *, reset: bool = True) -> tuple[Any, Any]:
        """Check the data of `fit`, or data with labels that should agree with these; for authors of learners."""
        if reset:
            return training_data(self, X, y)
        rows = self.check_rows(X)
        return rows, label_codes(checked_labels(y, as_table_rows(rows)), self.classes_)

    def _joint(self, rows: Any, codes: Any) -> Any:
        """Rows (y, x) as bits, or as a table unless columns and target are all binary."""
        self._are_bits = not isinstance(rows, Coded) and self.classes_.size <= 2
        return with_target(rows, codes) if self._are_bits else with_label(rows, codes, self.classes_.size)

    def _own_starts(self, joint: Any) -> list[Any]:
        """Starts of one's own, checked."""
        if self._are_bits and not isinstance(self.init, Parameters):
            return list(checked_starts(self.init, self.n_classes, joint.shape[1]))
        return list(checked_parameters(self.init, self.n_classes, as_table_rows(joint), full=self.covariance == "full"))

    def _as_start(self, mixture: Mixture) -> Any:
        return (mixture.weights, mixture.probs) if self._are_bits else mixture.parameters

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Label of every row: the one with the largest P(y | x)."""
        check_is_fitted(self)
        if self._are_bits:
            return super().predict(X)
        labels: NDArray[Any] = self.classes_[self._log_chances(self.check_rows(X)).argmax(axis=1)]
        return labels

    def decision_function(self, X: ArrayLike) -> Floats:
        """Log-odds (s,) of `classes_[1]`, or log P(y | x) of every label, (s, labels), if there are more than two."""
        check_is_fitted(self)
        if self._are_bits:
            return super().decision_function(X)
        logs = self._log_chances(self.check_rows(X))
        scores: Floats = logs if self.classes_.size > 2 else (logs[:, -1] - logs[:, 0]) - (self.classes_.size == 1)
        return scores

    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(y | x) for every row and label, (s, labels); missing cells are summed out."""
        check_is_fitted(self)
        return super().predict_proba(X) if self._are_bits else softmax(self._log_chances(self.check_rows(X)))

    def score_samples(self, X: ArrayLike, y: ArrayLike | None = None) -> Floats:
        """Log P(y, x) of every row, or log P(x) without y."""
        check_is_fitted(self)
        if self._are_bits:
            return super().score_samples(X, y)
        if y is None:
            joint = product.log_joint(as_table_rows(self.check_rows(X)), self.parameters_.without(TARGET))
        else:
            rows, codes = self.check_training_data(X, y, reset=False)
            joint = product.log_joint(with_label(rows, codes, self.classes_.size), self.parameters_)
        return np.asarray(np.logaddexp.reduce(joint, axis=1), dtype=np.float64)

    def sample(self, size: int, random_state: int | None = None) -> tuple[Any, NDArray[Any]]:
        """Draw rows (size, n), as bits or as a DataFrame, and labels (size,) from the fitted mixture."""
        check_is_fitted(self)
        if self._are_bits and (self.columns_ is None or self.columns_.are_bits):
            return super().sample(size, random_state)
        drawn, _ = product.draw(self.parameters_, size, np.random.default_rng(random_state))
        columns = self.columns_ or bit_columns(self)
        labels = self.classes_[drawn.codes[:, TARGET] % self.classes_.size]
        return columns.decoded(drawn._replace(codes=drawn.codes[:, 1:], n_levels=drawn.n_levels[1:])), labels

    @property
    def kinds_(self) -> dict[Any, str]:
        """Kind of every column."""
        return self._kinds if self.columns_ else bit_columns(self).kinds

    @kinds_.setter
    def kinds_(self, kinds: dict[Any, str]) -> None:
        self._kinds = kinds

    @property
    def parameters_(self) -> Parameters:
        """All parameters; the first table is the target's."""
        if self._mixture is not None:
            return self._mixture.parameters
        tables = tuple(np.vstack([1 - chances, chances]) for chances in self.probs_)
        return Parameters(self.weights_, tables, np.empty((0, self.weights_.size)), np.empty((self.weights_.size, 0)))

    def _log_chances(self, rows: Any) -> Floats:
        """Log P(y | x) of every label, (s, labels)."""
        joint = product.log_joint(as_table_rows(rows), self.parameters_.without(TARGET))
        joint -= joint.max(axis=1, keepdims=True)
        of_labels = [
            np.logaddexp.reduce(joint + np.log(chances), axis=1) for chances in self.parameters_.tables[TARGET]
        ]
        logs = np.stack(of_labels[: self.classes_.size], axis=1)
        found: Floats = logs - np.logaddexp.reduce(logs, axis=1)[:, None]
        return found

    def _rule(self) -> tuple[Floats, float]:
        """Linear rule of two hidden classes, two labels and 0/1 columns."""
        if "weights_" in vars(self) and not self._is_linear:
            raise AttributeError(
                "EM is a linear rule only for columns of 0 and 1 and two labels, so it has no coef_ and intercept_ "
                "here; use decision_function or predict_proba."
            )
        return super()._rule()

    @property
    def _is_linear(self) -> bool:
        return self._are_bits and (self.columns_ is None or self.columns_.are_bits)

    def _check_parameters(self) -> None:
        if isinstance(self.n_classes, str):
            if self.n_classes not in CRITERIA:
                raise ParameterError(
                    f"n_classes must be an integer of at least 1 or one of {CRITERIA}; got {self.n_classes!r}."
                )
        else:
            check_integer("n_classes", self.n_classes, 1)
        check_integer("max_classes", self.max_classes, 1)
        check_search(self)
        check_jobs(self.n_jobs)
        check_choice("covariance", self.covariance, ("diag", "full"))

    def _options(self) -> dict[str, Any]:
        """Parameters that all fits have in common."""
        own = {name: getattr(self, name) for name in ("n_init", "max_iter", "accelerate", "smoothing", "n_jobs")}
        return {"target": TARGET, "full": self.covariance == "full", **own}

    def _criteria(
        self, joint: Any, counts: Floats, random: np.random.RandomState
    ) -> tuple[dict[int, float], list[Mixture]]:
        """Information criterion or held-out loss of 1, 2, … classes, and the fits to all rows, if there were any."""
        options = {"random": random, "tol": max(self.tol, LEAST_TOLERANCE), **self._options()}
        n_rows = joint.n_rows if isinstance(joint, Coded) else joint.shape[0]
        folds = random_folds(n_rows, random) if self.n_classes == "cv" else None
        fitted: list[Mixture] = []

        def criterion(k: int) -> float:
            if folds is not None:
                return held_out_loss(lambda rows, n: fit_mixture(rows, n, k, **options), joint, counts, folds)
            fitted.append(fit_mixture(joint, counts, k, **options))
            return float(getattr(fitted[-1], str(self.n_classes)))

        return search_classes(criterion, self.max_classes), fitted

    def _set_mixture(self, mixture: Mixture) -> None:
        """Copy the fitted mixture into the attributes."""
        self.weights_, self._mixture = mixture.weights, None if self._are_bits else mixture
        if self._are_bits:
            self.probs_ = mixture.probs
        elif hasattr(self, "probs_"):
            del self.probs_
        self.log_likelihood_, self.log_likelihoods_ = mixture.log_likelihood, mixture.log_likelihoods
        self.n_best_reproduced_, self.restart_paths_ = mixture.n_best_reproduced, mixture.paths
        self.is_reproduced_ = mixture.n_best_reproduced > 1
        self.converged_, self.n_iter_ = mixture.converged, mixture.n_iter
        self.n_classes_, self.n_parameters_ = mixture.weights.size, mixture.n_parameters
        self.aic_, self.bic_ = mixture.aic, mixture.bic
