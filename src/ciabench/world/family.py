"""Families of CIA models of one size and one difficulty (Grove & Roth 1997, §7 and footnote 4)."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from ciabench.arrays import Floats
from ciabench.errors import FamilyError, check_between, check_integer
from ciabench.world import calibration
from ciabench.world.model import CIAModel, Seed

MAX_DRAWS = 10_000
"""A family that accepts fewer than about one model in a thousand is called starved."""

STAGES = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
"""Sample sizes at which a model too large to enumerate is looked at."""

SIGMAS = 2.5

Verdict = Literal["accepted", "difficulty", "headroom"]


class Rejections(NamedTuple):
    """How many models were turned down before one was accepted; one that fails both conditions counts once."""

    difficulty: int
    headroom: int


@dataclass(frozen=True)
class CIAFamily:
    """CIA(n, k, b): random models with n attributes, k hidden values and difficulty b.

    Probabilities are Beta(a, a) and weights Dirichlet(a, …, a), with the concentration a calibrated so that the mean
    difficulty is b. Models are then kept if their own difficulty is within `tolerance` of b and the best rule beats
    the best constant rule by at least `min_headroom`.

    Parameters
    ----------
    n : int
        Number of attributes.
    k : int
        Number of hidden values.
    b : float in (1/k, 1)
        Difficulty: how often Z can be told from the attributes. Larger is easier.
    tolerance : float
        Largest |B − b| of an accepted model.
    min_headroom : float
        Smallest S_best − S_const of an accepted model; 0 keeps the paper's definition, under which T is undefined
        for many models.
    concentration : float, optional
        The beta parameter a; calibrated when it is not given.

    Notes
    -----
    Up to n = 14 both conditions are decided exactly. Beyond, attributes are drawn in growing samples of up to 16,000
    until both are settled at 2.5 standard errors (at most 0.003 for the difficulty); a model still in doubt then is
    rejected. So a model that breaks a condition is accepted with probability below 1%, and one that breaks the
    difficulty by more than 0.002 hardly ever.

    Examples
    --------
    >>> family = CIAFamily(n=10, k=3, b=0.9)
    >>> round(family.concentration, 1)
    1.1
    >>> model = family.draw(rng=0)
    >>> abs(model.difficulty() - 0.9) <= 0.01
    True
    """

    n: int
    k: int
    b: float
    tolerance: float = 0.01
    min_headroom: float = 0.02
    concentration: float | None = None

    def __post_init__(self) -> None:
        check_integer("n, the number of attributes,", self.n, 1)
        check_integer("k, the number of hidden values,", self.k, 2)
        check_between("b, the difficulty,", self.b, 1 / self.k, 1)
        check_between("tolerance", self.tolerance, 0, 1)
        if self.min_headroom != 0:
            check_between("min_headroom", self.min_headroom, 0, 0.5)
        if self.concentration is None:
            object.__setattr__(self, "concentration", calibration.concentration(self.n, self.k, self.b))
        check_between("concentration", self.concentration, 0, np.inf)

    def __repr__(self) -> str:
        told = {name: value for name, value in vars(self).items() if value != getattr(CIAFamily, name, None)}
        return f"CIAFamily({', '.join(f'{name}={value!r}' for name, value in told.items())})"

    def _repr_html_(self) -> str:
        """Table for notebooks."""
        told = {
            "attributes": self.n,
            "hidden values": self.k,
            "difficulty": f"{self.b:g} ± {self.tolerance:g}",
            "least headroom": f"{self.min_headroom:g}",
            "concentration": f"{self.concentration:.4g}",
        }
        lines = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in told.items())
        return f"<table><caption>CIA({self.n}, {self.k}, {self.b:g})</caption>{lines}</table>"

    def draw(self, rng: Seed = None) -> CIAModel:
        """Draw one accepted model."""
        return self.draw_counted(rng)[0]

    def draw_counted(self, rng: Seed = None) -> tuple[CIAModel, Rejections]:
        """Draw one accepted model, and tell how many were rejected before it."""
        rng = np.random.default_rng(rng)
        counts = {"difficulty": 0, "headroom": 0}
        for _ in range(MAX_DRAWS):
            weights, probs = self._draw_parameters(rng)
            if self.min_headroom > 0 and not probs[0].min() < 0.5 < probs[0].max():
                counts["headroom"] += 1  # P(x_0 = 1 | x) never crosses 1/2
                continue
            model = CIAModel(weights, probs)
            verdict = self._judge(model, rng)
            if verdict == "accepted":
                return model, Rejections(**counts)
            counts[verdict] += 1
        raise FamilyError(
            f"CIA({self.n}, {self.k}, {self.b:g}) starves: none of {MAX_DRAWS} models was accepted, "
            f"{counts['difficulty']} failed on difficulty (tolerance {self.tolerance:g}) and {counts['headroom']} on "
            f"headroom (min_headroom {self.min_headroom:g}); loosen the condition on {self._starved_by(rng)}."
        )

    def draw_unselected(self, rng: Seed = None) -> CIAModel:
        """Draw one model without looking at its difficulty or headroom."""
        return CIAModel(*self._draw_parameters(np.random.default_rng(rng)))

    def describe(self, models: int = 100, rng: Seed = 0) -> dict[str, float]:
        """Acceptance and rejection rates, measured by drawing `models` accepted models.

        Examples
        --------
        >>> told = CIAFamily(n=10, k=2, b=0.9).describe(models=20)
        >>> told["accepted"], told["drawn"] == told["accepted"] + told["difficulty"] + told["headroom"]
        (20, True)
        """
        rng = np.random.default_rng(rng)
        rejections = [self.draw_counted(rng)[1] for _ in range(models)]
        difficulty, headroom = (sum(column) for column in zip(*rejections, strict=True))
        drawn = models + difficulty + headroom
        assert self.concentration is not None
        return {
            "concentration": self.concentration,
            "drawn": drawn,
            "accepted": models,
            "difficulty": difficulty,
            "headroom": headroom,
            "acceptance_rate": models / drawn,
        }

    def _draw_parameters(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Weights and probs of an unselected model."""
        assert self.concentration is not None
        weights, probs = calibration.draw_parameters(self.n, self.k, self.concentration, 1, rng)
        return weights[0], probs[0]

    def _starved_by(self, rng: np.random.Generator) -> str:
        """Condition that hardly any model meets: the difficulty, unless models of that difficulty abound."""
        any_headroom = replace(self, min_headroom=0)
        verdicts = [any_headroom._judge(self.draw_unselected(rng), rng) for _ in range(MAX_DRAWS // 20)]
        return "headroom" if verdicts.count("accepted") > len(verdicts) // 100 else "difficulty"

    def _judge(self, model: CIAModel, rng: np.random.Generator) -> Verdict:
        """Decide whether a model belongs to the family."""
        if model.enumerable:
            masses, posterior = model.enumeration
            confidence, gain = _confidence_and_gain(model, posterior)
            return self._compare(float(masses @ confidence), 0.0, float(masses @ gain), 0.0) or "difficulty"
        return self._judge_by_sampling(model, rng)

    def _judge_by_sampling(self, model: CIAModel, rng: np.random.Generator) -> Verdict:
        """Draw growing samples until both conditions are settled; doubt counts against the model."""
        confidence, gain = np.empty(0), np.empty(0)
        for stage in STAGES:
            X = model.sample_attributes(stage - confidence.size, rng)
            fresh = _confidence_and_gain(model, model.posterior(X))
            confidence, gain = np.append(confidence, fresh[0]), np.append(gain, fresh[1])
            verdict = self._compare(*_mean_and_doubt(confidence), *_mean_and_doubt(gain))
            if verdict is not None:
                return verdict
        settled = abs(confidence.mean() - self.b) + _mean_and_doubt(confidence)[1] <= self.tolerance
        return "headroom" if settled else "difficulty"

    def _compare(self, difficulty: float, doubt: float, headroom: float, headroom_doubt: float) -> Verdict | None:
        """Verdict at the given doubts, None when there is none yet."""
        distance = abs(difficulty - self.b)
        if distance > self.tolerance + doubt:
            return "difficulty"
        if headroom + headroom_doubt < self.min_headroom:
            return "headroom"
        if distance + doubt <= self.tolerance and headroom - headroom_doubt >= self.min_headroom:
            return "accepted"
        return None


def _confidence_and_gain(model: CIAModel, posterior: Floats) -> tuple[Floats, Floats]:
    """For every row, max_z P(z | x) and what the Bayes rule wins there over the constant rule."""
    advantage = 1 - 2 * (posterior @ model.probs[0])
    return posterior.max(axis=1), np.maximum(advantage if model.constant else -advantage, 0.0)


def _mean_and_doubt(values: Floats) -> tuple[float, float]:
    """Mean, and 2.5 standard errors; 1/size stands in for what a sample has not shown yet."""
    return float(values.mean()), float(SIGMAS * values.std() / np.sqrt(values.size) + 1 / values.size)
