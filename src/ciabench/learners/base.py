"""What all learners share: 0/1 input, two classes of any label, linear scores.

Inside the learners X is a C-contiguous uint8 array or a CSR matrix whose stored entries are all 1, and y is uint8 with
0 for `classes_[0]` and 1 for `classes_[1]`.
"""

import os
import sys
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ciabench.arrays import Bits, Floats
from ciabench.errors import DataError
from ciabench.learners.data import (
    NO_TARGET,
    are_plain,
    encoded,
    first_classes,
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


def kept_kernels() -> list[Path]:
    """Indices of the compiled kernels that numba keeps beside these files."""
    return list((Path(__file__).parent / "__pycache__").glob("*.nbi"))


def drop_old_kernels() -> None:
    """Have kernels compiled anew that are older than any of these files.

    Numba keeps a kernel as long as the file that it stands in is the same; but it is made of functions of others too.
    """
    with suppress(OSError):
        changed = max(source.stat().st_mtime for source in Path(__file__).parent.glob("*.py"))
        for index in kept_kernels():
            if index.stat().st_mtime < changed < time.time():
                index.unlink()


drop_old_kernels()


@cache
def tell_of_compilation() -> None:
    """Say once, in a fresh installation, why the first fit takes so long."""
    if os.environ.get("NUMBA_CACHE_DIR") is None and not kept_kernels():
        print("ciabench: compiling kernels, once; this takes 10 to 20 seconds …", file=sys.stderr, flush=True)


class BinaryClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Input checks, label encoding and `predict` for classifiers of 0/1 data into two classes."""

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

    def _check_training_data(self, X: ArrayLike, y: ArrayLike, *, reset: bool = True) -> tuple[Any, Bits]:
        """Checked X, and y as 0/1; sets `classes_` and, when `reset`, what the columns are."""
        tell_of_compilation()
        rows, labels = self._validated(X, y, reset=reset)
        if reset:
            self.classes_ = two_classes(labels)
        return zero_one(self, rows), encoded(labels, self.classes_)

    def _check_rows(self, X: ArrayLike) -> Any:
        """Checked X of a fitted learner."""
        check_is_fitted(self)
        return zero_one(self, self._validated(X, NO_TARGET, reset=False))

    def _validated(self, X: Any, y: Any, *, reset: bool) -> Any:
        """What scikit-learn makes of X, or of X and y; plain bytes stay as they are, which saves time."""
        if are_plain(X, y) and not hasattr(self, "feature_names_in_"):
            if reset:
                self.n_features_in_ = X.shape[1]
            if X.shape[1] == self.n_features_in_:
                return X if isinstance(y, str) else (X, y)
        allow_nan = self.__sklearn_tags__().input_tags.allow_nan
        finite = "allow-nan" if allow_nan else True
        return validate_data(self, X, y, reset=reset, accept_sparse="csr", dtype=None, ensure_all_finite=finite)


class LinearClassifier(BinaryClassifier):
    """A binary classifier that is a linear rule: it sets `coef_` (1, n) and `intercept_` (1,)."""

    coef_: Floats
    intercept_: Floats

    def decision_function(self, X: ArrayLike) -> Floats:
        """X · coef_ + intercept_, shape (s,)."""
        return rule_scores(self._check_rows(X), self.coef_[0], self.intercept_[0])

    def _set_rule(self, coefficients: Floats, intercept: float) -> Self:
        """Keep the rule; one class alone is always predicted."""
        if self.classes_.size == 1:
            coefficients, intercept = np.zeros(self.n_features_in_), -1.0
        self.coef_ = np.asarray(coefficients, dtype=np.float64).reshape(1, -1)
        self.intercept_ = np.array([intercept], dtype=np.float64)
        return self


class OnlineClassifier(LinearClassifier):
    """A linear classifier that can go on learning: `_start` makes its empty state, `_learn` adds rows to it."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from X (s, n) of 0/1 and the labels y (s,), forgetting what was learned before."""
        rows, codes = self._check_training_data(X, y)
        self._start()
        return self._learn(rows, codes)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Go on learning from more rows; the first call needs `classes` unless y shows both."""
        return self._learn(*self._check_next_data(X, y, classes))

    @abstractmethod
    def _start(self) -> None: ...

    @abstractmethod
    def _learn(self, rows: Any, codes: Bits) -> Self: ...

    def _check_next_data(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None) -> tuple[Any, Bits]:
        """Checked X and y of one `partial_fit`; the first one sets `classes_` and starts."""
        is_first = not hasattr(self, "classes_")
        rows, labels = self._validated(X, y, reset=is_first)
        rows = zero_one(self, rows)
        named = None if classes is None else two_classes(np.asarray(classes))
        if is_first:
            first = first_classes(labels, named)
            self._start()
            self.classes_ = first
        elif named is not None and not np.array_equal(named, self.classes_):
            raise DataError(f"classes={named.tolist()} are not those of the first call, {self.classes_.tolist()}.")
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

    def decision_function(self, X: ArrayLike) -> Floats:
        """Score of every row, positive for `classes_[1]`: the linear rule for two classes, else log-odds of y."""
        rows = self._check_rows(X)
        if self.weights_.size == 2 and rows.dtype == np.uint8:
            return rule_scores(rows, *self._rule())
        return bernoulli.logit(self._target_chances(rows))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(y | x) for every row and class, shape (s, 2); attributes that are NaN are summed out."""
        chances = self._target_chances(self._check_rows(X))
        if self.classes_.size == 1:
            return np.ones((chances.size, 1))
        return np.column_stack([1 - chances, chances])

    def score_samples(self, X: ArrayLike, y: ArrayLike | None = None) -> Floats:
        """Log P(y, x) of every row, or log P(x) without y."""
        if y is None:
            return bernoulli.log_likelihood(self._check_rows(X), self.weights_, self.probs_[1:])
        check_is_fitted(self)
        rows, codes = self._check_training_data(X, y, reset=False)
        return bernoulli.log_likelihood(with_target(rows, codes), self.weights_, self.probs_)

    def sample(self, size: int, random_state: int | None = None) -> tuple[NDArray[np.uint8], NDArray[Any]]:
        """Draw attributes (size, n) and labels (size,) from the fitted mixture."""
        check_is_fitted(self)
        rows = bernoulli.draw(self.weights_, self.probs_, size, np.random.default_rng(random_state))
        return np.ascontiguousarray(rows[:, 1:]), self.classes_[rows[:, 0] % self.classes_.size]

    def _rule(self) -> tuple[Floats, float]:
        """Linear rule of two classes."""
        name = type(self).__name__
        if "weights_" not in vars(self):
            raise AttributeError(f"{name} has no coef_ and intercept_ before it is fitted; call fit first.")
        if self.weights_.size != 2:
            raise AttributeError(
                f"{name} with {self.weights_.size} hidden classes is not a linear rule, so it has no coef_ and "
                "intercept_; use decision_function or predict_proba, or n_classes=2."
            )
        return bernoulli.linear_rule(self.weights_, self.probs_)

    def _target_chances(self, rows: Any) -> Floats:
        """P(target = 1 | x)."""
        chances: Floats = bernoulli.posterior(rows, self.weights_, self.probs_[1:]) @ self.probs_[0]
        return chances


def class_probabilities(log_odds: Floats, n_classes: int) -> Floats:
    """Columns P(classes_[0] | x), P(classes_[1] | x) from log-odds; one column of ones for one class."""
    if n_classes == 1:
        return np.ones((log_odds.size, 1))
    return np.column_stack([expit(-log_odds), expit(log_odds)])
