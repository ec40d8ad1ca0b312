"""Winnow with a margin and an ensemble (Grove & Roth 1997, §6).

In the formulas w⁺ and w⁻ are the weights of x_i and of 1 − x_i, θ is the threshold, α_w the promotion, β_w the
demotion and τ the margin.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ciabench.arrays import Bits, Floats
from ciabench.errors import DataError, check_between, check_integer
from ciabench.learners.base import OnlineClassifier

if TYPE_CHECKING:
    import pandas as pd

LEAST = 1e-100
"""Least weight, so that none is lost for ever. None exceeds α_w (θ + τ): it would be active in no promotion."""
Rates = tuple[float, float, float, float]


@njit(cache=True)
def _factor(score: float, label: int, rates: Rates) -> float:
    """What the active weights are multiplied by; 1 leaves them."""
    promotion, demotion, _threshold, margin = rates
    if label == 1:
        return promotion if score <= margin else 1.0
    is_high = score >= -margin if margin > 0 else score > 0
    return demotion if is_high else 1.0


@njit(cache=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def _multiply(row: Bits, factor: float, plus: Floats, minus: Floats, net: Floats) -> float:
    """Multiply the active weights, renew net = w⁺ − w⁻, return Σ w⁻."""
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
def _train_dense(
    X: Any, y: Bits, order: NDArray[np.int64], n_passes: int, plus: Floats, minus: Floats, rates: Rates
) -> tuple[int, int]:
    """Pass over the rows in order, changing the weights in place; count the updates, and who is right at the end."""
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
def _train_sparse(
    X: Any, y: Bits, order: NDArray[np.int64], n_passes: int, plus: Floats, minus: Floats, rates: Rates
) -> tuple[int, int]:
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


class Winnow(OnlineClassifier):
    """Margin Winnow, averaged over members that are trained on subsamples.

    A member has 2n positive weights, all 1 at the start, over the attributes and their complements:

        activation(x) = Σ_i w⁺_i x_i + w⁻_i (1 − x_i),   predict 1 iff activation(x) > θ.

    On a row of `classes_[1]` with activation ≤ θ + τ the active weights (w⁺_i where x_i = 1, w⁻_i where x_i = 0) are
    multiplied by α_w; on one of `classes_[0]` with activation ≥ θ − τ (if τ = 0: > θ, as a tie is predicted 0) by
    β_w. The weights are averaged over the members, each weighted by how far its accuracy on its own subsample after
    training exceeds the share of the commoner class there (equally if none does). The result is one linear rule,
    x · (w⁺ − w⁻) + Σ w⁻ − θ. The amounts are ours, chosen by `experiments/tune_winnow.py` on CIA(20, 2…5, .85) and
    CIA(40, 2…5, .85), which are not in the paper's figures.

    Parameters
    ----------
    promotion, demotion : float
        α_w > 1 and β_w < 1; a demotion of None is 1 / promotion.
    threshold, margin : float
        θ, where None is n, the activation of every row at the start; and τ / θ, where 0 updates on mistakes only.
    n_passes, n_members : int
        Passes of a member over its rows, and members. A single one takes all rows as they come (basic Winnow).
    subsample, random_state : float; int, RandomState or None
        Share of the rows that a member is trained on, in random order, and the source of that chance.
    binarize : float or None
        Values above it become 1, others 0; None takes X as it is and refuses anything but 0 and 1.

    Attributes
    ----------
    weights_ : array (2, n)
        Averaged w⁺ and w⁻, from which `coef_` (1, n) and `intercept_` (1,) are made.
    member_accuracy_, n_updates_ : array (n_members,); int
        Accuracy of each member on its own subsample (after `partial_fit`, over all calls); updates of all members.

    References
    ----------
    .. [1] N. Littlestone. Learning quickly when irrelevant attributes abound. Machine Learning 2, 1988.
    .. [2] A. J. Grove and D. Roth. Linear concepts and hidden variables: an empirical study. NIPS 10, 1997.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(0, 2, (500, 10))
    >>> y = X[:, :3].sum(axis=1) > 1
    >>> Winnow(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    def __init__(
        self,
        *,
        promotion: float = 1.05,
        demotion: float | None = None,
        threshold: float | None = None,
        margin: float = 0.1,
        n_passes: int = 1,
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
        """Table of the averaged weights, one line an attribute: feature, w_plus, w_minus, net = w⁺ − w⁻."""
        import pandas as pd

        check_is_fitted(self)
        default = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        names = default if feature_names is None else feature_names
        if len(names) != self.n_features_in_:
            raise DataError(f"feature_names must be {self.n_features_in_} names, one an attribute; got {len(names)}.")
        w_plus, w_minus = self.weights_
        return pd.DataFrame({"feature": names, "w_plus": w_plus, "w_minus": w_minus, "net": w_plus - w_minus})

    def _start(self) -> None:
        check_integer("n_members", self.n_members, 1)
        self._random = check_random_state(self.random_state)
        self._weights = np.ones((self.n_members, 2, self.n_features_in_))
        self._tallies = np.zeros((self.n_members, 3))
        self.n_updates_ = 0

    def _learn(self, rows: Any, codes: Bits) -> Self:
        """Train every member on a subsample of these rows, then average."""
        rates = self._rates()
        is_dense = isinstance(rows, np.ndarray)
        kernel, data = (_train_dense, rows) if is_dense else (_train_sparse, (rows.indptr, rows.indices))
        for (plus, minus), tally in zip(self._weights, self._tallies, strict=True):
            order = self._subsample(codes.size)
            updates, n_right = kernel(data, codes, order, self.n_passes, plus, minus, rates)
            self.n_updates_ += updates
            tally += order.size, n_right, codes[order].sum()
        seen, right, positive = self._tallies.T
        self.member_accuracy_ = right / np.maximum(seen, 1)
        excess = np.maximum(right - np.maximum(positive, seen - positive), 0) / np.maximum(seen, 1)
        self.weights_ = np.average(self._weights, axis=0, weights=excess if excess.any() else None)
        w_plus, w_minus = self.weights_
        return self._set_rule(w_plus - w_minus, w_minus.sum() - rates[2])

    def _rates(self) -> Rates:
        """Checked parameters, with the defaults that depend on others filled in."""
        check_between("promotion", self.promotion, 1, 1e6)
        demotion = 1 / self.promotion if self.demotion is None else self.demotion
        threshold = self.n_features_in_ if self.threshold is None else self.threshold
        check_between("demotion", demotion, 0, 1)
        check_between("threshold", threshold, 0, 1e100)
        check_between("margin, a fraction of the threshold,", self.margin, 0, 1, closed=True)
        check_between("subsample", self.subsample, 0.01, 1, closed=True)
        check_integer("n_passes", self.n_passes, 1)
        return float(self.promotion), float(demotion), float(threshold), float(self.margin * threshold)

    def _subsample(self, n_samples: int) -> Any:
        """Rows of a member in its order; where their number is broken, chance rounds it."""
        if len(self._weights) == 1:
            return np.arange(n_samples)
        return self._random.permutation(n_samples)[: int(self.subsample * n_samples + self._random.uniform())]
