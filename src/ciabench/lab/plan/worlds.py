"""Worlds of an experiment, by name and parameters, in grids."""

import inspect
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from ciabench.errors import CIABenchError, ExperimentError
from ciabench.lab.plan.learner import check_name
from ciabench.lab.plan.registry import Registry
from ciabench.world import builtin_worlds
from ciabench.world.base import World

WORLDS = Registry(
    kind="world",
    group="ciabench.worlds",
    find_builtins=lambda: dict(builtin_worlds()),
    is_one=lambda found: issubclass(found, World) and not inspect.isabstract(found),
    expected="a subclass of ciabench.World with a method task",
)


def make_world(use: str, params: Mapping[str, Any]) -> World:
    """Create the world that an experiment file names; raises if that is not possible.

    Examples
    --------
    >>> make_world("CIA", {"n": 10, "k": 2, "b": 0.9}).name
    'CIA(10, 2, 0.9)'
    """
    WORLDS.check_parameters(use, params)
    try:
        world: World = WORLDS.find(use)(**params)
        check_name(world.name)
    except CIABenchError:
        raise
    except Exception as error:
        raise ExperimentError(f"{use} cannot be made; {type(error).__name__}: {error}.") from error
    return world


def grid(params: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All combinations of the listed values.

    Examples
    --------
    >>> list(grid({"n": [10, 75], "b": 0.9}))
    [{'n': 10, 'b': 0.9}, {'n': 75, 'b': 0.9}]
    """
    choices = [value if isinstance(value, list | tuple) else [value] for value in params.values()]
    for combination in product(*choices):
        yield dict(zip(params, combination, strict=True))


def ungridded(params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of one world, written so that a list among them is a single value, not a grid.

    Examples
    --------
    >>> list(grid(ungridded({"n": 10, "chances": [0.1, 0.9]})))
    [{'n': 10, 'chances': [0.1, 0.9]}]
    """
    return {name: [value] if isinstance(value, list | tuple) else value for name, value in params.items()}


def grid_size(params: Mapping[str, Any]) -> int:
    """Number of combinations in a grid."""
    size = 1
    for value in params.values():
        size *= len(value) if isinstance(value, list | tuple) else 1
    return size
