"""Experiment files: TOML → a frozen, validated Experiment → the plan that workers carry out."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from ciabench.errors import CIABenchError, ExperimentError, shown
from ciabench.files import content_of
from ciabench.lab.plan.learner import Learner, resolve
from ciabench.lab.plan.plan import Plan, Reference
from ciabench.lab.plan.registry import close_match, needs_import
from ciabench.lab.plan.worlds import grid, grid_size, make_world, ungridded

Count = Annotated[int, Field(strict=True, ge=1, le=100_000_000)]
Use = Annotated[str, Field(strict=True, min_length=1)]
Name = Annotated[str, Field(strict=True, min_length=1, max_length=100)]
Made = TypeVar("Made")

MOST_WORLDS = 10_000

MOST_BYTES = 2**20
"""Largest experiment file that is read."""

MOST_PARTS = 100
PART = r"""(?:[\w-]+|"(?:[^"\\\n]|\\.){0,200}"|'[^'\n]{0,200}')"""
LONG_KEY = re.compile(rf"(?<![\w-]){PART}(?:[ \t]*\.[ \t]*{PART}){{{MOST_PARTS}}}")
"""A dotted key that is too long: the parser's time grows with the square of the number of its parts."""


def _tabled(value: Any) -> Any:
    """A learner's name alone is short for a table without parameters."""
    return {"use": value} if isinstance(value, str) else value


class WorldTable(BaseModel):
    """Worlds: `use` names their class, all other keys are its parameters; lists of values make a grid."""

    model_config = ConfigDict(frozen=True, extra="allow")

    use: Use = "CIA"

    @property
    def params(self) -> dict[str, Any]:
        """What else the table says."""
        return self.model_extra or {}


class FamilyTable(WorldTable):
    """Short form: families CIA(n, k, b), or pairs of words where the table has a `pair`."""

    use: Use = ""

    @model_validator(mode="after")
    def _named(self) -> "FamilyTable":
        return self if self.use else self.model_copy(update={"use": "Spelling" if "pair" in self.params else "CIA"})


class LearnerTable(BaseModel):
    """A learner: `use` names its class, `name` is its display name, all other keys are its parameters."""

    model_config = ConfigDict(frozen=True, extra="allow")

    use: Use
    name: Name | None = None

    @property
    def params(self) -> dict[str, Any]:
        """What else the table says."""
        return self.model_extra or {}

    @property
    def label(self) -> str:
        """Name in results."""
        return self.name or self.use.rpartition(":")[2]

    def resolved(self) -> Learner:
        """Look the class up."""
        return resolve(self.use, self.label, self.params)


class PlacedWorld(NamedTuple):
    """One world of a grid, and the key of the table that it comes from."""

    key: str
    use: str
    params: dict[str, Any]


class Experiment(BaseModel):
    """The content of an experiment file.

    Attributes
    ----------
    name : str
        Name of the result file, without its suffix.
    description : str
        What the experiment shows, for readers; results do not depend on it.
    seed : int
        Root of all randomness.
    trials : int
        Trials per world.
    sizes : tuple of int
        Numbers of training examples.
    worlds : tuple
        Worlds on which learners are compared.
    families : tuple
        Short form for worlds that are CIA(n, k, b) or pairs of words.
    learners : tuple
        Learners to compare.
    references : tuple of str
        Reference curves that the worlds offer.
    time_limit : float, optional
        Seconds that one fit may take.

    Examples
    --------
    >>> experiment = Experiment.model_validate(
    ...     {"name": "tour", "seed": 1, "trials": 2, "sizes": [10], "learners": ["EM"],
    ...      "worlds": [{"use": "CIA", "n": [10, 75], "k": 2, "b": 0.9}]}
    ... )
    >>> [world["n"] for world in experiment.spec()["worlds"]]
    [10, 75]
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    description: Annotated[str, Field(strict=True, max_length=1000)] = ""
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)]
    trials: Count
    sizes: Annotated[tuple[Count, ...], Field(min_length=1)]
    worlds: tuple[WorldTable, ...] = ()
    families: tuple[FamilyTable, ...] = ()
    learners: Annotated[
        tuple[Annotated[LearnerTable, BeforeValidator(_tabled, json_schema_input_type=str | LearnerTable)], ...],
        Field(min_length=1),
    ]
    references: tuple[Name, ...] = ()
    time_limit: Annotated[float, Field(strict=True, gt=0, le=86_400)] | None = None

    _source: str = PrivateAttr("experiment")

    @model_validator(mode="after")
    def _is_possible(self) -> "Experiment":
        """Rows are labelled by world, size and learner: there must be some of each, and none twice."""
        tables = {**self._tables()}
        if not tables:
            raise ValueError("worlds: is missing (or families, its short form)")
        for key, table in tables.items():
            for name, value in table.params.items():
                if value in ([], ()):
                    raise ValueError(f"{key}.{name} = []: a list of values must not be empty")
        if sum(grid_size(table.params) for table in tables.values()) > MOST_WORLDS:
            raise ValueError(f"there are more than {MOST_WORLDS} worlds")
        labels = {"sizes": self.sizes, "learners": [table.label for table in self.learners]}
        for kind, given in labels.items():
            twice = [one for one, count in Counter(given).items() if count > 1]
            if twice:
                raise ValueError(f"{kind} holds {twice[0]} twice")
        return self

    def imports(self) -> list[str]:
        """Classes that must be imported from modules outside ciabench and scikit-learn."""
        uses = [*(table.use for table in self.learners), *(table.use for table in self._tables().values())]
        return list(dict.fromkeys(use for use in uses if needs_import(use)))

    def spec(self) -> dict[str, Any]:
        """Return the experiment as JSON, itself a valid experiment: grids expanded, sizes sorted."""
        return {
            **self.model_dump(include={"name", "seed", "trials", "time_limit"}),
            "sizes": sorted(self.sizes),
            "worlds": [{"use": world.use, **ungridded(world.params)} for world in self._worlds()],
            "learners": [{"use": table.use, "name": table.label, **table.params} for table in self.learners],
            "references": list(self.references),
        }

    def plan(self) -> Plan:
        """Create the worlds and find the learners; errors name the table that they come from."""
        worlds = tuple(self._made(one.key, partial(make_world, one.use, one.params)) for one in self._worlds())
        learners = tuple(self._made(f"learners[{i}]", table.resolved) for i, table in enumerate(self.learners))
        references = tuple(map(Reference, self.references))
        sizes = tuple(sorted(self.sizes))
        make = partial(Plan, self.seed, self.trials, sizes, worlds, learners, references, self.time_limit)
        return self._made("", make)

    def _tables(self) -> dict[str, WorldTable]:
        """Tables of worlds by key."""
        families = {f"families[{position}]": table for position, table in enumerate(self.families)}
        return {**families, **{f"worlds[{position}]": table for position, table in enumerate(self.worlds)}}

    def _worlds(self) -> Iterator[PlacedWorld]:
        """The worlds of all grids, one by one."""
        for key, table in self._tables().items():
            for params in grid(table.params):
                yield PlacedWorld(key, table.use, params)

    def _made(self, key: str, make: Callable[[], Made]) -> Made:
        """Call `make`, adding the key to its errors."""
        try:
            return make()
        except CIABenchError as error:
            raise ExperimentError(f"{self._source}: {key + ': ' if key else ''}{error}") from error


def load(path: str | Path) -> Experiment:
    """Read an experiment file; a mistake in it is reported in one line: key, value and what was expected."""
    try:
        text = content_of(path, MOST_BYTES).decode()
        if LONG_KEY.search(text):
            raise ExperimentError(f"{path}: a key has more than {MOST_PARTS} parts.")
        table = tomllib.loads(text)
    except OSError as error:
        raise ExperimentError(f"{path}: cannot be read; {error.strerror or error}.") from error
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
    ciabench.errors.ExperimentError: tour.toml: sed = 1: unknown key (did you mean "seed"?) (and 4 more mistakes).
    """
    try:
        experiment = Experiment.model_validate(table)
        experiment._source = source
        json.dumps(experiment.spec(), allow_nan=False)
    except ValidationError as error:
        mistakes = sorted(error.errors(include_url=False), key=lambda mistake: mistake["type"] != "extra_forbidden")
        more = {1: "", 2: " (and one more mistake)"}.get(len(mistakes), f" (and {len(mistakes) - 1} more mistakes)")
        raise ExperimentError(f"{source}: {_explain(mistakes[0])}{more}.") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ExperimentError(f"{source}: a parameter of a world or learner is not a plain value; {error}.") from None
    return experiment


def schema() -> dict[str, Any]:
    """JSON schema of experiment files.

    Examples
    --------
    >>> sorted(schema()["required"])
    ['learners', 'name', 'seed', 'sizes', 'trials']
    """
    return Experiment.model_json_schema(mode="validation")


def _explain(mistake: Any) -> str:
    """Key, value and what was expected, from pydantic's description of a mistake."""
    parts = [part for part in mistake["loc"] if not str(part).startswith(("function-", "constrained-"))]
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".")
    if mistake["type"] == "missing":
        return f"{key}: is missing"
    if mistake["type"] == "value_error":
        return str(mistake["ctx"]["error"])
    given = shown(mistake["input"])
    if mistake["type"] == "extra_forbidden":
        return f"{key} = {given}: unknown key{close_match(str(parts[-1]), Experiment.model_fields)}"
    return f"{key} = {given}: {mistake['msg'][0].lower()}{mistake['msg'][1:]}"
