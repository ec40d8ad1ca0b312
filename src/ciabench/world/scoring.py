"""How good is a rule? Success rates and the normalized statistic T, exact or nearly so (Grove & Roth 1997, §7).

Everything is measured against the best constant rule c: S(h) = S_const + E[d_h(x)] with
d_h(x) = P(x_0 = h(x) | x) − P(x_0 = c | x), which is 0 wherever h agrees with c. Only x is ever drawn; x_0 is
averaged out exactly (Rao-Blackwell). What is drawn serves better still with P(z | x), whose mean is known to be the
weights, as control variates: d_h is regressed on P(z | x) and read off at the weights. It saves up to six tenths of
the draws.

With a(x) the advantage P(x_0 ≠ c | x) − P(x_0 = c | x), d_h is a where h leaves c and 0 elsewhere. So all that the
regression and its error need of a rule are sums over the patterns where it leaves c, of the *moments* a P(z | x) for
every z, a² and a max(a, 0).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Bits, Floats
from ciabench.errors import RuleError
from ciabench.world.model import CIAModel, Seed, enumerated

Rule = Callable[[Bits], Any]

BLOCK_DRAWS, MOST_DRAWS = 20_000, 320_000
"""Draws that are made at a time, and most that a rule is given."""


class Score(NamedTuple):
    """Success rate of a rule, its T, and the standard error of T that is due to testing."""

    success: float
    t: float
    t_error: float


class Yardstick(NamedTuple):
    """Sums of the Bayes rule over some patterns, Σ P(z | x) P(z | x)ᵀ over them, and its inverse."""

    best: Floats
    products: Floats
    inverse: Floats

    def extended(self, posterior: Floats, best: Floats) -> "Yardstick":
        """Yardstick of these patterns and more."""
        products = self.products + posterior.T @ posterior
        return Yardstick(self.best + best, products, np.linalg.pinv(products, hermitian=True).astype(np.float64))


class Scorer:
    """Scores rules against the model that drew their data.

    Up to n = 14 all 2**n patterns are summed: no test noise at all. Beyond, all rules share one sample of 20,000
    patterns; a rule whose T is then uncertain by more than `t_target` is given as many more as that takes, up to
    320,000 in all.

    Parameters
    ----------
    model : CIAModel
    rng : int, Generator or None
        Source of the test sample.
    t_target : float
        Standard error of T at which drawing stops.

    Attributes
    ----------
    best : float
        S_best, success rate of the Bayes rule.
    constant : float
        S_const, success rate of the best constant rule (exact).

    Notes
    -----
    T = (S_alg − S_const) / (S_best − S_const) is a ratio of two means over the same draws, and its error that of a
    ratio after the regression on P(z | x). `success` is S_const + T (S_best − S_const), so that one S_best serves all
    rules of a scorer, also those that were given more draws. A rule's score depends on the model, `rng` and that
    rule, not on other rules scored.

    Examples
    --------
    >>> from ciabench import CIAFamily
    >>> model = CIAFamily(n=10, k=3, b=0.9).draw(rng=0)
    >>> scorer = Scorer(model, rng=0)
    >>> scorer.t(model.predict), scorer.t_error(model.predict)
    (1.0, 0.0)
    """

    def __init__(self, model: CIAModel, rng: Seed = None, t_target: float = 0.005) -> None:
        self.model = model
        self.t_target = t_target
        self.exact = model.enumerable
        self._rng = np.random.default_rng(rng)
        self.constant = model.constant_success
        if self.exact:
            masses, posterior = model.enumeration
            advantage = self._advantage(posterior)
            self._keep(enumerated(model.n), (masses * advantage)[:, None])
            self.headroom = float(((advantage > 0) @ self._moments)[0])
        else:
            self._keep(np.empty((0, model.n), dtype=np.uint8), np.empty((0, model.k + 2)))
            nothing = np.zeros((model.k, model.k))
            self._yardsticks = [Yardstick(np.zeros(model.k + 2), nothing, nothing)]
            self._draw(BLOCK_DRAWS)
            self.headroom = self._gained(self._yardsticks[1].best, BLOCK_DRAWS)
        self.best = self.constant + self.headroom

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "sampled"
        return f"Scorer({self.model!r}, {kind}, best={self.best:.4f}, constant={self.constant:.4f})"

    def success(self, predict: Rule) -> float:
        """S_alg: how often the rule predicts the target."""
        return self.score(predict).success

    def t(self, predict: Rule) -> float:
        """(S_alg − S_const) / (S_best − S_const); NaN for a model without headroom."""
        return self.score(predict).t

    def t_error(self, predict: Rule) -> float:
        """Standard error of `t` due to the finite test sample; 0 where exact."""
        return self.score(predict).t_error

    def score(self, predict: Rule) -> Score:
        """Score a rule: a callable from X (s, n) to s values of 0 or 1."""
        if self.exact:
            gained = float(self._sums(predict, 0, len(self._X))[0])
            t = gained / self.headroom if self.headroom else np.nan
            return Score(self.constant + gained, t, 0.0)
        sums, size, needed = np.zeros(self.model.k + 2), 0, BLOCK_DRAWS
        while True:
            self._draw(needed)
            sums, size = sums + self._sums(predict, size, needed), needed
            score = self._summarize(sums, size)
            if not score.t_error > self.t_target or size == MOST_DRAWS:
                return score
            missing = size * ((score.t_error / self.t_target) ** 2 - 1)
            needed = min(size + BLOCK_DRAWS * int(np.ceil(missing / BLOCK_DRAWS)), MOST_DRAWS)

    def _sums(self, predict: Rule, start: int, stop: int) -> Floats:
        """Sums of the moments over those patterns from start to stop where a rule leaves the constant one."""
        predicted = _checked(predict(self._X[start:stop]), stop - start)
        sums: Floats = (predicted != self.model.constant) @ self._moments[start:stop]
        return sums

    def _gained(self, sums: Floats, size: int) -> float:
        """Mean of d_h over the first `size` draws, at the weights."""
        return float(sums[:-2] @ self._yardsticks[size // BLOCK_DRAWS].inverse @ self.model.weights)

    def _summarize(self, sums: Floats, size: int) -> Score:
        """Ratio of mean gains over the first `size` draws, with its standard error."""
        best, _, inverse = self._yardsticks[size // BLOCK_DRAWS]
        gained, possible = self._gained(sums, size), self._gained(best, size)
        if possible == 0:
            return Score(self.constant + gained, np.nan, np.nan)
        t = gained / possible
        explained = (sums - t * best)[:-2]
        unexplained = sums[-2] - 2 * t * sums[-1] + t**2 * best[-2] - explained @ inverse @ explained
        error = np.sqrt(max(float(unexplained), 0.0)) / (size * possible)
        return Score(self.constant + t * self.headroom, t, error)

    def _draw(self, size: int) -> None:
        """See to it that there are at least `size` patterns; a block at a time fits the cache."""
        known = len(self._X)
        if known >= size:
            return
        X, moments = np.empty((size, self.model.n), dtype=np.uint8), np.empty((size, self.model.k + 2))
        X[:known], moments[:known] = self._X, self._moments
        yardsticks = self._yardsticks.copy()
        for start in range(known, size, BLOCK_DRAWS):
            block = slice(start, start + BLOCK_DRAWS)
            X[block] = drawn = self.model.sample_attributes(BLOCK_DRAWS, self._rng)
            posterior = self.model.posterior(drawn)
            advantage = self._advantage(posterior)
            moments[block, :-2] = posterior * advantage[:, None]
            moments[block, -2] = advantage**2
            moments[block, -1] = advantage * np.maximum(advantage, 0.0)
            yardsticks.append(yardsticks[-1].extended(posterior, (advantage > 0) @ moments[block]))
        self._keep(X, moments)
        self._yardsticks = yardsticks

    def _keep(self, X: Bits, moments: Floats) -> None:
        """Keep the patterns that rules are scored on; no rule can change them."""
        X.flags.writeable = False
        self._X, self._moments = X, moments

    def _advantage(self, posterior: Floats) -> Floats:
        """P(x_0 is the other value | x) − P(x_0 is the constant one | x) for every row."""
        surplus: Floats = 1 - 2 * (posterior @ self.model.probs[0])
        return surplus if self.model.constant else -surplus


def _checked(predicted: Any, size: int) -> NDArray[Any]:
    """Predictions as an array of zeros and ones, or a clear error."""
    values = np.asarray(predicted)
    if values.shape != (size,):
        raise RuleError(f"a rule must return {size} values for {size} rows; got shape {values.shape}.")
    if values.dtype.kind not in "biuf" or not ((values == 0) | (values == 1)).all():
        raise RuleError(f"a rule must return 0 or 1 for every row; got values such as {_odd_one(values)!r}.")
    return values


def _odd_one(values: NDArray[Any]) -> Any:
    """First value that is neither 0 nor 1."""
    return next(value for value in values.tolist() if value not in (0, 1) or isinstance(value, str))
