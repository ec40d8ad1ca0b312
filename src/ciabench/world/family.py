"""Families of CIA models of a given size and difficulty (Grove & Roth 1997, §7 and footnote 4)."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ciabench.arrays import Bits, Floats
from ciabench.errors import FamilyError, check_between, check_integer
from ciabench.seeds import Seed
from ciabench.world import calibration
from ciabench.world.base import Task, World
from ciabench.world.model import CIAModel, RandomSource
from ciabench.world.scoring import Scorer

MAX_DRAWS = 10_000
"""A family that accepts fewer than about one model in a thousand is refused."""

STAGES = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
"""Sample sizes at which a model too large to enumerate is examined."""

SIGMAS = 2.5

TRAINING_BLOCK = 500
"""Rows of the training sample that share a seed, so that shorter samples are prefixes of longer ones."""

DIFFICULTY_DRAWS = 4_000

MOST_ATTRIBUTES, MOST_HIDDEN_VALUES = 10_000, 1_000

Decision = Literal["accepted", "difficulty", "headroom"]
"""Whether a model is accepted; if not, the condition that it fails."""


class Rejections(NamedTuple):
    """Number of models rejected before one was accepted; a model that fails both conditions counts once."""

    difficulty: int
    headroom: int


@dataclass(frozen=True)
class CIAFamily(World):
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
        Difficulty: how accurately the true model predicts Z from the attributes. Larger is easier.
    tolerance : float
        Largest |B − b| of an accepted model.
    min_headroom : float
        Smallest S_best − S_const of an accepted model; 0 gives the paper's definition, under which T is undefined
        for many models.
    concentration : float, optional
        The beta parameter a (default: calibrated).
    t_target : float
        Standard error of T at which the test of a rule stops, where scores are sampled.

    Notes
    -----
    Up to n = 14 both conditions are decided exactly. For larger n, attributes are drawn in growing samples of up to
    16,000 until both are settled at 2.5 standard errors (at most 0.003 for the difficulty); a model still in doubt then
    is rejected. So a model that violates a condition is accepted with probability below 1%, and one that violates the
    tolerance by more than 0.002 hardly ever.

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
    t_target: float = 0.005

    use: ClassVar[str] = "CIA"

    def __post_init__(self) -> None:
        check_integer("n, the number of attributes,", self.n, 1, MOST_ATTRIBUTES)
        check_integer("k, the number of hidden values,", self.k, 2, MOST_HIDDEN_VALUES)
        check_between("b, the difficulty,", self.b, 1 / self.k, 1)
        check_between("tolerance", self.tolerance, 0, 1)
        if self.min_headroom != 0:
            check_between("min_headroom", self.min_headroom, 0, 0.5)
        check_between("t_target", self.t_target, 0, np.inf)
        object.__setattr__(self, "_is_calibrated", self.concentration is None)
        if self.concentration is None:
            object.__setattr__(self, "concentration", calibration.concentration(self.n, self.k, self.b))
        check_between("concentration", self.concentration, 0, np.inf)

    @property
    def parameters(self) -> dict[str, Any]:
        """n, k, b and both conditions; also the concentration and `t_target` if they are not the default."""
        shown: dict[str, Any] = {
            "n": int(self.n),
            "k": int(self.k),
            "b": float(self.b),
            "tolerance": float(self.tolerance),
            "min_headroom": float(self.min_headroom),
        }
        if not vars(self)["_is_calibrated"]:
            shown["concentration"] = float(vars(self)["concentration"])
        if self.t_target != CIAFamily.t_target:
            shown["t_target"] = float(self.t_target)
        return shown

    @property
    def name(self) -> str:
        """CIA(n, k, b), with any other parameters that are not the default."""
        others = {name: value for name, value in self.changed_parameters().items() if name not in ("n", "k", "b")}
        shown = [f"{self.n}, {self.k}, {self.b:g}", *(f"{name}={value:g}" for name, value in others.items())]
        return f"CIA({', '.join(shown)})"

    @property
    def identity(self) -> dict[str, Any]:
        """What determines its trials: the parameters, from which a calibrated concentration follows."""
        return self.parameters

    def __repr__(self) -> str:
        shown = {
            "n": self.n,
            "k": self.k,
            "b": self.b,
            **self.changed_parameters(),
            "concentration": self.concentration,
        }
        return f"CIAFamily({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def _repr_html_(self) -> str:
        """Table for notebooks."""
        shown = {
            "attributes": self.n,
            "hidden values": self.k,
            "difficulty": f"{self.b:g} ± {self.tolerance:g}",
            "minimum headroom": f"{self.min_headroom:g}",
            "concentration": f"{self.concentration:.4g}",
        }
        lines = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in shown.items())
        return f"<table><caption>{self.name}</caption>{lines}</table>"

    def task(self, seed: Seed) -> Task:
        """Draw a model; return training rows drawn from it, and its scorer.

        Examples
        --------
        >>> task = CIAFamily(n=10, k=2, b=0.9).task(Seed(("any", 0)))
        >>> X, y = task.training(30)
        >>> X.shape, y.shape, task.judge.best > task.judge.constant
        ((30, 10), (30,), True)
        """
        model, rejections = self.draw_counted(seed.rng("model"))
        return Task(
            training=_TrainingSample(model, seed).first,
            judge=Scorer(model, seed.rng("test"), self.t_target),
            classes=np.array([0, 1], dtype=np.uint8),
            facts={"difficulty": _difficulty(model, seed.rng("difficulty")), "draws": 1 + sum(rejections)},
        )

    def draw(self, rng: RandomSource = None) -> CIAModel:
        """Draw one accepted model."""
        return self.draw_counted(rng)[0]

    def draw_counted(self, rng: RandomSource = None) -> tuple[CIAModel, Rejections]:
        """Draw one accepted model, and count the models rejected before it."""
        rng = np.random.default_rng(rng)
        counts = {"difficulty": 0, "headroom": 0}
        for _ in range(MAX_DRAWS):
            weights, probs = self._draw_parameters(rng)
            if self.min_headroom > 0 and not probs[0].min() < 0.5 < probs[0].max():
                counts["headroom"] += 1  # P(x_0 = 1 | x) never crosses 1/2
                continue
            model = CIAModel(weights, probs)
            decision = self._judge(model, rng)
            if decision == "accepted":
                return model, Rejections(**counts)
            counts[decision] += 1
        raise FamilyError(
            f"no model of {self.name} was accepted: of {MAX_DRAWS} drawn, "
            f"{counts['difficulty']} failed on difficulty (tolerance {self.tolerance:g}) and {counts['headroom']} on "
            f"headroom (min_headroom {self.min_headroom:g}); loosen the condition on {self._starved_by(rng)}."
        )

    def draw_unselected(self, rng: RandomSource = None) -> CIAModel:
        """Draw one model, whatever its difficulty and headroom."""
        return CIAModel(*self._draw_parameters(np.random.default_rng(rng)))

    def describe(self, models: int = 100, rng: RandomSource = 0) -> dict[str, float]:
        """Count the models drawn and rejected, by condition, until `models` are accepted.

        Examples
        --------
        >>> rates = CIAFamily(n=10, k=2, b=0.9).describe(models=20)
        >>> rates["accepted"], rates["drawn"] == rates["accepted"] + rates["difficulty"] + rates["headroom"]
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
        """Condition that hardly any model meets: the difficulty, unless more than 1% of models have it."""
        any_headroom = replace(self, min_headroom=0)
        decisions = [any_headroom._judge(self.draw_unselected(rng), rng) for _ in range(MAX_DRAWS // 20)]
        return "headroom" if decisions.count("accepted") > len(decisions) // 100 else "difficulty"

    def _judge(self, model: CIAModel, rng: np.random.Generator) -> Decision:
        """Decide whether a model belongs to the family."""
        if model.enumerable:
            masses = model.enumeration.masses
            confidence, gain = _confidence_and_gain(model, model.enumeration.posterior)
            return self._compare(float(masses @ confidence), 0.0, float(masses @ gain), 0.0) or "difficulty"
        return self._judge_by_sampling(model, rng)

    def _judge_by_sampling(self, model: CIAModel, rng: np.random.Generator) -> Decision:
        """Draw growing samples until both conditions are settled; reject a model that remains in doubt."""
        confidence, gain = np.empty(0), np.empty(0)
        for stage in STAGES:
            X = model.sample_attributes(stage - confidence.size, rng)
            fresh = _confidence_and_gain(model, model.posterior(X))
            confidence, gain = np.append(confidence, fresh[0]), np.append(gain, fresh[1])
            decision = self._compare(*_mean_and_doubt(confidence), *_mean_and_doubt(gain))
            if decision is not None:
                return decision
        settled = abs(confidence.mean() - self.b) + _mean_and_doubt(confidence)[1] <= self.tolerance
        return "headroom" if settled else "difficulty"

    def _compare(self, difficulty: float, doubt: float, headroom: float, headroom_doubt: float) -> Decision | None:
        """Decision at the given doubts; None if they are too large for one."""
        distance = abs(difficulty - self.b)
        if distance > self.tolerance + doubt:
            return "difficulty"
        if headroom + headroom_doubt < self.min_headroom:
            return "headroom"
        if distance + doubt <= self.tolerance and headroom - headroom_doubt >= self.min_headroom:
            return "accepted"
        return None


def _confidence_and_gain(model: CIAModel, posterior: Floats) -> tuple[Floats, Floats]:
    """For every row, max_z P(z | x) and the gain of the Bayes rule over the constant rule."""
    advantage = 1 - 2 * (posterior @ model.probs[0])
    return posterior.max(axis=1), np.maximum(advantage if model.constant else -advantage, 0.0)


def _mean_and_doubt(values: Floats) -> tuple[float, float]:
    """Mean, and 2.5 standard errors plus 1/size, an allowance for what a sample has not shown yet."""
    return float(values.mean()), float(SIGMAS * values.std() / np.sqrt(values.size) + 1 / values.size)


class _TrainingSample:
    """Training rows of a trial, drawn in blocks as larger sizes are requested."""

    def __init__(self, model: CIAModel, seed: Seed) -> None:
        self._model, self._seed = model, seed
        self._X, self._y = model.sample(0, 0)

    def first(self, size: int) -> tuple[Bits, Bits]:
        """First `size` rows."""
        if size > self._y.size:
            starts = range(self._y.size, size, TRAINING_BLOCK)
            blocks = [self._model.sample(TRAINING_BLOCK, self._seed.rng("training", start)) for start in starts]
            self._X = np.concatenate([self._X, *(X for X, _ in blocks)])
            self._y = np.concatenate([self._y, *(y for _, y in blocks)])
        return self._X[:size], self._y[:size]


def _difficulty(model: CIAModel, rng: np.random.Generator) -> float:
    """Difficulty of a model, to ±0.004 where it is not summed exactly: for the record, not for a decision."""
    if model.enumerable:
        return model.difficulty()
    return float(model.posterior(model.sample_attributes(DIFFICULTY_DRAWS, rng)).max(axis=1).mean())
