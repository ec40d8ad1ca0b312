"""The truth: worlds that draw tasks, the models and data behind them, and judges. New files are found automatically."""

from importlib import import_module
from inspect import getmembers, isclass
from pkgutil import iter_modules

from ciabench.world.base import World


def builtin_worlds() -> dict[str, type[World]]:
    """Find every world of this package: its name in experiment files → its class.

    Examples
    --------
    >>> {"CIA", "Spelling"} <= set(builtin_worlds())
    True
    """
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    return {
        world.use: world
        for module in modules
        for _, world in getmembers(module, isclass)
        if world.__module__ == module.__name__ and issubclass(world, World) and world.use
    }
