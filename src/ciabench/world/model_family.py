"""Families of random models: what all of them share, from the draw of a model to the task that is made of it."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, replace
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ciabench.arrays import Bits, Floats
from ciabench.errors import FamilyError, check_between, check_integer
from ciabench.seeds import Seed
from ciabench.world import calibration
from ciabench.world.base import Task, World
from ciabench.world.bit_model import BitModel, RandomSource
from ciabench.world.conditions import Conditions, Decision, Rejections
from ciabench.world.departure import Projected
from ciabench.world.model import CIAModel
from ciabench.world.scoring import Scorer

Model = TypeVar("Model", bound=BitModel)

MAX_DRAWS = 10_000
"""A family that accepts fewer than about one model in a thousand is refused."""

TRAINING_BLOCK = 500
"""Rows of the training sample that share a seed, so that shorter samples are prefixes of longer ones."""

DIFFICULTY_DRAWS = 4_000

MOST_ATTRIBUTES = 10_000

SHOWN = {
    "n": "attributes",
    "k": "hidden values",
    "d": "strength of the tree",
    "r": "relevant attributes",
    "noise": "noise",
}
"""Parameters in words, for notebooks."""


class ModelFamily(World, Generic[Model]):
    """Random models of a given size and difficulty.

    A family is a frozen dataclass (with `repr=False`) that has the fields below. The parameters without a default are
    its own: they stand in its name. It defines `_attempt`, `draw_unselected`, and what else differs.
    """

    n: int
    b: float
    tolerance: float
    min_headroom: float
    concentration: float | None
    t_target: float

    references: ClassVar[Mapping[str, int]] = {"projection": 1}

    def __post_init__(self) -> None:
        check_integer("n, the number of attributes,", self.n, 1, MOST_ATTRIBUTES)
        check_between("tolerance", self.tolerance, 0, 1)
        if self.min_headroom != 0:
            check_between("min_headroom", self.min_headroom, 0, 0.5)
        check_between("t_target", self.t_target, 0, np.inf)
        self._check_own()
        check_between("b, the difficulty,", self.b, 1 / self.n_hidden, 1)
        object.__setattr__(self, "_is_calibrated", self.concentration is None)
        if self.concentration is None:
            object.__setattr__(self, "concentration", self._calibrated())
        check_between("concentration", self.concentration, 0, np.inf)

    def _check_own(self) -> None:
        """Check the parameters that other families do not have."""

    @property
    def n_hidden(self) -> int:
        """Number of hidden values."""
        return 2

    def _calibrated(self) -> float:
        """Concentration for which the mean difficulty is b: that of CIA models, unless overridden."""
        return calibration.concentration(self.n, self.n_hidden, self.b)

    @abstractmethod
    def _attempt(self, rng: np.random.Generator) -> tuple[Model | None, Decision]:
        """Draw one model and decide on it; None may stand for a model that is rejected."""

    @abstractmethod
    def draw_unselected(self, rng: RandomSource = None) -> Model:
        """Draw one model, whatever its difficulty and headroom."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Its own and both conditions; also the concentration and `t_target` if they are not the default."""
        hidden = {name for name in ("concentration",) if vars(self)["_is_calibrated"]}
        hidden |= {name for name in ("t_target",) if self.t_target == type(self).t_target}
        shown = [one for one in fields(self) if one.name not in hidden]  # type: ignore[arg-type]
        return {one.name: (int if one.type is int else float)(getattr(self, one.name)) for one in shown}

    @property
    def name(self) -> str:
        """Its own parameters in brackets, with any others that are not the default."""
        own = [one.name for one in fields(self) if one.default is MISSING]  # type: ignore[arg-type]
        others = {name: value for name, value in self.changed_parameters().items() if name not in own}
        shown = [*(f"{getattr(self, name):g}" for name in own), *(f"{name}={others[name]:g}" for name in others)]
        return f"{self.use}({', '.join(shown)})"

    @property
    def identity(self) -> dict[str, Any]:
        """What determines its trials: the parameters, from which a calibrated concentration follows."""
        return {"use": self.use, **self.parameters}

    def __repr__(self) -> str:
        shown = {**self.changed_parameters(), "concentration": self.concentration}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def _repr_html_(self) -> str:
        """Table for notebooks."""
        shown = {
            **{label: f"{self.parameters[name]:g}" for name, label in SHOWN.items() if name in self.parameters},
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
        >>> from ciabench import CIAFamily
        >>> task = CIAFamily(n=10, k=2, b=0.9).task(Seed(("any", 0)))
        >>> X, y = task.training(30)
        >>> X.shape, y.shape, task.judge.best > task.judge.constant
        ((30, 10), (30,), True)
        """
        model, rejections = self.draw_counted(seed.rng("model"))
        judge = Scorer(model, seed.rng("test"), self.t_target)
        return Task(
            training=_TrainingSample(model, seed).first,
            judge=judge,
            classes=np.array([0, 1], dtype=np.uint8),
            facts={"difficulty": _difficulty(model, seed.rng("difficulty")), "draws": 1 + sum(rejections)},
            references=self._references(model, judge, seed),
        )

    def _references(self, model: Model, judge: Scorer, seed: Seed) -> dict[str, Callable[[Any, Any], Any]]:
        """For every reference, a function from training rows to its rule."""
        projected = cache(lambda: Projected.of(model, seed.rng("projection")))
        return {"projection": lambda X, y: projected()}

    def draw(self, rng: RandomSource = None) -> Model:
        """Draw one accepted model."""
        return self.draw_counted(rng)[0]

    def draw_counted(self, rng: RandomSource = None) -> tuple[Model, Rejections]:
        """Draw one accepted model, and count the models rejected before it."""
        rng = np.random.default_rng(rng)
        counts = {"difficulty": 0, "headroom": 0}
        for _ in range(MAX_DRAWS):
            model, decision = self._attempt(rng)
            if model is not None and decision == "accepted":
                return model, Rejections(**counts)
            counts[decision] += 1
        raise FamilyError(
            f"no model of {self.name} was accepted: of {MAX_DRAWS} drawn, "
            f"{counts['difficulty']} failed on difficulty (tolerance {self.tolerance:g}) and {counts['headroom']} on "
            f"headroom (min_headroom {self.min_headroom:g}); loosen the condition on {self._starved_by(rng)}."
        )

    def describe(self, models: int = 100, rng: RandomSource = 0) -> dict[str, float]:
        """Count the models drawn and rejected, by condition, until `models` are accepted.

        Examples
        --------
        >>> from ciabench import CIAFamily
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

    def _draw_mixture(self, n_attributes: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Weights and probs of an unselected mixture of as many attributes, target included."""
        assert self.concentration is not None
        weights, probs = calibration.draw_parameters(n_attributes - 1, self.n_hidden, self.concentration, 1, rng)
        return weights[0], probs[0]

    def _starved_by(self, rng: np.random.Generator) -> str:
        """Condition that hardly any model meets: the difficulty, unless more than 1% of models have it."""
        any_headroom = replace(self, min_headroom=0)  # type: ignore[type-var]
        decisions = [any_headroom._attempt(rng)[1] for _ in range(MAX_DRAWS // 20)]
        return "difficulty" if decisions.count("difficulty") >= 0.99 * len(decisions) else "headroom"


class MixtureFamily(ModelFamily[CIAModel]):
    """A family whose models are mixtures: attributes and target are independent given the hidden value."""

    @abstractmethod
    def _draw_parameters(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Weights (k,) and probs (n + 1, k) of an unselected model."""

    def draw_unselected(self, rng: RandomSource = None) -> CIAModel:
        """Draw one model, whatever its difficulty and headroom."""
        return CIAModel(*self._draw_parameters(np.random.default_rng(rng)))

    def _attempt(self, rng: np.random.Generator) -> tuple[CIAModel | None, Decision]:
        weights, probs = self._draw_parameters(rng)
        if self.min_headroom > 0 and not crosses_half(probs[0]):
            return None, "headroom"
        model = CIAModel(weights, probs)
        return model, Conditions(self.b, self.tolerance, self.min_headroom).judge(model, rng)


def crosses_half(target_given_hidden: Floats) -> bool:
    """Whether P(x_0 = 1 | x) can lie on both sides of 1/2, without which there is no headroom."""
    return bool(target_given_hidden.min() < 0.5 < target_given_hidden.max())


class _TrainingSample:
    """Training rows of a trial, drawn in blocks as larger sizes are requested."""

    def __init__(self, model: BitModel, seed: Seed) -> None:
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


def _difficulty(model: BitModel, rng: np.random.Generator) -> float:
    """Difficulty of a model, to ±0.004 where it is not summed exactly: for the record, not for a decision."""
    if model.enumerable:
        return model.difficulty()
    return float(model.posterior(model.sample_attributes(DIFFICULTY_DRAWS, rng)).max(axis=1).mean())
