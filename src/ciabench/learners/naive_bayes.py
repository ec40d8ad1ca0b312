"""Naive Bayes: attributes independent given the class (lecture on linear classifiers).

In the formulas p_i = P(x_i = 1 | classes_[1]), q_i = P(x_i = 1 | classes_[0]), and π is the share of `classes_[1]`.
"""

from typing import Any, Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.special import log_expit

from ciabench.arrays import Bits, Floats
from ciabench.errors import check_between
from ciabench.learners.base import OnlineClassifier, class_probabilities
from ciabench.learners.data import checked_weights
from ciabench.probability.bernoulli import floored_log


@njit(cache=True)
def _count_ones(X: Bits, y: Bits, weights: Floats) -> Floats:
    """Weighted number of ones of every column in class 0 and class 1, shape (2, n)."""
    ones = np.zeros((2, X.shape[1]))
    for row in range(X.shape[0]):
        ones_of_class, weight = ones[y[row]], weights[row]
        for column in range(X.shape[1]):
            ones_of_class[column] += X[row, column] * weight
    return ones


def counts(X: Any, y: Bits, weights: Floats) -> tuple[Floats, Floats]:
    """Weight of each class, shape (2,), and its weighted number of ones in every column, shape (2, n)."""
    totals = np.bincount(y, weights, minlength=2).astype(np.float64)
    if isinstance(X, np.ndarray):
        return totals, _count_ones(X, y, weights)
    return totals, np.stack([X.T @ (weights * (y == label)) for label in (0, 1)])


def log_odds_rule(class_count: Floats, feature_count: Floats, smoothing: float) -> tuple[Floats, float]:
    """Coefficients and intercept of log P(1 | x) / P(0 | x)."""
    log_ones = np.log(feature_count + smoothing)
    log_zeros = np.log(class_count[:, None] - feature_count + smoothing)
    log_totals = np.log(class_count + 2 * smoothing)
    absent = (log_zeros - log_totals[:, None]).sum(axis=1)
    intercept = np.diff(floored_log(class_count) + absent)[0]
    return np.diff(log_ones - log_zeros, axis=0)[0], float(intercept)


class NaiveBayes(OnlineClassifier):
    """Bernoulli naive Bayes with Laplace smoothing, as a linear rule.

    The score is the log-odds of `classes_[1]`,

        log(π / (1−π)) + Σ_i log((1−p_i) / (1−q_i)) + Σ_i x_i (logit p_i − logit q_i),

    so that P(classes_[1] | x) is the sigmoid of `decision_function`. With N rows in a class, of which N_i have
    x_i = 1, its probability of a one is (N_i + smoothing) / (N + 2 smoothing); π is the plain share. It is the
    two-class model of Grove & Roth (1997, §2) with the hidden variable replaced by the target itself.

    Parameters
    ----------
    smoothing : float
        Pseudo-count of ones and of zeros per column and class; 1 is Laplace's rule.
    binarize : float or None
        Threshold above which a value counts as 1; None accepts only 0 and 1.

    Attributes
    ----------
    classes_ : array (2,)
        The labels; only one if y contained only one.
    class_count_ : array (2,)
        Weight of the rows of each class.
    feature_count_ : array (2, n)
        Weight of the ones in each class and column.
    coef_ : array (1, n)
        logit p_i − logit q_i.
    intercept_ : array (1,)
        The rest of the log-odds.

    References
    ----------
    .. [1] A. J. Grove and D. Roth. Linear concepts and hidden variables: an empirical study. NIPS 10, 1997.
    .. [2] C. D. Manning, P. Raghavan and H. Schütze. Introduction to Information Retrieval, §13.3. 2008.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 2, (500, 10))
    >>> y = X[:, :3].sum(axis=1) > 1
    >>> NaiveBayes().fit(X, y).score(X, y)
    1.0
    """

    def __init__(self, *, smoothing: float = 1.0, binarize: float | None = None) -> None:
        self.smoothing = smoothing
        self.binarize = binarize

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from X (s, n) of 0/1 and the labels y (s,); a weight of 2 counts a row twice."""
        rows, codes = self.check_training_data(X, y)
        self.start()
        return self.learn(rows, codes, sample_weight)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Update the model with more rows; the first call needs `classes` unless y contains both."""
        rows, codes = self.check_next_data(X, y, classes)
        return self.learn(rows, codes, sample_weight)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(class | x), one column per class."""
        return class_probabilities(self.decision_function(X), self.classes_.size)

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Log P(class | x), accurate even where P underflows."""
        log_odds = self.decision_function(X)
        if self.classes_.size == 1:
            return np.zeros((log_odds.size, 1))
        return np.column_stack([log_expit(-log_odds), log_expit(log_odds)])

    def start(self) -> None:
        """Set all counts to 0."""
        self.class_count_ = np.zeros(2)
        self.feature_count_ = np.zeros((2, self.n_features_in_))

    def learn(self, rows: Any, codes: Bits, sample_weight: ArrayLike | None = None) -> Self:
        """Add the counts of these rows and update the rule."""
        check_between("smoothing, the pseudo-count,", self.smoothing, 0, np.inf)
        class_count, feature_count = counts(rows, codes, checked_weights(sample_weight, codes.size))
        self.class_count_ += class_count
        self.feature_count_ += feature_count
        return self.set_rule(*log_odds_rule(self.class_count_, self.feature_count_, self.smoothing))
