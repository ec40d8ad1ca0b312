"""Success rates of rules and the normalized statistic T, exact or nearly so (Grove & Roth 1997, §7).

A scorer judges rules against a model that knows P(x_0 = 1 | x), and measures everything against the best constant
rule c: S(h) = S_const + E[d_h(x)] with
d_h(x) = P(x_0 = h(x) | x) − P(x_0 = c | x), which is 0 wherever h agrees with c. Only x is ever drawn; x_0 is
averaged out exactly (Rao-Blackwell). If the model has a hidden variable, P(z | x), whose mean is known to be the
weights, serves as control variates: d_h is regressed on P(z | x) and evaluated at the weights. This saves up to 60% of
the draws.

With a(x) the advantage P(x_0 ≠ c | x) − P(x_0 = c | x), d_h is a where h differs from c and 0 elsewhere. So all that
the regression and its error need from a rule are sums, over the patterns where it differs from c, of the *moments*
a P(z | x) for every z, a² and a max(a, 0).
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Bits, Floats
from ciabench.errors import RuleError
from ciabench.world.base import Score
from ciabench.world.bit_model import RandomSource, check_model, enumerated

Predict = Callable[[Any], Any]

BLOCK_DRAWS, MOST_DRAWS = 20_000, 320_000
"""Draws per block, and maximum number of draws per rule."""


class TargetModel(Protocol):
    """What a scorer needs from a model of n binary attributes and a binary target."""

    @property
    def n(self) -> int:
        """Number of attributes."""

    @property
    def target_mean(self) -> float:
        """P(x_0 = 1), exact."""

    def sample_attributes(self, size: int, rng: np.random.Generator) -> Bits:
        """Draw attributes (size, n)."""

    def target_probability(self, X: Any) -> Floats:
        """P(x_0 = 1 | x) for every row, exact."""


@runtime_checkable
class HiddenModel(Protocol):
    """A model with a hidden variable, whose posterior serves as control variates."""

    @property
    def weights(self) -> Floats:
        """P(Z = z), shape (k,)."""

    @property
    def target_given_hidden(self) -> Floats:
        """P(x_0 = 1 | Z = z), shape (k,); given Z the target does not depend on the attributes."""

    def posterior(self, X: Any) -> Floats:
        """P(Z = z | x), shape (s, k)."""


def _chances_and_controls(model: Any, X: Bits) -> tuple[Floats, Floats]:
    """P(x_0 = 1 | x) and the control variates of every row; a constant if the model has no hidden variable."""
    if isinstance(model, HiddenModel):
        posterior = model.posterior(X)
        return posterior @ model.target_given_hidden, posterior
    return model.target_probability(X), np.ones((len(X), 1))


class Yardstick(NamedTuple):
    """Sums of the Bayes rule over some patterns, Σ c cᵀ over their control variates c, and its inverse."""

    best: Floats
    products: Floats
    inverse: Floats

    def extended(self, controls: Floats, best: Floats) -> "Yardstick":
        """Yardstick of these patterns and some more."""
        products = self.products + controls.T @ controls
        return Yardstick(self.best + best, products, np.linalg.pinv(products, hermitian=True).astype(np.float64))


class Scorer:
    """Scores rules against the model that drew their data.

    Up to n = 14, scores are sums over all 2**n patterns, without any test noise. For larger n, all rules share one
    sample of 20,000 patterns; if T of a rule is then uncertain by more than `t_target`, more patterns are drawn, up to
    320,000 in all.

    Parameters
    ----------
    model : CIAModel or TargetModel
        Anything that draws attributes and knows P(x_0 = 1 | x) and P(x_0 = 1). Scores are exact if it is `enumerable`,
        and sampled otherwise.
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
    T = (S_alg − S_const) / (S_best − S_const) is a ratio of two means over the same draws, and its error is that of a
    ratio after the regression on P(z | x). `success` is S_const + T (S_best − S_const), so that one S_best serves all
    rules of a scorer, including those that needed more draws. A rule's score depends only on the model, `rng` and the
    rule itself, not on other rules scored.

    Examples
    --------
    >>> from ciabench import CIAFamily
    >>> model = CIAFamily(n=10, k=3, b=0.9).draw(rng=0)
    >>> scorer = Scorer(model, rng=0)
    >>> scorer.t(model.predict), scorer.t_error(model.predict)
    (1.0, 0.0)
    """

    def __init__(self, model: Any, rng: RandomSource = None, t_target: float = 0.005) -> None:
        check_model(model)
        self.model = model
        self.t_target = t_target
        self.exact = bool(getattr(model, "enumerable", False))
        self._rng = np.random.default_rng(rng)
        self._constant_label = int(model.target_mean >= 0.5)
        self.constant = max(model.target_mean, 1 - model.target_mean)
        if self.exact:
            advantage = self._advantage(model.enumeration.chances)
            self._keep(enumerated(model.n), (model.enumeration.masses * advantage)[:, None])
            self.headroom = float(((advantage > 0) @ self._moments)[0])
        else:
            self._control_means = model.weights if isinstance(model, HiddenModel) else np.ones(1)
            width = self._control_means.size
            self._keep(np.empty((0, model.n), dtype=np.uint8), np.empty((0, width + 2)))
            nothing = np.zeros((width, width))
            self._yardsticks = [Yardstick(np.zeros(width + 2), nothing, nothing)]
            self._draw(BLOCK_DRAWS)
            self.headroom = self._gained(self._yardsticks[1].best, BLOCK_DRAWS)
        self.best = self.constant + self.headroom

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "sampled"
        return f"Scorer({self.model!r}, {kind}, best={self.best:.4f}, constant={self.constant:.4f})"

    def success(self, predict: Predict) -> float:
        """S_alg: how often the rule predicts the target correctly."""
        return self.score(predict).success

    def t(self, predict: Predict) -> float:
        """(S_alg − S_const) / (S_best − S_const); NaN if the model has no headroom."""
        return self.score(predict).t

    def t_error(self, predict: Predict) -> float:
        """Standard error of `t` due to the finite test sample; 0 if scores are exact."""
        return self.score(predict).t_error

    def score(self, rule: Any) -> Score:
        """Score a rule: a callable from X (s, n) to s values of 0 or 1, or an object with such a `predict`.

        An object may state a `t_target` of its own, if less precision will do.
        """
        predict: Predict = getattr(rule, "predict", rule)
        t_target = getattr(rule, "t_target", self.t_target)
        if self.exact:
            gained = float(self._sums(predict, 0, len(self._X))[0])
            t = gained / self.headroom if self.headroom else np.nan
            return Score(self.constant + gained, t, 0.0)
        sums, size, needed = np.zeros(self._control_means.size + 2), 0, BLOCK_DRAWS
        while True:
            self._draw(needed)
            sums, size = sums + self._sums(predict, size, needed), needed
            score = self._summarize(sums, size)
            if not score.t_error > t_target or size == MOST_DRAWS:
                return score
            missing = size * ((score.t_error / t_target) ** 2 - 1)
            needed = min(size + BLOCK_DRAWS * int(np.ceil(missing / BLOCK_DRAWS)), MOST_DRAWS)

    def _sums(self, predict: Predict, start: int, stop: int) -> Floats:
        """Sums of the moments over the patterns from start to stop where a rule differs from the constant one."""
        predicted = _checked(predict(self._X[start:stop]), stop - start)
        sums: Floats = (predicted != self._constant_label) @ self._moments[start:stop]
        return sums

    def _gained(self, sums: Floats, size: int) -> float:
        """Mean of d_h over the first `size` draws, evaluated at the means of the controls."""
        return float(sums[:-2] @ self._yardsticks[size // BLOCK_DRAWS].inverse @ self._control_means)

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
        """Ensure that at least `size` patterns are drawn, in blocks that fit the cache."""
        known = len(self._X)
        if known >= size:
            return
        X, moments = np.empty((size, self.model.n), dtype=np.uint8), np.empty((size, self._moments.shape[1]))
        X[:known], moments[:known] = self._X, self._moments
        yardsticks = self._yardsticks.copy()
        for start in range(known, size, BLOCK_DRAWS):
            block = slice(start, start + BLOCK_DRAWS)
            X[block] = drawn = self.model.sample_attributes(BLOCK_DRAWS, self._rng)
            chances, controls = _chances_and_controls(self.model, drawn)
            advantage = self._advantage(chances)
            moments[block, :-2] = controls * advantage[:, None]
            moments[block, -2] = advantage**2
            moments[block, -1] = advantage * np.maximum(advantage, 0.0)
            yardsticks.append(yardsticks[-1].extended(controls, (advantage > 0) @ moments[block]))
        self._keep(X, moments)
        self._yardsticks = yardsticks

    def _keep(self, X: Bits, moments: Floats) -> None:
        """Keep the patterns that rules are scored on, read-only so that no rule can change them."""
        X.flags.writeable = False
        self._X, self._moments = X, moments

    def _advantage(self, chances: Floats) -> Floats:
        """P(x_0 ≠ c | x) − P(x_0 = c | x) for every row, with c the constant prediction."""
        surplus: Floats = 1 - 2 * chances
        return surplus if self._constant_label else -surplus


def _checked(predicted: Any, size: int) -> NDArray[Any]:
    """Predictions as an array; raises unless they are zeros and ones, one per row."""
    values = np.asarray(predicted)
    if values.shape != (size,):
        raise RuleError(f"a rule must return {size} values for {size} rows; got shape {values.shape}.")
    if values.dtype.kind not in "biuf" or not ((values == 0) | (values == 1)).all():
        raise RuleError(f"a rule must return 0 or 1 for every row; got values such as {_odd_one(values)!r}.")
    return values


def _odd_one(values: NDArray[Any]) -> Any:
    """First value that is neither 0 nor 1."""
    return next(value for value in values.tolist() if value not in (0, 1) or isinstance(value, str))
