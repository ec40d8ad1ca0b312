"""What the lab asks of any world: a world draws tasks, a task gives rows to learn from and a judge of rules."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol

from ciabench.arrays import Floats
from ciabench.seeds import Seed

Facts = Mapping[str, Any]
"""Plain values that are kept with a cell or a score: numbers, texts, booleans or None by name."""

NO_FACTS: Facts = MappingProxyType({})


class Rule(Protocol):
    """A fitted classifier, as a judge sees it."""

    def predict(self, X: Any) -> Any:
        """Label of every row."""


class ProbabilisticRule(Rule, Protocol):
    """A rule that also has `predict_proba`, with the columns in the order of `classes_`."""

    classes_: Any

    def predict_proba(self, X: Any) -> Floats:
        """P(class | x), one column per class."""


class Score(NamedTuple):
    """What a judge says of a rule.

    Parameters
    ----------
    success : float
        Success rate: how often the rule predicts the target.
    t : float
        (success − constant) / (best − constant); NaN where there is no headroom.
    t_error : float
        Standard error of `t` due to testing.
    facts : mapping
        Whatever else the judge measures, such as log-loss.
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
        """Score a rule: an object with `predict`, and `predict_proba` where it has one."""


View = Callable[[Any], Any]
"""What a learner gets to see of rows."""


def see_everything(size: int) -> View:
    """View that leaves rows as they are."""
    return lambda rows: rows


@dataclass(frozen=True)
class Task:
    """One trial of a world.

    Parameters
    ----------
    training : callable
        From a size to (X, y), the first so many training rows; smaller sizes are prefixes of larger ones. Rows are
        arrays, CSR matrices or DataFrames, and labels may be anything.
    judge : Judge
    classes : sequence, optional
        All labels that a rule may predict; without it those that y shows.
    facts : mapping
        Plain values to keep with the trial.
    view : callable
        From a size to a function that is applied to training and test rows alike: what a learner of so many rows
        knows of them, such as its vocabulary.
    references : mapping
        For every reference that the world offers, a function from (X, y) to a rule made of these rows.
    """

    training: Callable[[int], tuple[Any, Any]]
    judge: Judge
    classes: Any = None
    facts: Facts = field(default_factory=dict)
    view: Callable[[int], View] = see_everything
    references: Mapping[str, Callable[[Any, Any], Any]] = field(default_factory=dict)


class World(ABC):
    """A source of tasks, for the lab to draw trials from.

    A world of your own is a frozen dataclass with a method `task`. Its fields are its parameters; name and identity
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
    """Name in experiment files of a world that comes with this package."""

    version: ClassVar[int] = 1
    """Raised when the same parameters and seed give other trials; rows of the old version are computed again."""

    references: ClassVar[Mapping[str, int]] = {}
    """Reference curves that its tasks offer, each with its version."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Flat dict of plain values: columns of the rows, facets of the figures."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.init}  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """What the world is called everywhere: its class, and the parameters that differ from their defaults."""
        shown = ", ".join(f"{name}={value!r}" for name, value in self.changed_parameters().items())
        return f"{type(self).__name__}({shown})" if shown else type(self).__name__

    @property
    def identity(self) -> dict[str, Any]:
        """What makes its trials, as JSON: all randomness hashes it, and rows are kept by it."""
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
