"""Base classes of the learners: input checks, two classes with any labels, linear scores.

How to write a learner
----------------------
Derive from one of these classes in a new file of this folder; the contract tests then find it and run on it.

- `LinearClassifier`: `fit` calls `check_training_data`, computes a rule and ends with `return self.set_rule(…)`.
- `OnlineClassifier`: implement `start`, which makes the empty state, and `learn`, which adds rows to it and ends with
  `return self.set_rule(…)`; `fit` and `partial_fit` are inherited.
- `MixtureClassifier`: `fit` calls `check_training_data` and sets `weights_` and `probs_` of a mixture over (y, x).
- `BinaryClassifier`: `fit` as above; implement `decision_function`, which begins with `check_rows`.

`__init__` takes keyword-only parameters, `binarize` among them, and stores them as they are; `fit` checks their values.
The docstring describes each of them and ends in a runnable example. Two class attributes serve the lab: `facts` names
the fitted attributes that are kept with each result, and `version` is raised when results change.

Rows that come from the checks are a C-contiguous uint8 array, a float array where values are missing (only for learners
whose tags allow NaN), or a CSR matrix whose stored entries are all 1; y is uint8, 0 for `classes_[0]` and 1 for
`classes_[1]`.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ciabench.arrays import Bits, Floats
from ciabench.errors import DataError
from ciabench.kernels import prepare_kernels
from ciabench.learners.data import (
    NO_TARGET,
    are_plain,
    encoded,
    first_classes,
    refuse_text_columns,
    two_classes,
    with_target,
    zero_one,
)
from ciabench.probability import bernoulli


def rule_scores(rows: Any, coefficients: Floats, intercept: float) -> Floats:
    """X · coefficients + intercept for checked rows, dense or sparse."""
    if isinstance(rows, np.ndarray):
        return bernoulli.linear_scores(rows, coefficients, intercept)
    scores: Floats = rows @ coefficients + intercept
    return scores


class BinaryClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Input checks, label encoding and `predict` for classifiers of 0/1 data into two classes."""

    facts: ClassVar[tuple[str, ...]] = ()
    """Names of fitted attributes, each a number, that the lab keeps with every result."""

    version: ClassVar[int] = 1
    """Raised when the same parameters, data and random state give other results."""

    takes_tables: ClassVar[bool] = False
    """Whether columns may be of any kind; the lab encodes tables for learners of bits."""

    binarize: float | None
    classes_: NDArray[Any]
    n_features_in_: int

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class of every row: `classes_[1]` where `decision_function` is positive."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    @abstractmethod
    def decision_function(self, X: ArrayLike) -> Floats:
        """Score of every row, positive for `classes_[1]`."""

    def check_training_data(self, X: ArrayLike, y: ArrayLike, *, reset: bool = True) -> tuple[Any, Bits]:
        """Check the data of `fit`; for authors of learners.

        Parameters
        ----------
        X : array-like or sparse matrix (s, n)
        y : array-like (s,)
        reset : bool
            Whether to set `classes_`, `n_features_in_` and `feature_names_in_`; otherwise X and y must agree with them.

        Returns
        -------
        rows : array or CSR matrix (s, n)
            X as described at the top of this module.
        codes : array (s,) of uint8
            Position of every label in `classes_`.
        """
        rows, labels = self._validated(X, y, reset=reset)
        if reset:
            self.classes_ = two_classes(labels)
        return zero_one(self, rows), encoded(labels, self.classes_)

    def check_rows(self, X: ArrayLike) -> Any:
        """Check the rows X (s, n) that a fitted learner is asked about; for authors of learners."""
        check_is_fitted(self)
        return zero_one(self, self._validated(X, NO_TARGET, reset=False))

    def _validated(self, X: Any, y: Any, *, reset: bool) -> Any:
        """X, or X and y, as validated by scikit-learn; plain bytes are returned as they are, which saves time."""
        prepare_kernels()
        if are_plain(X, y) and not hasattr(self, "feature_names_in_"):
            if reset:
                self.n_features_in_ = X.shape[1]
            if X.shape[1] == self.n_features_in_:
                return X if isinstance(y, str) else (X, y)
        refuse_text_columns(X)
        finite = "allow-nan" if self.__sklearn_tags__().input_tags.allow_nan else True
        return validate_data(self, X, y, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=finite)


class LinearClassifier(BinaryClassifier):
    """A binary classifier that is a linear rule: it sets `coef_` (1, n) and `intercept_` (1,)."""

    coef_: Floats
    intercept_: Floats

    def decision_function(self, X: ArrayLike) -> Floats:
        """X · `coef_` + `intercept_`, shape (s,)."""
        return rule_scores(self.check_rows(X), self.coef_[0], self.intercept_[0])

    def set_rule(self, coefficients: Floats, intercept: float) -> Self:
        """Set `coef_` and `intercept_`; if there is one class only, it is always predicted. For authors of learners.

        Parameters
        ----------
        coefficients : array (n,)
        intercept : float
            The rule predicts `classes_[1]` where X · coefficients + intercept > 0.

        Returns
        -------
        self
        """
        if self.classes_.size == 1:
            coefficients, intercept = np.zeros(self.n_features_in_), -1.0
        self.coef_ = np.asarray(coefficients, dtype=np.float64).reshape(1, -1)
        self.intercept_ = np.array([intercept], dtype=np.float64)
        return self


class OnlineClassifier(LinearClassifier):
    """A linear classifier that can be updated: `start` makes its empty state, `learn` adds rows to it."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from X (s, n) of 0/1 and the labels y (s,); earlier data are forgotten."""
        rows, codes = self.check_training_data(X, y)
        self.start()
        return self.learn(rows, codes)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Update the model with more rows; the first call needs `classes` unless y contains both."""
        return self.learn(*self.check_next_data(X, y, classes))

    @abstractmethod
    def start(self) -> None:
        """Make the state before the first row; `n_features_in_` is known. To be implemented."""

    @abstractmethod
    def learn(self, rows: Any, codes: Bits) -> Self:
        """Add checked rows (s, n) and codes (s,) to the state, then call `set_rule`. To be implemented."""

    def check_next_data(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None) -> tuple[Any, Bits]:
        """As `check_training_data`, for `partial_fit`; the first call sets `classes_` and calls `start`."""
        is_first = not hasattr(self, "classes_")
        rows, labels = self._validated(X, y, reset=is_first)
        rows = zero_one(self, rows)
        named = None if classes is None else two_classes(np.asarray(classes))
        if is_first:
            first = first_classes(labels, named)
            self.start()
            self.classes_ = first
        elif named is not None and not np.array_equal(named, self.classes_):
            raise DataError(f"classes={named.tolist()} differ from those of the first call, {self.classes_.tolist()}.")
        return rows, encoded(labels, self.classes_)


class MixtureClassifier(BinaryClassifier):
    """A fitted mixture over (y, x) as a classifier: it sets `weights_` (k,) and `probs_` (n + 1, k)."""

    weights_: Floats
    probs_: Floats

    @property
    def coef_(self) -> Floats:
        """Coefficients (1, n) of the linear rule."""
        return self._rule()[0].reshape(1, -1)

    @property
    def intercept_(self) -> Floats:
        """Intercept (1,) of the linear rule."""
        return np.array([self._rule()[1]])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class of every row: `classes_[1]` where its P(y | x) exceeds 1/2; for two hidden classes a linear rule."""
        is_positive = self._is_positive(self.check_rows(X))
        return self.classes_[is_positive.astype(np.intp)]

    def decision_function(self, X: ArrayLike) -> Floats:
        """Log-odds of y, log P(classes_[1] | x) − log P(classes_[0] | x), also where the best rule is a constant.

        Where rounding hides on which side of 0 they are, `coef_` and `intercept_` decide.
        """
        rows = self.check_rows(X)
        log_odds = bernoulli.target_log_odds(rows, self.weights_, self.probs_)
        least = np.finfo(np.float64).tiny
        return np.where(self._is_positive(rows, log_odds), np.maximum(log_odds, least), np.minimum(log_odds, 0.0))

    def _is_positive(self, rows: Any, log_odds: Floats | None = None) -> NDArray[np.bool_]:
        """Whether each of the checked rows is in `classes_[1]`: by the linear rule if there is one, which is faster."""
        if self.classes_.size == 1:
            return np.zeros(rows.shape[0], dtype=bool)
        if self.weights_.size == 2 and rows.dtype == np.uint8:
            return rule_scores(rows, *self._rule()) > 0
        if log_odds is None:
            log_odds = bernoulli.target_log_odds(rows, self.weights_, self.probs_)
        return log_odds > 0

    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(y | x) for every row and class, shape (s, 2); attributes that are NaN are summed out."""
        chances = bernoulli.target_chances(self.check_rows(X), self.weights_, self.probs_)
        if self.classes_.size == 1:
            return np.ones((chances.size, 1))
        return np.column_stack([1 - chances, chances])

    def score_samples(self, X: ArrayLike, y: ArrayLike | None = None) -> Floats:
        """Log P(y, x) of every row, or log P(x) without y."""
        if y is None:
            return bernoulli.log_likelihood(self.check_rows(X), self.weights_, self.probs_[1:])
        check_is_fitted(self)
        rows, codes = self.check_training_data(X, y, reset=False)
        return bernoulli.log_likelihood(with_target(rows, codes), self.weights_, self.probs_)

    def sample(self, size: int, random_state: int | None = None) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """Draw attributes (size, n) and labels (size,) from the fitted mixture."""
        check_is_fitted(self)
        rows = bernoulli.draw(self.weights_, self.probs_, size, np.random.default_rng(random_state))
        return np.ascontiguousarray(rows[:, 1:]), self.classes_[rows[:, 0] % self.classes_.size]

    def _rule(self) -> tuple[Floats, float]:
        """Linear rule of two hidden classes."""
        name = type(self).__name__
        if "weights_" not in vars(self):
            raise AttributeError(f"{name} has no coef_ and intercept_ before it is fitted; call fit first.")
        if self.weights_.size != 2:
            raise AttributeError(
                f"{name} with {self.weights_.size} hidden classes is not a linear rule, so it has no coef_ and "
                "intercept_; use decision_function or predict_proba, or n_classes=2."
            )
        return bernoulli.linear_rule(self.weights_, self.probs_)


def class_probabilities(log_odds: Floats, n_classes: int) -> Floats:
    """Columns P(classes_[0] | x), P(classes_[1] | x) from log-odds; one column of ones for one class."""
    if n_classes == 1:
        return np.ones((log_odds.size, 1))
    return np.column_stack([expit(-log_odds), expit(log_odds)])
