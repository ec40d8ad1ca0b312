"""The limit of learning: the largest mean T for a family that any learner can reach with so many examples.

A learner that knows the family, but not the model, has a posterior over models θ given its sample, and its mean T is
largest if it predicts 1 wherever

    Σ_θ v(θ) [P(x, x_0 = 1 | θ) − P(x, x_0 = 0 | θ)] > 0,   v(θ) = [θ is accepted by the family] / headroom(θ),

where the sum is over draws from the posterior under the family's prior, Beta(a, a) and Dirichlet(a, …, a), before its
two conditions. Without v the rule has the largest mean success rate. The draws come from eight chains of a blocked
Gibbs sampler, half of which start at random and half at the true model. Chains that do not mix make the limit too low;
then T of the two halves differs, which is why both are facts of the score.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciabench.arrays import Bits, Floats
from ciabench.latent.gibbs import make_prior, run_chains, start_chains
from ciabench.latent.lanes import LANES
from ciabench.latent.pieces import make_problem
from ciabench.latent.starts import make_starts
from ciabench.probability import bernoulli
from ciabench.seeds import Seed
from ciabench.world.base import Facts
from ciabench.world.bit_model import ENUMERATION_LIMIT, enumerated
from ciabench.world.conditions import Conditions
from ciabench.world.model import CIAModel
from ciabench.world.scoring import Scorer

BURN_IN, FEWEST_SWEEPS, SWEEPS_AND_ROWS, EVERY = 500, 600, 30_000, 3
"""Sweeps of a chain before its draws count; those that count, and how many of them, at least, times rows of the sample
(fewer rows leave more variety); and how many of them lie between two draws."""

PATTERNS = 1_000
"""Patterns on which the conditions of a draw are judged where they cannot be enumerated."""

MOST_VOTERS, MOST_IN_FACTS = 3 / 8, 1 / 8
"""Shares of all draws that vote, at most, where patterns cannot be enumerated: in the limit, and in rules for facts."""

T_TARGET = 0.02
"""Test error of T that is small enough: T of a trial varies by much more."""

CELLS_AT_ONCE = 1_000_000


class Models(NamedTuple):
    """Models drawn from a posterior: weights (M, k) and probs (M, n + 1, k)."""

    weights: Floats
    probs: Floats

    def of(self, chosen: Any) -> "Models":
        """Some of them."""
        return Models(self.weights[chosen], self.probs[chosen])


@dataclass(frozen=True)
class Voters:
    """A rule: every hidden value of every model votes with P(x, z), times its worth and its surplus of ones.

    Votes are summed in single precision: rows on which it matters are ties.
    """

    coefficients: NDArray[np.float32]
    constants: NDArray[np.float32]
    surpluses: NDArray[np.float32]

    t_target: ClassVar[float] = T_TARGET

    @classmethod
    def of(cls, models: Models, worths: Floats) -> "Voters":
        """Rule of models with worths (M,)."""
        attributes = models.probs[:, 1:].swapaxes(0, 1).reshape(models.probs.shape[1] - 1, -1)
        constants = np.log(models.weights).ravel() + np.log1p(-attributes).sum(axis=0)
        surpluses = worths[:, None] * (2 * models.probs[:, 0] - 1)
        parts = np.log(attributes) - np.log1p(-attributes), constants, surpluses.ravel()
        return cls(*(part.astype(np.float32) for part in parts))

    def predict(self, X: ArrayLike) -> Bits:
        """1 where the votes for 1 outweigh those for 0."""
        rows = np.asarray(X)
        step = max(1, CELLS_AT_ONCE // self.constants.size)
        return np.concatenate([self._elected(rows[start : start + step]) for start in range(0, len(rows), step)])

    def _elected(self, rows: NDArray[Any]) -> Bits:
        votes = rows.astype(np.float32) @ self.coefficients
        votes += self.constants
        votes -= votes.max(axis=1, keepdims=True)
        elected: Bits = (np.exp(votes, out=votes) @ self.surpluses > 0).astype(np.uint8)
        return elected


@dataclass(frozen=True)
class Limit:
    """The rule of one who knows the family, and facts about the draws behind it.

    The facts are the number of `draws` and how many of them the family accepts, and T of three other rules: that of the
    chains that started at random, that of those that started at the true model, and the unweighted rule. Where no draw
    is accepted, rules are unweighted.
    """

    rule: Voters
    facts: Facts

    t_target: ClassVar[float] = T_TARGET

    def predict(self, X: ArrayLike) -> Bits:
        """Predict 1 where the weighted votes for 1 outweigh those for 0."""
        return self.rule.predict(X)


class KnownFamily(NamedTuple):
    """What the limit knows: the concentration of the family's prior, and the conditions on its models."""

    concentration: float
    conditions: Conditions

    def limit(self, X: Bits, y: Bits, model: CIAModel, judge: Scorer, seed: Seed) -> Limit:
        """The limit for one sample; the true model serves half of the chains as a start, and the judge the facts.

        Examples
        --------
        >>> from ciabench import CIAFamily
        >>> task = CIAFamily(n=5, k=2, b=0.8).task(Seed((0,)))
        >>> limit = task.references["limit"](*task.training(200))
        >>> task.judge.score(limit).t > 0.8
        True
        """
        rng = seed.rng("limit", len(y))
        models = self.posterior(X, y, model, rng)
        worths = self.worths(models, rng)
        is_random = np.arange(len(worths)) % LANES >= LANES // 2
        most, few = (int(share * len(worths)) for share in (MOST_VOTERS, MOST_IN_FACTS))
        rules = {
            "limit_random": _rule(models.of(is_random), worths[is_random], few),
            "limit_truth": _rule(models.of(~is_random), worths[~is_random], few),
            "limit_unweighted": _rule(models, np.ones(len(worths)), few),
        }
        found = {name: judge.score(rule).t for name, rule in rules.items()}
        accepted = int(np.count_nonzero(worths))
        return Limit(_rule(models, worths, most), {"draws": len(worths), "accepted": accepted, **found})

    def posterior(self, X: Bits, y: Bits, model: CIAModel, rng: np.random.Generator) -> Models:
        """Draws from the posterior under the prior without conditions, chain by chain in turn."""
        rows, ones = np.column_stack([y, X]), np.ones(len(y))
        starts = make_starts(rows, ones, model.k, LANES, rng, own=[(model.weights, model.probs)] * (LANES // 2))
        problem = make_problem(rows, ones, merge=False)
        prior = make_prior(problem.layout, weight=self.concentration, concentrations=self.concentration)
        _, chains = run_chains(problem, prior, start_chains(prior, starts, rng), BURN_IN, every=BURN_IN)
        n_sweeps = max(FEWEST_SWEEPS, SWEEPS_AND_ROWS // len(y)) // EVERY * EVERY
        draws, _ = run_chains(problem, prior, chains, n_sweeps, every=EVERY)
        theta = draws.theta.reshape(-1, *draws.theta.shape[2:])
        weights = theta[:, :, 0] / theta[:, :, 0].sum(axis=1, keepdims=True)
        return Models(weights, theta[:, :, 1:].swapaxes(1, 2))

    def worths(self, models: Models, rng: np.random.Generator) -> Floats:
        """[accepted] / headroom of every model, shape (M,)."""
        n = models.probs.shape[1] - 1
        patterns = None if n <= ENUMERATION_LIMIT else _SharedPatterns.drawn(n, rng)
        target = models.probs[:, 0]
        found = np.zeros(len(target))
        for place in np.flatnonzero((target.min(axis=1) < 0.5) & (target.max(axis=1) > 0.5)):
            one = models.of(place)
            difficulty, headroom = _enumerated(*one) if patterns is None else patterns.measure(*one)
            if self._accepts(difficulty, headroom):
                found[place] = 1 / headroom
        return found

    def _accepts(self, difficulty: float, headroom: float) -> bool:
        b, tolerance, min_headroom = self.conditions
        return abs(difficulty - b) <= tolerance and headroom >= min_headroom and headroom > 0


class _SharedPatterns(NamedTuple):
    """Random numbers that all models turn into patterns of their own; hidden values in equal steps."""

    uniform: NDArray[np.float32]

    @classmethod
    def drawn(cls, n: int, rng: np.random.Generator) -> "_SharedPatterns":
        """Draw the random numbers."""
        return cls(rng.random((PATTERNS, n), dtype=np.float32))

    def measure(self, weights: Floats, probs: Floats) -> tuple[float, float]:
        """Difficulty and headroom of a model, estimated."""
        steps = (np.arange(PATTERNS) + 0.5) / PATTERNS
        hidden = np.minimum(np.searchsorted(np.cumsum(weights), steps), weights.size - 1)
        X = self.uniform < probs[1:].T.astype(np.float32)[hidden]
        joint = X.astype(np.float32) @ bernoulli.logit(probs[1:]).astype(np.float32)
        posterior, _ = bernoulli.normalize(joint + (np.log(weights) + np.log1p(-probs[1:]).sum(axis=0)))
        return _measured(np.full(PATTERNS, 1 / PATTERNS), posterior, weights, probs[0])


def _enumerated(weights: Floats, probs: Floats) -> tuple[float, float]:
    """Difficulty and headroom of a model, exact."""
    posterior, evidence = bernoulli.normalize(bernoulli.log_joint(enumerated(len(probs) - 1), weights, probs[1:]))
    return _measured(np.exp(evidence), posterior, weights, probs[0])


def _measured(masses: Floats, posterior: Floats, weights: Floats, target: Floats) -> tuple[float, float]:
    """E[max_z P(z | x)] and E[max(advantage over the constant rule, 0)]."""
    advantage = posterior @ (1 - 2 * target)
    if weights @ target < 0.5:
        advantage = -advantage
    return float(masses @ posterior.max(axis=1)), float(masses @ np.maximum(advantage, 0))


def _rule(models: Models, worths: Floats, most: int) -> Voters:
    """Rule of the models worth something, or of all if none is; of at most `most` where patterns are sampled."""
    chosen = np.flatnonzero(worths)
    if not chosen.size:
        chosen, worths = np.arange(len(worths)), np.ones(len(worths))
    if models.probs.shape[1] - 1 > ENUMERATION_LIMIT:
        chosen = chosen[:: -(-chosen.size // most)]
    return Voters.of(models.of(chosen), worths[chosen])
