"""Naive Bayes: attributes independent given the class (lecture on linear classifiers).

In the formulas p_i = P(x_i = 1 | classes_[1]), q_i = P(x_i = 1 | classes_[0]), and π is the share of `classes_[1]`.
"""

from typing import Any, ClassVar, Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import log_expit
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ciabench.arrays import Bits, Coded, Floats
from ciabench.errors import DataError, check_between
from ciabench.learners.base import BinaryClassifier, class_probabilities, rule_scores
from ciabench.learners.data import checked_weights
from ciabench.learners.rows import (
    as_table_rows,
    bit_columns,
    checked_labels,
    label_codes,
    next_rows,
    softmax,
    training_data,
)
from ciabench.probability.bernoulli import floored_log
from ciabench.probability.product import Parameters, log_joint


@njit(cache=True)
def _count_ones(X: Bits, y: Any, weights: Floats, ones: Floats) -> None:
    """Add the weighted number of ones of every column in every class to `ones` (C, n)."""
    for row in range(X.shape[0]):
        ones_of_class, weight = ones[y[row]], weights[row]
        for column in range(X.shape[1]):
            ones_of_class[column] += X[row, column] * weight


def counts(X: Any, y: Any, weights: Floats, n_classes: int) -> tuple[Floats, Floats]:
    """Weight of each class, shape (C,), and its weighted number of ones in every column, shape (C, n)."""
    totals = np.bincount(y, weights, minlength=n_classes).astype(np.float64)
    if isinstance(X, np.ndarray):
        ones = np.zeros((n_classes, X.shape[1]))
        _count_ones(X, y, weights, ones)
        return totals, ones
    return totals, np.stack([X.T @ (weights * (y == label)) for label in range(n_classes)])


def log_joint_rule(
    class_count: Floats, feature_count: Floats, observed_count: Floats, smoothing: float
) -> tuple[Floats, Floats]:
    """Coefficients (C, n) and intercepts (C,) of log P(class, x) for 0/1 columns."""
    log_ones = floored_log(feature_count + smoothing)
    log_zeros = floored_log(observed_count - feature_count + smoothing)
    log_totals = floored_log(observed_count + 2 * smoothing)
    absent = (log_zeros - log_totals).sum(axis=1)
    return log_ones - log_zeros, floored_log(class_count) + absent


class NaiveBayes(BinaryClassifier):
    """Naive Bayes with Laplace smoothing for tables of any kind, with any number of labels.

    A binary or categorical column has a probability for every level in each class: with N observed cells in a class, of
    which N_v have level v, it is (N_v + smoothing) / (N + levels · smoothing). A numeric column is Gaussian. Missing
    cells are left out of the product. For 0/1 columns and two labels the score is the log-odds of `classes_[1]`,

        log(π / (1−π)) + Σ_i log((1−p_i) / (1−q_i)) + Σ_i x_i (logit p_i − logit q_i),

    a linear rule; π is the plain share. It is the two-class model of Grove & Roth (1997, §2) with the hidden variable
    replaced by the target itself.

    Parameters
    ----------
    smoothing : float
        Pseudo-count of every level per column and class; 1 is Laplace's rule, 0 is maximum likelihood.
    var_smoothing : float
        Share of the largest variance of all numeric columns that is added to every variance, as in scikit-learn's
        GaussianNB.
    kinds : str, dict or None
        Kinds of the columns, where they should not be inferred: "binary", "categorical" or "numeric", for all columns
        or by name.
    binarize : float or None
        Threshold above which a value counts as 1; None takes columns as they are.

    Attributes
    ----------
    classes_ : array (C,)
        The labels.
    class_count_ : array (C,)
        Weight of the rows of each class.
    feature_count_ : array (C, n)
        Weight of the ones in each class and column, if all columns are binary.
    parameters_ : Parameters
        Shares of the classes, tables of levels, means and variances.
    kinds_ : dict
        Kind of every column.
    coef_ : array (1, n) or (C, n)
        logit p_i − logit q_i for 0/1 columns and two labels; with more labels, logit p_i of every class.
    intercept_ : array (1,) or (C,)
        The rest of the log-odds, or of log P(class, x).

    References
    ----------
    .. [1] Grove, A. J. and Roth, D. Linear concepts and hidden variables: an empirical study. NIPS 10, 1997.
    .. [2] Manning, C. D., Raghavan, P. and Schütze, H. Introduction to Information Retrieval, §13.3. 2008.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 2, (500, 10))
    >>> y = X[:, :3].sum(axis=1) > 1
    >>> NaiveBayes().fit(X, y).score(X, y)
    1.0

    A table with text, numbers, missing cells and three labels:

    >>> import pandas as pd
    >>> table = pd.DataFrame({"petal": [1.4, 1.3, None, 4.5, 4.7, 4.4, 6.0, 5.9], "colour": list("bbbwwwyb")})
    >>> species = ["setosa"] * 3 + ["versicolor"] * 3 + ["virginica"] * 2
    >>> NaiveBayes().fit(table, species).score(table, species)
    1.0
    """

    takes_tables: ClassVar[bool] = True

    def __init__(
        self,
        *,
        smoothing: float = 1.0,
        var_smoothing: float = 1e-9,
        kinds: Any = None,
        binarize: float | None = None,
    ) -> None:
        self.smoothing = smoothing
        self.var_smoothing = var_smoothing
        self.kinds = kinds
        self.binarize = binarize

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table X (s, n) and the labels y (s,); a weight of 2 counts a row twice."""
        rows, codes = training_data(self, X, y)
        self._start(rows)
        return self._learn(rows, codes, sample_weight)

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Update the model with more rows; the first call decides the columns, and needs `classes` unless y has all."""
        named = None if classes is None else np.unique(np.asarray(classes))
        if not hasattr(self, "classes_"):
            rows, codes = training_data(self, X, y)
            if named is not None:
                labels, self.classes_ = self.classes_[codes], named
                codes = label_codes(labels, named)
            elif self.classes_.size == 1:
                only = self.classes_.tolist()[0]
                del self.classes_
                raise DataError(
                    f"y contains only the class {only!r}; the first call of partial_fit then needs `classes`."
                )
            self._start(rows)
            return self._learn(rows, codes, sample_weight)
        if named is not None and not np.array_equal(named, self.classes_):
            raise DataError(f"classes={named.tolist()} differ from those of the first call, {self.classes_.tolist()}.")
        rows = next_rows(self, X)
        return self._learn(rows, label_codes(checked_labels(y, as_table_rows(rows)), self.classes_), sample_weight)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Log-odds (s,) of `classes_[1]`, or log P(class, x) of every class, (s, C), if there are more than two."""
        check_is_fitted(self)
        rows = next_rows(self, X)
        if self.classes_.size <= 2 and self._are_bits and not _has_gaps(rows):
            return rule_scores(rows, self._rules[0][0], self._rules[1][0])
        scores = self._log_joint(rows)
        if self.classes_.size > 2:
            return scores
        odds: Floats = scores[:, -1] - scores[:, 0] - (self.classes_.size == 1)
        return odds

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Label of every row: the one with the largest P(class | x)."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(class | x), one column per class."""
        scores = self.decision_function(X)
        return softmax(scores) if scores.ndim == 2 else class_probabilities(scores, self.classes_.size)

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Log P(class | x), accurate even where P underflows."""
        scores = self.decision_function(X)
        if scores.ndim == 2:
            return np.asarray(scores - np.logaddexp.reduce(scores, axis=1)[:, None], dtype=np.float64)
        if self.classes_.size == 1:
            return np.zeros((scores.size, 1))
        return np.column_stack([log_expit(-scores), log_expit(scores)])

    @property
    def coef_(self) -> Floats:
        """Coefficients of the linear rule."""
        self._check_linear()
        return self._rules[0]

    @property
    def intercept_(self) -> Floats:
        """Intercepts of the linear rule."""
        self._check_linear()
        return self._rules[1]

    @property
    def kinds_(self) -> dict[Any, str]:
        """Kind of every column."""
        return self._kinds if self.columns_ else bit_columns(self).kinds

    @kinds_.setter
    def kinds_(self, kinds: dict[Any, str]) -> None:
        self._kinds = kinds

    @property
    def parameters_(self) -> Parameters:
        """Shares of the classes, and their tables, means and variances."""
        shares, smoothing = self.class_count_ / self.class_count_.sum(), self.smoothing
        if self._are_bits:
            chances = (self.feature_count_ + smoothing) / (self._observed_count + 2 * smoothing)
            tables = tuple(np.stack([1 - column, column]) for column in chances.T)
            return Parameters(shares, tables, np.empty((0, shares.size)), np.empty((shares.size, 0)))
        tables = tuple(
            (one + smoothing) / np.maximum(one.sum(axis=0) + len(one) * smoothing, np.finfo(float).tiny)
            for one in self._level_counts
        )
        masses, means, squares = self._moments
        safe = np.maximum(masses, np.finfo(float).tiny)
        total = safe.sum(axis=1, keepdims=True)
        overall = (squares + masses * (means - (masses * means).sum(axis=1, keepdims=True) / total) ** 2).sum(axis=1)
        added = self.var_smoothing * (overall / total[:, 0]).max(initial=0.0)
        added = added if added > 0 else np.finfo(float).eps
        return Parameters(shares, tables, means, (squares / safe + added).T)

    def _check_linear(self) -> None:
        if not hasattr(self, "class_count_"):
            raise AttributeError("NaiveBayes has no coef_ and intercept_ before it is fitted; call fit first.")
        if not (self._are_bits and (self.columns_ is None or self.columns_.are_bits)):
            raise AttributeError(
                "NaiveBayes is a linear rule only for columns of 0 and 1, so it has no coef_ and intercept_ here; use "
                "decision_function or predict_proba."
            )

    def _log_joint(self, rows: Any) -> Floats:
        if self._are_bits and not _has_gaps(rows):
            coefficients, intercepts = self._joint_rule()
            return np.stack([rule_scores(rows, *rule) for rule in zip(coefficients, intercepts, strict=True)], axis=1)
        return log_joint(as_table_rows(rows), self.parameters_)

    def _joint_rule(self) -> tuple[Floats, Floats]:
        return log_joint_rule(self.class_count_, self.feature_count_, self._observed_count, self.smoothing)

    def _start(self, rows: Any) -> None:
        """Set all counts to 0."""
        self._are_bits, n_classes = not isinstance(rows, Coded), self.classes_.size
        self.class_count_ = np.zeros(n_classes)
        if self._are_bits:
            self.feature_count_ = np.zeros((n_classes, self.n_features_in_))
            self._observed_count = np.zeros((n_classes, 1))
            return
        self._level_counts = [np.zeros((levels, n_classes)) for levels in rows.n_levels]
        self._moments = np.zeros((3, rows.numbers.shape[1], n_classes))

    def _learn(self, rows: Any, codes: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Add the counts of these rows and update the rule."""
        check_between("smoothing, the pseudo-count,", self.smoothing, 0, np.finfo(float).max, closed=True)
        check_between("var_smoothing", self.var_smoothing, 0, np.finfo(float).max, closed=True)
        weights = checked_weights(sample_weight, codes.size)
        if isinstance(rows, Coded):
            self._count_levels(rows, codes, weights)
            return self
        self._count_bits(rows, codes, weights)
        coefficients, intercepts = self._joint_rule()
        if self.classes_.size == 2:
            coefficients, intercepts = np.diff(coefficients, axis=0), np.diff(intercepts)
        elif self.classes_.size == 1:
            coefficients, intercepts = np.zeros_like(coefficients), np.array([-1.0])
        self._rules = coefficients, intercepts
        return self

    def _count_bits(self, rows: Any, codes: Any, weights: Floats) -> None:
        """Add ones, and observed cells: one number per class as long as no cell is missing."""
        n_classes, observed = self.classes_.size, None
        if _has_gaps(rows):
            members = weights * (codes == np.arange(n_classes)[:, None])
            observed, rows = members @ ~np.isnan(rows), (rows == 1).astype(np.uint8)
        class_count, feature_count = counts(rows, codes, weights, n_classes)
        self.class_count_ += class_count
        self.feature_count_ += feature_count
        self._observed_count = self._observed_count + (class_count[:, None] if observed is None else observed)

    def _count_levels(self, rows: Coded, codes: Any, weights: Floats) -> None:
        """Add levels of discrete columns, and moments of numeric ones."""
        n_classes = self.classes_.size
        self.class_count_ += np.bincount(codes, weights, n_classes)
        for found, column in zip(self._level_counts, rows.codes.T, strict=True):
            pairs = np.bincount(column.astype(np.intp) * n_classes + codes, weights, (len(found) + 1) * n_classes)
            found += pairs.reshape(-1, n_classes)[:-1]
        members = (weights * (codes == np.arange(n_classes)[:, None])).T
        self._moments = merged_moments(self._moments, rows.numbers, members, codes)


def merged_moments(moments: Floats, numbers: Floats, members: Floats, codes: Any) -> Floats:
    """Masses, means and sums of squares about these, (3, m, C), with those of more rows (Chan et al. 1979)."""
    observed, filled = ~np.isnan(numbers), np.nan_to_num(numbers)
    masses = observed.T @ members
    means = filled.T @ members / np.maximum(masses, np.finfo(float).tiny)
    residuals = np.where(observed, numbers - means.T[codes], 0.0)
    squares = (residuals**2).T @ members
    total = np.maximum(moments[0] + masses, np.finfo(float).tiny)
    change = means - moments[1]
    return np.stack(
        [moments[0] + masses, moments[1] + change * masses / total,
         moments[2] + squares + change**2 * moments[0] * masses / total]
    )  # fmt: skip


def _has_gaps(rows: Any) -> bool:
    """Whether rows of bits have missing cells."""
    return not sparse.issparse(rows) and rows.dtype.kind == "f"
