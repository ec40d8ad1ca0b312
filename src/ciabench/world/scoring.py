"""How good is a rule? Success rates and the normalized statistic T, exact or nearly so (Grove & Roth 1997, §7).

Everything is measured against the best constant rule c: S(h) = S_const + E[d_h(x)] with
d_h(x) = P(x_0 = h(x) | x) − P(x_0 = c | x), which is 0 wherever h agrees with c. Only x is ever drawn; x_0 is
averaged out exactly (Rao-Blackwell).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ciabench.bernoulli import Floats
from ciabench.errors import RuleError
from ciabench.world.model import Bits, CIAModel, Seed, enumerated

Rule = Callable[[Bits], Any]

FIRST_DRAWS, MOST_DRAWS = 20_000, 320_000
"""Draws that all rules share, and most that a rule is given; each block of draws doubles those before it."""


class Score(NamedTuple):
    """Success rate of a rule, its T, and the standard error of T that is due to testing."""

    success: float
    t: float
    t_error: float


class Block(NamedTuple):
    """Patterns x, their masses, what leaving the constant rule wins there, and what the best rule wins."""

    X: Bits
    masses: Floats
    advantage: Floats
    best_gain: Floats


class Scorer:
    """Scores rules against the model that drew their data.

    Up to n = 14 all 2**n patterns are summed: no test noise at all. Beyond, all rules share one sample of 20,000
    patterns; a rule whose T is then uncertain by more than `t_target` is given more of them, up to 320,000.

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
    ratio. `success` is S_const + T (S_best − S_const), so that one S_best serves all rules of a scorer, also those
    that were given more draws. A rule's score depends on the model, `rng` and that rule, not on other rules scored.

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
        self._blocks: list[Block] = [self._enumerate()] if self.exact else []
        self.constant = model.constant_success
        first = self._sample(0)
        self.headroom = float(first.masses @ first.best_gain)
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
        blocks: list[Block] = []
        gains: list[Floats] = []
        while True:
            blocks.append(self._sample(len(blocks)))
            gains.append(self._gain(predict, blocks[-1]))
            score = self._summarize(blocks, gains)
            draws = sum(gain.size for gain in gains)
            if self.exact or score.t_error <= self.t_target or draws >= MOST_DRAWS or self.headroom == 0:
                return score

    def _summarize(self, blocks: list[Block], gains: list[Floats]) -> Score:
        """Ratio of mean gains over all blocks, with its standard error."""
        gained = sum(float(block.masses @ gain) for block, gain in zip(blocks, gains, strict=True))
        possible = sum(float(block.masses @ block.best_gain) for block in blocks)
        if possible == 0:
            return Score(self.constant + gained, np.nan, 0.0 if self.exact else np.nan)
        t = gained / possible
        if self.exact:
            return Score(self.constant + gained, t, 0.0)
        squares = sum(float(np.square(g - t * b.best_gain).sum()) for b, g in zip(blocks, gains, strict=True))
        # Masses are 1 / FIRST_DRAWS, so `possible` is the mean of the best gain times draws / FIRST_DRAWS.
        error = np.sqrt(squares) / (FIRST_DRAWS * possible)
        return Score(self.constant + t * self.headroom, t, float(error))

    def _gain(self, predict: Rule, block: Block) -> Floats:
        """d_h at every pattern of the block."""
        predicted = _checked(predict(block.X), block.X.shape[0])
        return np.where(predicted == self.model.constant, 0.0, block.advantage)

    def _sample(self, index: int) -> Block:
        """Return a block, drawn when it is first asked for."""
        if index == len(self._blocks):
            size = FIRST_DRAWS * 2 ** max(index - 1, 0)
            X = self.model.sample_attributes(size, self._rng)
            parts = np.split(X, size // FIRST_DRAWS)  # a float copy of all of X would not fit the cache
            posterior = np.concatenate([self.model.posterior(part) for part in parts])
            self._blocks.append(self._block(X, np.full(size, 1 / FIRST_DRAWS), posterior))
        return self._blocks[index]

    def _enumerate(self) -> Block:
        masses, posterior = self.model.enumeration()
        return self._block(enumerated(self.model.n), masses, posterior)

    def _block(self, X: Bits, masses: Floats, posterior: Floats) -> Block:
        X.flags.writeable = False
        surplus = 1 - 2 * (posterior @ self.model.probs[0])
        advantage = surplus if self.model.constant else -surplus
        return Block(X, masses, advantage, np.maximum(advantage, 0.0))


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
