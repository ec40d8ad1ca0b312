"""COV: fit the binary CIA model through the covariances of pairs of attributes (Grove & Roth 1997, §4).

In the code `psi` is the covariance matrix, `g` = √(αα') δ, and α, p, q are the paper's.
"""

from typing import Self

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ciabench.arrays import Bits, Floats
from ciabench.errors import check_choice
from ciabench.latent.lanes import LANES, count_ones, empty_lines, store
from ciabench.latent.mixture import EDGE, Work, expect, make_work, seat_in_lane
from ciabench.latent.pieces import Problem, dense_problem, distinct
from ciabench.learners.base import MixtureClassifier
from ciabench.learners.data import checked_weights, dense, with_target

GRID, ZOOMS = 33, 4
"""Points of each grid over logit α, and number of grids; each spans the neighbours of the best point before."""

ROUNDING = 1e-11
"""Differences of likelihoods that are relatively smaller than this may be rounding errors."""

WORD = 64
"""Bits per word."""

MOST_SWEEPS, SETTLED = 500, 1e-9
"""The factor is settled when no g² moves further than this in a sweep (ours)."""


def covariances(rows: Bits, counts: Floats | None = None) -> tuple[Floats, Floats]:
    """Means (a,) of the attributes and their covariances (a, a), of rows (s, a) that occur `counts` times or once."""
    if counts is None:
        products, total = common_ones(rows), float(len(rows))
        sums = np.diag(products)
    else:
        numbers = rows.astype(np.float64)
        products, total, sums = (numbers.T * counts) @ numbers, float(counts.sum()), counts @ numbers
    means = sums / total
    psi: Floats = products / total - np.outer(means, means)
    return means, psi


def common_ones(rows: Bits) -> Floats:
    """How many of the rows (s, a) have ones in both of two attributes, (a, a)."""
    words, ones = np.zeros((rows.shape[1], -(-len(rows) // WORD)), np.uint64), np.empty((rows.shape[1],) * 2)
    pack(rows, words)
    count_pairs(words, ones)
    return ones


@njit(cache=True, nogil=True)
def pack(rows: Bits, words: NDArray[np.uint64]) -> None:
    """Fill `words` (a, ·), which are 0, with the columns of the rows, 64 bits per word."""
    block = np.empty(words.shape[0], np.uint64)
    for place in range(words.shape[1]):
        block[:] = 0
        for row in range(WORD * place, min(WORD * (place + 1), len(rows))):
            shift = np.uint64(row - WORD * place)
            for i in range(block.size):
                block[i] |= np.uint64(rows[row, i]) << shift
        for i in range(block.size):
            words[i, place] = block[i]


@njit(cache=True, nogil=True)
def count_pairs(words: NDArray[np.uint64], ones: Floats) -> None:
    """Fill `ones` (a, a) with the numbers of bits that two lines of words have in common."""
    for i in range(len(words)):
        for j in range(i + 1):
            count = np.uint64(0)
            for place in range(words.shape[1]):
                count += count_ones(words[i, place] & words[j, place])
            ones[i, j] = ones[j, i] = count


def scaled_differences(psi: Floats) -> Floats:
    """|√(αα') δ_i| of every attribute.

    αα'δ_i² = ψ_ij ψ_ik / ψ_jk for any j, k; the average over all pairs with weights |ψ_jk| is
    [(Σ_j |ψ_ij|)² − Σ_j ψ_ij²] / [Σ_jk |ψ_jk| − 2 Σ_j |ψ_ij|]. Two attributes have no third: they share |ψ_01|.
    """
    strength: Floats = np.abs(psi)
    np.fill_diagonal(strength, 0.0)
    sums = strength.sum(axis=1)
    products = np.maximum(sums**2 - np.square(strength).sum(axis=1), 0.0)
    weights = sums.sum() - 2 * sums
    squares = np.divide(products, weights, out=np.zeros_like(sums), where=weights > 1e-12)
    scaled: Floats = np.sqrt(squares if len(psi) > 2 else sums)
    return scaled


@njit(cache=True)
def vote_signs(psi: Floats) -> Floats:
    """Sign of every δ: δ_0 > 0 by convention, each other by a vote of the rest through their covariance with it.

    One attribute votes at a time, so each change raises Σ_ij s_i s_j ψ_ij and a fixed point is reached.
    """
    signs: Floats = np.ones(len(psi))
    for i in range(1, signs.size):
        signs[i] = -1.0 if psi[0, i] < 0 else 1.0
    changed = True
    while changed:
        changed = False
        for i in range(signs.size):
            vote = 0.0
            for j in range(signs.size):
                if j != i:
                    vote += psi[i, j] * signs[j]
            if vote * signs[i] < -1e-15:
                signs[i], changed = -signs[i], True
    return signs if signs[0] > 0 else -signs


@njit(cache=True)
def sweep_to_factor(psi: Floats, g: Floats) -> None:
    """Lower Σ_{i≠j} (ψ_ij − g_i g_j)² in place, one g_i at a time; a sweep takes O(n²) steps."""
    squares = (g * g).sum()
    for _ in range(MOST_SWEEPS):
        farthest = 0.0
        for i in range(g.size):
            product = -psi[i, i] * g[i]
            for j in range(g.size):
                product += psi[i, j] * g[j]
            others = squares - g[i] * g[i]
            best = product / others if others > 1e-12 else 0.0
            farthest = max(farthest, abs(best * best - g[i] * g[i]))
            squares, g[i] = others + best * best, best
        if farthest < SETTLED:
            return


def rank_one_factor(psi: Floats) -> Floats:
    """√(αα') δ_i of every attribute, with its sign: the g for which g gᵀ is nearest to ψ off the diagonal.

    It is an eigenvector of ψ with g² as diagonal, as iterated principal factors give. A start needs the right signs,
    which are voted for, and no zero where there is a covariance: √ max_j |ψ_ij|, which two attributes keep.
    """
    strength: Floats = np.abs(psi)
    np.fill_diagonal(strength, 0.0)
    g: Floats = np.sqrt(strength.max(axis=1)) * vote_signs(psi)
    sweep_to_factor(psi, g)
    return -g if g[0] < 0 else g


@njit(error_model="numpy")
def set_parameters(theta: Floats, means: Floats, g: Floats, logits: Floats, edge: float) -> bool:
    """`theta` (·, 2, 1 + a) of the models with P(z = 1) = α, given as logits: p = μ + α'δ and q = μ − αδ, clipped.

    Return whether no probability had to be clipped, so that the likelihood is smooth between the models.
    """
    lowest, highest = 1.0, 0.0
    for j, logit in enumerate(logits):
        alpha = 1 / (1 + np.exp(-logit))
        scale = 1 / np.sqrt(alpha * (1 - alpha))
        theta[j, 0, 0], theta[j, 1, 0] = 1 - alpha, alpha
        for i in range(means.size):
            delta = g[i] * scale
            q, p = means[i] - alpha * delta, means[i] + (1 - alpha) * delta
            lowest, highest = min(lowest, p, q), max(highest, p, q)
            theta[j, 0, 1 + i], theta[j, 1, 1 + i] = min(max(q, edge), 1 - edge), min(max(p, edge), 1 - edge)
    return lowest >= edge and highest <= 1 - edge


@njit(error_model="numpy")
def examine(problem: Problem, theta: Floats, first: int, step: int, work: Work, seats: Floats, found: Floats) -> None:
    """Put the log-likelihoods of eight models, from the first one in equal steps, into their places in `found`."""
    for lane in range(LANES):
        seat_in_lane(seats, lane, theta[min(first + step * lane, GRID - 1)])
    store(found, GRID, expect(problem, seats, work, False))
    for lane in range(LANES):
        found[min(first + step * lane, GRID - 1), 0] = found[GRID, lane]


@njit(error_model="numpy")
def is_one_peak(values: Floats, top: int) -> bool:
    """Whether values rise up to the largest one and fall from there on, each time by more than rounding errors.

    The neighbours of the largest value may be as large as it is.
    """
    least = ROUNDING * abs(values[top])
    for place in range(values.size - 1):
        step = values[place + 1] - values[place]
        if (place < top - 1 and step <= least) or (place > top and step >= -least):
            return False
    return True


@njit(error_model="numpy")
def find_top(problem: Problem, theta: Floats, is_smooth: bool, work: Work, seats: Floats, found: Floats) -> int:
    """Index of the model with the largest likelihood.

    Where the likelihood is smooth and has one peak, every fourth model is examined and then those near the best one.
    """
    first, last = 0, GRID
    if is_smooth:
        examine(problem, theta, 2, 4, work, seats, found)
        top = int(np.argmax(found[2:GRID:4, 0]))
        if is_one_peak(found[2:GRID:4, 0], top):
            first = min(max(4 * top - 1, 0), GRID - LANES)
            last = first + LANES
    for start in range(first, last, LANES):
        examine(problem, theta, start, 1, work, seats, found)
    return first + int(np.argmax(found[first:last, 0]))


@njit(cache=True, nogil=True)
def zoom_in(
    problem: Problem, means: Floats, g: Floats, edge: float, theta: Floats, work: Work, seats: Floats, found: Floats
) -> int:
    """Search α on successively finer grids; `theta` holds the models of the last grid, return the best one's index."""
    low, high, best = -7.0, 7.0, 0
    for _ in range(ZOOMS):
        grid = np.linspace(low, high, GRID)
        is_smooth = set_parameters(theta, means, g, grid, edge)
        best = find_top(problem, theta, is_smooth, work, seats, found)
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
    return best


def search(problem: Problem, means: Floats, g: Floats, edge: float) -> tuple[Floats, float]:
    """Parameters (2, 1 + a) of the α with the largest likelihood, and their log-likelihood."""
    shape = 2, 1 + means.size
    theta, found = np.empty((GRID, *shape)), empty_lines(GRID + 1)
    best = zoom_in(problem, means, g, edge, theta, make_work(problem, 2), empty_lines(*shape), found)
    return theta[best], float(found[best, 0])


class COV(MixtureClassifier):
    """The paper's covariance method for the binary CIA model; deterministic and linear.

    For a hidden variable with P(z = 1) = α the covariance of two attributes is ψ_ij = α(1 − α) δ_i δ_j with
    δ_i = P(x_i = 1 | z = 1) − P(x_i = 1 | z = 0). The δ_i are estimated from ψ, and α is chosen by maximum likelihood.

    The paper averages α(1 − α) δ_i² over triples of attributes with `|ψ|` as weights, and a vote gives the signs.
    Absolute values do not average noise away, so where attributes are many and weak this estimate needs more rows than
    EM does. The second estimate, which is ours, finds all √(α(1 − α)) δ_i together, signs included, by least squares.

    Parameters
    ----------
    estimate : {"paper", "factor"}
        "paper" averages over triples; "factor" minimises Σ_{i≠j} (ψ_ij − g_i g_j)² over g_i = √(α(1 − α)) δ_i.
    binarize : float or None
        Threshold above which a value counts as 1; None accepts only 0 and 1.

    Attributes
    ----------
    alpha_ : float
        P(z = 1).
    weights_ : array (2,)
        P(z).
    probs_ : array (n + 1, 2)
        P(attribute i = 1 | z); row 0 is the target.
    coef_ : array (1, n)
        Coefficients of the linear rule.
    intercept_ : array (1,)
        Intercept of the linear rule.
    log_likelihood_ : float
        Log-likelihood of the fitted model.

    References
    ----------
    .. [1] Grove, A. J. & Roth, D. (1997). Linear concepts and hidden variables: an empirical study. NIPS 10, §4.

    Examples
    --------
    >>> from ciabench import CIAModel
    >>> X, y = CIAModel([0.6, 0.4], [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]).sample(100_000, rng=0)
    >>> round(float(COV().fit(X, y).alpha_), 2)
    0.4

    With many weak attributes and few rows the second estimate is the better one:

    >>> from ciabench import CIAFamily, Scorer
    >>> model = CIAFamily(75, 2, 0.9).draw(rng=0)
    >>> X, y = model.sample(200, rng=0)
    >>> [round(Scorer(model, 0).t(COV(estimate=name).fit(X, y).predict), 1) for name in ("paper", "factor")]
    [0.0, 0.8]
    """

    def __init__(self, *, estimate: str = "paper", binarize: float | None = None) -> None:
        self.estimate, self.binarize = estimate, binarize

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to attributes X (s, n), 0/1, and labels y (s,)."""
        check_choice("estimate", self.estimate, ("paper", "factor"))
        rows, codes = self.check_training_data(X, y)
        counts = checked_weights(sample_weight, codes.size)
        joint = with_target(dense(self, rows), codes)
        merged, merged_counts = distinct(joint, np.full(joint.shape[1], 2), counts)
        means, psi = covariances(joint) if sample_weight is None else covariances(merged, merged_counts)
        g = rank_one_factor(psi) if self.estimate == "factor" else scaled_differences(psi) * vote_signs(psi)
        problem, edge = dense_problem(merged, merged_counts), max(1 / (counts.sum() + 2), EDGE)
        theta, self.log_likelihood_ = search(problem, means, g, edge)
        self.weights_, self.probs_ = theta[:, 0], theta[:, 1:].T
        self.alpha_ = float(self.weights_[1])
        return self
