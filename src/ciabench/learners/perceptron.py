"""The Perceptron: plain, with margin, averaged and voted (lecture on linear classifiers).

In the formulas a label is ±1, +1 for `classes_[1]`; the bias b is the weight of an attribute that is always 1.
"""

from typing import Any, ClassVar, Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ciabench.arrays import Bits, Floats
from ciabench.errors import ParameterError, check_between, check_choice, check_integer
from ciabench.learners.base import OnlineClassifier, rule_scores

VARIANTS = ("plain", "averaged", "voted")

WHOLE_VECTORS = 32
"""Columns per step of a vectorised loop; a remainder of 11 beside 64 costs a quarter of the time."""

VOTES_AT_ONCE = 2**22
"""Votes held in memory at a time while predicting."""


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def _pass_dense(X: Any, y: Bits, weights: Floats, delayed: Floats, step: int, margin: float) -> Bits:
    """One pass over rows (x, 1, 0 …); adds updates to weights, updates times their step to delayed; flags mistakes."""
    mistakes = np.zeros(y.size, dtype=np.uint8)
    for row in range(y.size):
        score = 0.0
        for i in range(weights.size):
            score += X[row, i] * weights[i]
        sign = 1.0 if y[row] == 1 else -1.0
        if sign * score <= margin:
            mistakes[row] = 1
            late = sign * (step + row)
            # Two loops: numba does not vectorise a joint one, which takes 3 times as long.
            for i in range(weights.size):
                weights[i] += sign * X[row, i]
            for i in range(delayed.size):
                delayed[i] += late * X[row, i]
    return mistakes


@njit(cache=True)
def _pass_sparse(X: Any, y: Bits, weights: Floats, delayed: Floats, step: int, margin: float) -> Bits:
    """`_pass_dense` for X = (indptr, indices, n), in as many steps as there are ones; weight n is the bias."""
    indptr, indices, bias = X
    mistakes = np.zeros(y.size, dtype=np.uint8)
    for row in range(y.size):
        ones = indices[indptr[row] : indptr[row + 1]]
        sign = 1.0 if y[row] == 1 else -1.0
        if sign * (weights[bias] + weights[ones].sum()) <= margin:
            mistakes[row] = 1
            late = sign * (step + row)
            weights[ones] += sign
            weights[bias] += sign
            if delayed.size:
                delayed[ones] += late
                delayed[bias] += late
    return mistakes


def padded_width(n_features: int) -> int:
    """Number of weights and the bias, rounded up so that vectorised loops have no remainder."""
    return -(-(n_features + 1) // WHOLE_VECTORS) * WHOLE_VECTORS


def padded(rows: Bits) -> Bits:
    """Rows (x, 1, 0 …) with as many columns as there are weights."""
    n_samples, n_features = rows.shape
    wide = np.zeros((n_samples, padded_width(n_features)), dtype=np.uint8)
    wide[:, :n_features], wide[:, n_features] = rows, 1
    return wide


def vote(rows: Any, updates: Any, signs: Floats, survivals: Floats) -> Floats:
    """Mean vote in [−1, 1] of all voters; the k-th is the sum of the first k updates, sign · (x, 1)."""
    overlaps = rows.astype(np.float64) @ updates.T.astype(np.float64)
    overlaps = overlaps.toarray() if sparse.issparse(overlaps) else overlaps
    votes = np.where(np.cumsum(signs * (overlaps + 1), axis=1) > 0, 1.0, -1.0)
    shares: Floats = votes @ survivals / survivals.sum()
    return shares


class Perceptron(OnlineClassifier):
    """Perceptron with bias, on rows in the order given.

    It starts from w = 0, b = 0, and on every row with label·(w·x + b) ≤ margin adds label·x to w and label to b. With
    margin 0 these are its mistakes (a score of 0 counts as one), at most R²/γ² of them on separable data, with R the
    largest length of (x, 1) and γ the distance of the nearest (x, 1) to the best plane through 0.

    The variants differ in what they predict with. "plain": the last w, b, as in the paper and in scikit-learn.
    "averaged": the mean of w, b over all steps, almost always better. "voted": sgn Σ_k c_k sgn(w_k·x + b_k), in which
    each intermediate (w_k, b_k) votes with the number c_k of steps that it survived; sgn 0 is −1. This rule is not
    linear, so it has no `coef_`, and its predictions take time and memory in proportion to `n_mistakes_`.

    Parameters
    ----------
    variant : "plain", "averaged" or "voted"
        Which rule predicts; it may be changed before `fit`, but not between calls of `partial_fit`.
    margin : float
        Rows with a score up to this are updated on too (a thick separator). An update changes weights by 1.
    n_passes : int
        Passes over the rows, in the order given: shuffle rows that are sorted by class.
    binarize : float or None
        Threshold above which a value counts as 1; None accepts only 0 and 1.

    Attributes
    ----------
    coef_ : array (1, n)
        Coefficients of the rule, unless voted.
    intercept_ : array (1,)
        Intercept of the rule, unless voted.
    n_mistakes_ : int
        Number of updates.

    References
    ----------
    .. [1] Rosenblatt, F. The perceptron. Psychological Review 65, 1958.
    .. [2] Freund, Y. and Schapire, R. Large margin classification using the perceptron algorithm. Machine Learning
       37, 1999.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 2, (500, 10))
    >>> y = X[:, :3].sum(axis=1) > 1
    >>> Perceptron().fit(X, y).score(X, y)
    1.0
    """

    facts: ClassVar[tuple[str, ...]] = ("n_mistakes_",)

    def __init__(
        self, *, variant: str = "plain", margin: float = 0.0, n_passes: int = 10, binarize: float | None = None
    ) -> None:
        self.variant = variant
        self.margin = margin
        self.n_passes = n_passes
        self.binarize = binarize

    def __getattr__(self, name: str) -> Any:
        if name in ("coef_", "intercept_") and self.variant == "voted":
            raise AttributeError(f"a voted Perceptron is not a linear rule, so it has no {name}; use 'averaged'.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def decision_function(self, X: ArrayLike) -> Floats:
        """X · `coef_` + `intercept_`, or the mean vote in [−1, 1]; shape (s,)."""
        rows = self.check_rows(X)
        if self._updates is None:
            return rule_scores(rows, self.coef_[0], self.intercept_[0])
        if self.classes_.size == 1:
            return np.full(rows.shape[0], -1.0)
        size = max(1, VOTES_AT_ONCE // self._signs.size)
        survivals = np.diff(self._steps, append=self._n_steps).astype(np.float64)
        blocks = [rows[start : start + size] for start in range(0, rows.shape[0], size)]
        return np.concatenate([vote(block, self._updates, self._signs, survivals) for block in blocks])

    def start(self) -> None:
        """Set all weights to 0."""
        check_choice("variant", self.variant, VARIANTS)
        self._begun_as = self.variant
        self._weights = np.zeros(padded_width(self.n_features_in_))
        self._delayed = np.zeros(self._weights.size if self.variant == "averaged" else 0)
        self._n_steps = self.n_mistakes_ = 0
        self._updates: Any = None
        self._signs, self._steps = np.empty(0), np.empty(0, dtype=np.int64)

    def learn(self, rows: Any, codes: Bits) -> Self:
        """Pass over the rows, then update the rule."""
        check_between("margin", self.margin, 0, np.finfo(np.float64).max, closed=True)
        check_integer("n_passes", self.n_passes, 1)
        if self.variant != self._begun_as:
            raise ParameterError(f"variant was {self._begun_as!r} at the start and is now {self.variant!r}; call fit.")
        is_dense, n = isinstance(rows, np.ndarray), self.n_features_in_
        kernel, data = (_pass_dense, padded(rows)) if is_dense else (_pass_sparse, (rows.indptr, rows.indices, n))
        for _ in range(self.n_passes):
            mistakes = kernel(data, codes, self._weights, self._delayed, self._n_steps, float(self.margin))
            self._remember(rows, codes, mistakes)
        if self.variant == "voted":
            return self
        # Mean of the weights over all steps: an update at step t lasts for the other n_steps − t.
        late = self._delayed / self._n_steps if self.variant == "averaged" else 0.0
        rule = self._weights - late
        return self.set_rule(rule[:n], rule[n])

    def _remember(self, rows: Any, codes: Bits, mistakes: Bits) -> None:
        """Count the updates of one pass and, if voted, store them: the voters are their partial sums."""
        self.n_mistakes_ += int(mistakes.sum())
        if self.variant == "voted":
            made = np.flatnonzero(mistakes)
            self._keep(rows[made], np.where(codes[made], 1.0, -1.0), self._n_steps + made)
        self._n_steps += codes.size

    def _keep(self, updates: Any, signs: Floats, steps: NDArray[np.int64]) -> None:
        blocks = [updates] if self._updates is None else [self._updates, updates]
        is_sparse = any(map(sparse.issparse, blocks))
        self._updates = sparse.vstack(blocks, format="csr") if is_sparse else np.concatenate(blocks)
        self._signs = np.append(self._signs, signs)
        self._steps = np.append(self._steps, steps)
