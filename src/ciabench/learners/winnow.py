"""Winnow with a margin and an ensemble (Grove & Roth 1997, §6); its symbols are explained with the parameters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ciabench.arrays import Bits, Floats
from ciabench.errors import check_between, check_integer
from ciabench.learners.base import OnlineClassifier, rule_scores
from ciabench.learners.data import column_names
from ciabench.seeds import as_random_state

if TYPE_CHECKING:
    import pandas as pd

LEAST = 1e-100
"""Smallest weight, so that none is lost for ever. None exceeds α_w (θ + τ): larger ones would never be promoted."""
PASSES = (1, 2, 4, 8, 16)
"""Numbers of passes among which `n_passes="auto"` chooses (ours)."""
Order = NDArray[np.int64]
Rates = tuple[float, float, float, float]


@njit(cache=True)
def _factor(score: float, label: int, rates: Rates) -> float:
    """Factor of the active weights; 1 means no update."""
    promotion, demotion, _threshold, margin = rates
    if label == 1:
        return promotion if score <= margin else 1.0
    is_high = score >= -margin if margin > 0 else score > 0
    return demotion if is_high else 1.0


@njit(cache=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def _multiply(row: Bits, factor: float, plus: Floats, minus: Floats, net: Floats) -> float:
    """Multiply the active weights, update net = w⁺ − w⁻, return Σ w⁻."""
    total = 0.0
    for i in range(net.size):
        active = row[i] != 0
        plus[i] = max(plus[i] * factor if active else plus[i], LEAST)
        minus[i] = max(minus[i] if active else minus[i] * factor, LEAST)
        net[i] = plus[i] - minus[i]
        total += minus[i]
    return total


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def _dense_score(row: Bits, net: Floats, bias: float) -> float:
    """Activation − θ."""
    score = bias
    for i in range(net.size):
        score += row[i] * net[i]
    return score


@njit(cache=True)
def _train_dense(X: Any, y: Bits, order: Order, n_passes: int, plus: Floats, minus: Floats, rates: Rates) -> Any:
    """Pass over the rows in order, changing the weights in place; return the number of updates, and of rows right."""
    net, bias, updates, right = plus - minus, minus.sum() - rates[2], 0, 0
    for _ in range(n_passes):
        for row in order:
            factor = _factor(_dense_score(X[row], net, bias), y[row], rates)
            if factor != 1.0:
                bias = _multiply(X[row], factor, plus, minus, net) - rates[2]
                updates += 1
    for row in order:
        right += (_dense_score(X[row], net, bias) > 0) == y[row]
    return updates, right


@njit(cache=True)
def _train_sparse(X: Any, y: Bits, order: Order, n_passes: int, plus: Floats, minus: Floats, rates: Rates) -> Any:
    """`_train_dense` for X = (indptr, indices): a score takes as many steps as its row has ones, an update n."""
    indptr, indices = X
    bits = np.zeros(plus.size, dtype=np.uint8)
    net, bias, updates, right = plus - minus, minus.sum() - rates[2], 0, 0
    for _ in range(n_passes):
        for row in order:
            ones = indices[indptr[row] : indptr[row + 1]]
            factor = _factor(bias + net[ones].sum(), y[row], rates)
            if factor != 1.0:
                bits[ones] = 1
                bias = _multiply(bits, factor, plus, minus, net) - rates[2]
                bits[ones] = 0
                updates += 1
    for row in order:
        right += (bias + net[indices[indptr[row] : indptr[row + 1]]].sum() > 0) == y[row]
    return updates, right


def shares_right(rows: Any, codes: Bits, orders: list[Order], trained: Floats, threshold: float) -> Floats:
    """Of the members that did not see a row, the share that classifies it correctly: (stages, rows judged by any).

    `trained` (stages, members, 2, n) are the weights after each stage, `orders` the rows that each member saw.
    """
    right, judges = np.zeros((len(trained), codes.size)), np.zeros(codes.size)
    for member, order in enumerate(orders):
        unseen = np.setdiff1d(np.arange(codes.size), order)
        judges[unseen] += 1
        for stage, (plus, minus) in enumerate(trained[:, member]):
            is_positive = rule_scores(rows[unseen], plus - minus, minus.sum() - threshold) > 0
            right[stage, unseen] += is_positive == codes[unseen]
    return right[:, judges > 0] / judges[judges > 0]


def first_good_stage(shares: Floats) -> int:
    """First stage whose mean over the rows is within one standard error of the best; the first if there are no rows."""
    if not shares.size:
        return 0
    means = shares.mean(axis=1)
    best = int(means.argmax())
    error = shares[best].std() / np.sqrt(shares.shape[1])
    return int(np.argmax(means >= means[best] - error))


class Winnow(OnlineClassifier):
    """Margin Winnow, averaged over members that are trained on subsamples.

    A member has 2n positive weights, all 1 at the start, over the attributes and their complements:

        activation(x) = Σ_i w⁺_i x_i + w⁻_i (1 − x_i),   predict 1 iff activation(x) > θ.

    On a row of `classes_[1]` with activation ≤ θ + τ the active weights (w⁺_i where x_i = 1, w⁻_i where x_i = 0) are
    multiplied by α_w; on one of `classes_[0]` with activation ≥ θ − τ (if τ = 0: > θ, as a tie is predicted 0) by
    β_w. The weights are averaged over the members, each weighted by how far its accuracy on its own subsample after
    training exceeds the share of the commoner class there (equally if none does). The result is one linear rule,
    x · (w⁺ − w⁻) + Σ w⁻ − θ. The default values are ours, chosen by `experiments/tune_winnow.py` on
    CIA(20, 2…5, 0.85) and CIA(40, 2…5, 0.85), which are not in the paper's figures.

    Parameters
    ----------
    promotion : float
        α_w > 1.
    demotion : float or None
        β_w < 1; None is 1 / promotion.
    threshold : float or None
        θ; None is n, the activation of every row at the start.
    margin : float
        τ / θ; 0 updates on mistakes only.
    n_passes : int or "auto"
        Passes of each member over its rows. "auto" (ours) takes the fewest of 1, 2, 4, 8 and 16 after which accuracy
        on the rows that members do not see is within one standard error of the best: few on dense data, where more
        would overfit, and many on sparse text. It means 1 where every member sees all rows, as a single one does. It
        is decided by `fit`, or by the first call of `partial_fit`, and kept by later calls.
    n_members : int
        Number of members. A single one is trained on all rows in the given order (basic Winnow).
    subsample : float
        Share of the rows that each member is trained on, in random order.
    random_state : int, RandomState or None
        Source of the subsamples.
    binarize : float or None
        Threshold above which a value counts as 1; None accepts only 0 and 1.

    Attributes
    ----------
    weights_ : array (2, n)
        Averaged w⁺ and w⁻.
    coef_ : array (1, n)
        w⁺ − w⁻.
    intercept_ : array (1,)
        Σ w⁻ − θ.
    member_accuracy_ : array (n_members,)
        Accuracy of each member on its own subsample; after `partial_fit`, over all calls.
    n_updates_ : int
        Updates of all members.
    n_passes_ : int
        Passes made by each member over the rows of a call.

    References
    ----------
    .. [1] Littlestone, N. Learning quickly when irrelevant attributes abound. Machine Learning 2, 1988.
    .. [2] Grove, A. J. and Roth, D. Linear concepts and hidden variables: an empirical study. NIPS 10, 1997.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 2, (500, 10))
    >>> y = X[:, :3].sum(axis=1) > 1
    >>> Winnow(random_state=0).fit(X, y).score(X, y)
    1.0
    >>> Winnow(n_passes="auto", random_state=0).fit(X, y).n_passes_
    1
    """

    facts: ClassVar[tuple[str, ...]] = ("n_updates_",)

    def __init__(
        self,
        *,
        promotion: float = 1.05,
        demotion: float | None = None,
        threshold: float | None = None,
        margin: float = 0.1,
        n_passes: int | str = 1,
        n_members: int = 10,
        subsample: float = 0.8,
        random_state: int | np.random.RandomState | None = None,
        binarize: float | None = None,
    ) -> None:
        self.promotion, self.demotion = promotion, demotion
        self.threshold, self.margin = threshold, margin
        self.n_passes, self.n_members, self.subsample = n_passes, n_members, subsample
        self.random_state, self.binarize = random_state, binarize

    def explain(self, feature_names: Sequence[str] | None = None) -> "pd.DataFrame":
        """Table of the averaged weights, one row per attribute: feature, w_plus, w_minus, net = w⁺ − w⁻."""
        import pandas as pd

        names, (w_plus, w_minus) = column_names(self, feature_names), self.weights_
        return pd.DataFrame({"feature": names, "w_plus": w_plus, "w_minus": w_minus, "net": w_plus - w_minus})

    def start(self) -> None:
        """Set all weights of all members to 1."""
        check_integer("n_members", self.n_members, 1)
        self._random = as_random_state(self.random_state)
        self._weights, self._tallies = np.ones((self.n_members, 2, self.n_features_in_)), np.zeros((self.n_members, 3))
        self.n_updates_ = self.n_passes_ = 0

    def learn(self, rows: Any, codes: Bits) -> Self:
        """Train every member on a subsample of these rows, then average."""
        rates, stages = self._rates(), self._stages()
        is_dense = isinstance(rows, np.ndarray)
        kernel, data = (_train_dense, rows) if is_dense else (_train_sparse, (rows.indptr, rows.indices))
        orders, steps = [self._order(codes.size) for _ in self._weights], np.diff(stages, prepend=0).tolist()
        trained = np.empty((len(stages), *self._weights.shape))
        counts = np.empty((len(stages), len(orders), 2), dtype=np.int64)
        for member, ((plus, minus), order) in enumerate(zip(self._weights, orders, strict=True)):
            for stage, n_passes in enumerate(steps):
                counts[stage, member] = kernel(data, codes, order, n_passes, plus, minus, rates)
                trained[stage, member] = plus, minus
        last = first_good_stage(shares_right(rows, codes, orders, trained, rates[2])) if len(stages) > 1 else 0
        self.n_passes_, self._weights = stages[last], trained[last].copy()
        self.n_updates_ += int(counts[: last + 1, :, 0].sum())
        self._tallies += [
            (order.size, right, codes[order].sum()) for order, right in zip(orders, counts[last, :, 1], strict=True)
        ]
        return self._average(rates[2])

    def _average(self, threshold: float) -> Self:
        """Average the members, weighted by what they gain on the commoner class."""
        seen, right, positive = self._tallies.T
        self.member_accuracy_ = right / np.maximum(seen, 1)
        excess = np.maximum(right - np.maximum(positive, seen - positive), 0) / np.maximum(seen, 1)
        self.weights_ = np.average(self._weights, axis=0, weights=excess if excess.any() else None)
        w_plus, w_minus = self.weights_
        return self.set_rule(w_plus - w_minus, w_minus.sum() - threshold)

    def _order(self, n_samples: int) -> Order:
        """Rows of the next member."""
        if len(self._weights) == 1:
            return np.arange(n_samples)
        shuffled: Order = self._random.permutation(n_samples)
        return shuffled[: int(self.subsample * n_samples + self._random.uniform())]  # a fraction is rounded at random

    def _stages(self) -> tuple[int, ...]:
        """Numbers of passes to compare: one, unless they are still to be chosen."""
        if self.n_passes != "auto":
            check_integer("n_passes, if not 'auto',", self.n_passes, 1)
            return (int(self.n_passes),)
        if self.n_passes_:
            return (self.n_passes_,)
        return PASSES if len(self._weights) > 1 else PASSES[:1]

    def _rates(self) -> Rates:
        """Checked parameters, with None replaced by the default."""
        check_between("promotion", self.promotion, 1, 1e6)
        demotion = 1 / self.promotion if self.demotion is None else self.demotion
        threshold = self.n_features_in_ if self.threshold is None else self.threshold
        check_between("demotion", demotion, 0, 1)
        check_between("threshold", threshold, 0, 1e100)
        check_between("margin, a fraction of the threshold,", self.margin, 0, 1, closed=True)
        check_between("subsample", self.subsample, 0.01, 1, closed=True)
        return float(self.promotion), float(demotion), float(threshold), float(self.margin * threshold)
