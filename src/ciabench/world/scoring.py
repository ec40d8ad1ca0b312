"""How good is a rule? Success rates and the normalized statistic T, exact or nearly so (Grove & Roth 1997, §7).

Everything is measured against the best constant rule c: S(h) = S_const + E[d_h(x)] with
d_h(x) = P(x_0 = h(x) | x) − P(x_0 = c | x), which is 0 wherever h agrees with c. Only x is ever drawn; x_0 is
averaged out exactly (Rao-Blackwell). What is drawn serves better still with P(z | x), whose mean is known to be the
weights, as control variates: draws get masses under which that mean is exact, which is the same as to regress d_h on
P(z | x) and read it off at the weights. It saves up to six tenths of the draws.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ciabench.bernoulli import Floats
from ciabench.errors import RuleError
from ciabench.world.model import Bits, CIAModel, Seed, enumerated

Rule = Callable[[Bits], Any]

BLOCK_DRAWS, MOST_DRAWS = 20_000, 320_000
"""Draws that are made at a time, and most that a rule is given."""


class Score(NamedTuple):
    """Success rate of a rule, its T, and the standard error of T that is due to testing."""

    success: float
    t: float
    t_error: float


class Calibration(NamedTuple):
    """Masses (s,) that make P(z | x) average to the weights, the headroom by them, and its second moments inverted."""

    masses: Floats
    headroom: float
    inverse: Floats


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
        self._calibrations: dict[int, Calibration] = {}
        if self.exact:
            masses, posterior = model.enumeration
            self._first = len(masses)
            self._keep(enumerated(model.n), posterior, self._advantages(posterior))
            headroom = float(masses @ self._best_gain)
            self._calibrations[self._first] = Calibration(masses, headroom, np.zeros((model.k, model.k)))
        else:
            self._first = BLOCK_DRAWS
            self._keep(np.empty((0, model.n), dtype=np.uint8), np.empty((0, model.k)), np.empty(0))
            self._draw(self._first)
        self.headroom = self._calibrated(self._first).headroom
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
        gain, needed = np.empty(0), self._first
        while True:
            gain = np.append(gain, self._gain(predict, gain.size, needed))
            score = self._summarize(gain)
            if self.exact or score.t_error <= self.t_target or needed == MOST_DRAWS or self.headroom == 0:
                return score
            missing = needed * ((score.t_error / self.t_target) ** 2 - 1)
            needed = min(needed + BLOCK_DRAWS * int(np.ceil(missing / BLOCK_DRAWS)), MOST_DRAWS)

    def _gain(self, predict: Rule, start: int, stop: int) -> Floats:
        """d_h at some of the patterns."""
        self._draw(stop)
        predicted = _checked(predict(self._X[start:stop]), stop - start)
        return np.where(predicted == self.model.constant, 0.0, self._advantage[start:stop])

    def _summarize(self, gain: Floats) -> Score:
        """Ratio of mean gains over the patterns looked at, with its standard error."""
        masses, possible, inverse = self._calibrated(gain.size)
        gained = float(masses @ gain)
        if possible == 0:
            return Score(self.constant + gained, np.nan, 0.0 if self.exact else np.nan)
        t = gained / possible
        if self.exact:
            return Score(self.constant + gained, t, 0.0)
        surplus = gain - t * self._best_gain[: gain.size]
        explained = self._posterior[: gain.size].T @ surplus
        unexplained = max(float(surplus @ surplus - explained @ inverse @ explained), 0.0)
        return Score(self.constant + t * self.headroom, t, np.sqrt(unexplained) / (gain.size * possible))

    def _calibrated(self, size: int) -> Calibration:
        """Calibration of the first `size` draws."""
        if size not in self._calibrations:
            posterior = self._posterior[:size]
            inverse: Floats = np.linalg.pinv(posterior.T @ posterior, hermitian=True).astype(np.float64)
            masses = posterior @ (inverse @ self.model.weights)
            self._calibrations[size] = Calibration(masses, float(masses @ self._best_gain[:size]), inverse)
        return self._calibrations[size]

    def _draw(self, size: int) -> None:
        """See to it that there are at least `size` patterns; a block at a time fits the cache."""
        known = len(self._X)
        if known >= size:
            return
        X, posterior = np.empty((size, self.model.n), dtype=np.uint8), np.empty((size, self.model.k))
        advantage = np.empty(size)
        X[:known], posterior[:known], advantage[:known] = self._X, self._posterior, self._advantage
        for start in range(known, size, BLOCK_DRAWS):
            block = slice(start, start + BLOCK_DRAWS)
            X[block] = drawn = self.model.sample_attributes(BLOCK_DRAWS, self._rng)
            posterior[block] = self.model.posterior(drawn)
            advantage[block] = self._advantages(posterior[block])
        self._keep(X, posterior, advantage)

    def _keep(self, X: Bits, posterior: Floats, advantage: Floats) -> None:
        """Keep the patterns that rules are scored on; no rule can change them."""
        X.flags.writeable = False
        self._X, self._posterior, self._advantage = X, posterior, advantage
        self._best_gain = np.maximum(advantage, 0.0)

    def _advantages(self, posterior: Floats) -> Floats:
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
