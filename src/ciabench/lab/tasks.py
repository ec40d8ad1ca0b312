"""What a trial needs of a world: data to learn from and a judge. CIA families are such worlds, and so is real text."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ciabench.arrays import Bits
from ciabench.seeds import generator
from ciabench.world.corpus import read_corpus
from ciabench.world.family import CIAFamily
from ciabench.world.model import CIAModel
from ciabench.world.scoring import Score, Scorer
from ciabench.world.spelling import SpellingPair, TestPart

BLOCK = 500
"""Rows of the training sample that share one seed, so that a longer sample begins with the shorter one."""

DIFFICULTY_DRAWS = 4_000


class Judge(Protocol):
    """Knows the truth and scores rules against it."""

    best: float
    constant: float

    def score(self, predict: Callable[[Any], Any]) -> Score:
        """Score a rule, a callable from rows to labels."""


def _all_columns(size: int) -> Any:
    return slice(None)


class Task(NamedTuple):
    """One trial's truth: training rows (any size is a prefix of any larger one), a judge, and how it was drawn.

    Rows are dense or CSR. `columns` tells which of them a learner of so many rows gets to see.
    """

    training: Callable[[int], tuple[Any, Bits]]
    judge: Judge
    difficulty: float | None
    draws: int
    columns: Callable[[int], Any] = _all_columns


class TaskFamily(Protocol):
    """Draws the tasks of an experiment."""

    @property
    def identity(self) -> dict[str, Any]:
        """What makes the family itself, as JSON; n, k and b label its rows, and `pair` names a pair of words."""

    def task(self, *seed: Any) -> Task:
        """Draw the task that belongs to `seed`."""


@dataclass(frozen=True)
class CIATasks:
    """Tasks whose truth is a CIA model.

    Parameters
    ----------
    family : CIAFamily
    t_target : float
        Standard error of T at which the test of a rule stops; it is not part of the identity.

    Examples
    --------
    >>> task = CIATasks(CIAFamily(n=10, k=2, b=0.9)).task("seed", 0)
    >>> X, y = task.training(30)
    >>> X.shape, y.shape, task.judge.best > task.judge.constant
    ((30, 10), (30,), True)
    """

    family: CIAFamily
    t_target: float = 0.005

    @property
    def identity(self) -> dict[str, Any]:
        """What makes the family itself; its concentration follows from that."""
        family = self.family
        return {
            "n": int(family.n),
            "k": int(family.k),
            "b": float(family.b),
            "tolerance": float(family.tolerance),
            "min_headroom": float(family.min_headroom),
        }

    def task(self, *seed: Any) -> Task:
        """Draw a model, and from it the data and the scorer."""
        model, rejections = self.family.draw_counted(generator(*seed, "model"))

        def training(size: int) -> tuple[Bits, Bits]:
            starts = range(0, size, BLOCK)
            blocks = [model.sample(BLOCK, generator(*seed, "training", start)) for start in starts]
            X, y = (np.concatenate(parts)[:size] for parts in zip(*blocks, strict=True))
            return X, y

        judge = Scorer(model, generator(*seed, "test"), self.t_target)
        return Task(training, judge, _difficulty(model, generator(*seed, "difficulty")), 1 + sum(rejections))


def _difficulty(model: CIAModel, rng: np.random.Generator) -> float:
    """Difficulty of a model, to ±0.004 where it can not be summed exactly: a record, not a decision."""
    if model.enumerable:
        return model.difficulty()
    return float(model.posterior(model.sample_attributes(DIFFICULTY_DRAWS, rng)).max(axis=1).mean())


@dataclass(frozen=True)
class SpellingTasks:
    """Tasks whose truth is a text: each is a split of its documents.

    Examples
    --------
    >>> task = SpellingTasks(SpellingPair("raise/rise")).task("seed", 0)
    >>> X, y = task.training(100)
    >>> X.shape[0], y.shape, task.judge.best
    (100, (100,), 1.0)
    """

    family: SpellingPair

    @property
    def identity(self) -> dict[str, Any]:
        """What makes the family itself, wherever its corpus lies; here n counts examples, b is the majority's share."""
        family = self.family
        return {
            "pair": family.pair,
            "corpus": read_corpus(family.corpus).digest,
            "min_count": int(family.min_count),
            "n": int(family.examples().y.size),
            "k": 2,
            "b": family.majority_share,
        }

    def task(self, *seed: Any) -> Task:
        """Split the documents; a size beyond the training part stands for all of it."""
        X, y, *_ = self.family.examples()
        rows, test, draws = self.family.split(generator(*seed, "split"))
        judge = TestPart(X[test], y[test], majority=int(y[rows].mean() > 0.5))
        return Task(
            training=lambda size: (X[rows[:size]], y[rows[:size]]),
            judge=judge,
            difficulty=None,
            draws=draws,
            columns=lambda size: self.family.vocabulary(rows[:size]),
        )
