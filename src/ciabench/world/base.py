"""The interface of worlds: a world draws tasks; a task provides training rows and a judge of rules."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol

from ciabench.arrays import Floats
from ciabench.seeds import Seed

Facts = Mapping[str, Any]
"""Plain values stored with a cell or a score, by name: numbers, strings, booleans or None."""

NO_FACTS: Facts = MappingProxyType({})


class Rule(Protocol):
    """A fitted classifier, as a judge sees it."""

    def predict(self, X: Any) -> Any:
        """Label of every row."""


class ProbabilisticRule(Rule, Protocol):
    """A rule that also has `predict_proba`, with columns in the order of `classes_`."""

    classes_: Any

    def predict_proba(self, X: Any) -> Floats:
        """P(class | x), one column per class."""


class Score(NamedTuple):
    """A judge's score of a rule.

    Parameters
    ----------
    success : float
        Success rate: how often the rule predicts the target.
    t : float
        (success − constant) / (best − constant); NaN if there is no headroom.
    t_error : float
        Standard error of `t` due to testing.
    facts : mapping
        Anything else that the judge measures, such as log-loss.

    Examples
    --------
    A judge of your own, which counts how often a rule says yes to four rows:

    >>> def score(rule):
    ...     success = rule.predict([1, 2, 3, 4]).count("yes") / 4
    ...     return Score(success, t=(success - 0.5) / (1 - 0.5), t_error=0.0)
    >>> from types import SimpleNamespace
    >>> score(SimpleNamespace(predict=lambda X: ["yes"] * 3 + ["no"])).t
    0.5
    """

    success: float
    t: float
    t_error: float
    facts: Facts = NO_FACTS


class Judge(Protocol):
    """Knows the truth and scores rules against it."""

    best: float
    """Success rate of the best rule."""

    constant: float
    """Success rate of the best constant rule."""

    def score(self, rule: Any) -> Score:
        """Score a rule: an object with `predict` and, optionally, `predict_proba`."""


View = Callable[[Any], Any]
"""Function from rows to what a learner sees of them."""


def see_everything(size: int) -> View:
    """View that leaves rows unchanged."""
    return lambda rows: rows


@dataclass(frozen=True)
class Task:
    """One trial of a world.

    Parameters
    ----------
    training : callable
        From a size to (X, y), the first `size` training rows; smaller samples are prefixes of larger ones. Rows are
        arrays, CSR matrices or DataFrames, and labels may be of any kind.
    judge : Judge
    classes : sequence, optional
        All labels that a rule may predict (default: those in y).
    facts : mapping
        Plain values to store with the trial.
    view : callable
        From a size to a function that is applied to both training and test rows: what a learner with that many
        training rows knows of them, such as its vocabulary.
    references : mapping
        For every reference that the world offers, a function from (X, y) to a rule built from these rows; if the rule
        has `facts`, they are stored with its score.

    Examples
    --------
    >>> import numpy as np
    >>> from ciabench import HeldOut
    >>> X, y = np.eye(4), np.array(["a", "b", "a", "b"])
    >>> judge = HeldOut(X, y, constant_label="a")
    >>> task = Task(training=lambda size: (X[:size], y[:size]), judge=judge)
    >>> task.training(2)[1], task.judge.constant
    (array(['a', 'b'], dtype='<U1'), 0.5)
    """

    training: Callable[[int], tuple[Any, Any]]
    judge: Judge
    classes: Any = None
    facts: Facts = field(default_factory=dict)
    view: Callable[[int], View] = see_everything
    references: Mapping[str, Callable[[Any, Any], Any]] = field(default_factory=dict)


class World(ABC):
    """A source of tasks, from which the lab draws trials.

    To write your own, derive a frozen dataclass with a method `task`. Its fields are its parameters; name and identity
    follow from them and may be overridden.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Coin(World):
    ...     bias: float = 0.5
    ...     def task(self, seed): ...
    >>> Coin(0.7).name, Coin(0.7).parameters
    ('Coin(bias=0.7)', {'bias': 0.7})
    """

    use: ClassVar[str] = ""
    """Name in experiment files; only for worlds of this package."""

    version: ClassVar[int] = 1
    """Incremented when the same parameters and seed give different trials; older rows are then computed again."""

    references: ClassVar[Mapping[str, int]] = {}
    """Reference curves that its tasks offer, with their versions."""

    @property
    def most_examples(self) -> int | None:
        """Number of training rows, if limited; a larger size means all of them."""
        return None

    @property
    def parameters(self) -> dict[str, Any]:
        """Flat dict of plain values, which become columns of the rows."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.init}  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """Display name: the class, and the parameters that differ from their defaults."""
        shown = ", ".join(f"{name}={value!r}" for name, value in self.changed_parameters().items())
        return f"{type(self).__name__}({shown})" if shown else type(self).__name__

    @property
    def identity(self) -> dict[str, Any]:
        """What determines its trials, as JSON: seeds are derived from it, and stored rows are keyed by it."""
        return {"use": f"{type(self).__module__}:{type(self).__qualname__}", **self.parameters}

    @abstractmethod
    def task(self, seed: Seed) -> Task:
        """Draw the task of one trial, with all randomness from `seed.rng(purpose)`."""

    def changed_parameters(self) -> dict[str, Any]:
        """Parameters that differ from their defaults."""
        defaults = {one.name: one.default for one in fields(self)}  # type: ignore[arg-type]
        return {
            name: value
            for name, value in self.parameters.items()
            if defaults.get(name, MISSING) is MISSING or value != defaults[name]
        }
