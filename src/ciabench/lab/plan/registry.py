"""Classes by name: built in, from an entry point, or any other as "package.module:Class"."""

import difflib
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from ciabench.errors import ExperimentError
from ciabench.lab.plan.imports import import_foreign
from ciabench.seeds import canonical, digest

OWN_PACKAGES = ("ciabench", "sklearn")
"""Packages whose classes may be named in any experiment file: this one, and scikit-learn, which it imports."""


@dataclass(frozen=True)
class Registry:
    """Finds the classes of one kind.

    Parameters
    ----------
    kind : str
        "learner" or "world".
    group : str
        Group of entry points that name further classes.
    find_builtins : callable
        Finds the classes of this package: name → class.
    is_one : callable
        Tests whether a class is of this kind.
    expected : str
        Description of the kind for error messages.
    """

    kind: str
    group: str
    find_builtins: Callable[[], dict[str, type]]
    is_one: Callable[[type], bool]
    expected: str

    def find(self, use: str) -> type:
        """Find the class that `use` names."""
        return _find(self, use)

    def builtins(self) -> dict[str, type]:
        """Classes of this package by name."""
        return _builtins(self)

    def name_of(self, found: type) -> str:
        """Built-in name of a class, or "package.module:Class"."""
        for name, builtin in self.builtins().items():
            if builtin is found:
                return name
        return f"{_public_module(found)}:{found.__qualname__}"

    def check_parameters(self, use: str, given: Iterable[str]) -> None:
        """Refuse parameters that the constructor does not know."""
        found = self.find(use)
        known = parameters(found)
        for key in given:
            if key not in known and not _takes_any(found):
                expected = f"expected one of {', '.join(known)}" if known else "it has no parameters"
                raise ExperimentError(f"unknown parameter {key!r} of {use}{close_match(key, known)}; {expected}.")

    def imported(self, path: str) -> type:
        """Import "package.module:Class"; any error of its module is reported in one sentence."""
        module_name, _, class_name = path.partition(":")
        try:
            module = import_foreign(module_name) if needs_import(path) else import_module(module_name)
        except ExperimentError:
            raise
        except (Exception, SystemExit) as error:
            raise ExperimentError(f"{path!r} cannot be imported; {type(error).__name__}: {error}.") from error
        found = getattr(module, class_name, None)
        if not inspect.isclass(found):
            classes = [name for name, value in vars(module).items() if inspect.isclass(value)]
            raise ExperimentError(
                f"module {module_name} has no class {class_name!r}{close_match(class_name, classes)}."
            )
        if not self.is_one(found):
            raise ExperimentError(f"{path!r} is not a {self.kind}; expected {self.expected}.")
        return found


@cache
def _builtins(registry: Registry) -> dict[str, type]:
    return registry.find_builtins()


@cache
def _find(registry: Registry, use: str) -> type:
    if ":" in use:
        return registry.imported(use)
    builtins = registry.builtins()
    if use in builtins:
        return builtins[use]
    plugins = {point.name: point.value for point in entry_points(group=registry.group)}
    if use in plugins:
        return registry.imported(plugins[use])
    known = sorted({*builtins, *plugins})
    raise ExperimentError(
        f"there is no {registry.kind} {use!r}{close_match(use, known)}; "
        f'expected one of {", ".join(known)}, or a class as "package.module:Class".'
    )


def needs_import(use: str) -> bool:
    """Whether a name requires an import from outside this package and scikit-learn.

    Examples
    --------
    >>> [needs_import(use) for use in ("EM", "sklearn.naive_bayes:BernoulliNB", "my_learner:Majority")]
    [False, False, True]
    """
    return ":" in use and use.partition(":")[0].partition(".")[0] not in OWN_PACKAGES


def close_match(word: str, known: Iterable[str]) -> str:
    """Suggest the most similar known word, if there is one.

    Examples
    --------
    >>> close_match("trails", ["trials", "sizes"])
    ' (did you mean "trials"?)'
    """
    matches = difflib.get_close_matches(word, list(known), n=1)
    return f' (did you mean "{matches[0]}"?)' if matches else ""


@cache
def parameters(found: type) -> dict[str, Any]:
    """Constructor parameters of a class with their defaults."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(found).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def version_of(found: type) -> int:
    """Version of the results of a class: its attribute `version` if that is an integer, otherwise 1."""
    version = getattr(found, "version", 1)
    return version if isinstance(version, int) else 1


def described(value: Any, name_of: Callable[[type], str]) -> Any:
    """Describe a parameter as JSON; nested estimators are described by class and parameters."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(key): described(item, name_of) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [described(item, name_of) for item in value]
    if isinstance(value, np.generic):
        return described(value.item(), name_of)
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "digest": digest(described(value.tolist(), name_of))}
    if hasattr(value, "get_params") and not inspect.isclass(value):
        return {"use": name_of(type(value)), "params": described(value.get_params(deep=False), name_of)}
    return f"{type(value).__module__}:{type(value).__qualname__}"


def is_plain(value: Any) -> bool:
    """Whether `described` loses nothing of a parameter, so that equal descriptions mean equal parameters."""
    if isinstance(value, Mapping):
        return all(map(is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if hasattr(value, "get_params") and not inspect.isclass(value):
        return is_plain(value.get_params(deep=False))
    return value is None or isinstance(value, bool | int | float | str | np.generic | np.ndarray)


def same(value: Any, default: Any, name_of: Callable[[type], str]) -> bool:
    """Whether a parameter equals its default; types must match, so that True is not 1."""
    if type(value) is not type(default):
        return False
    return canonical(described(value, name_of)) == canonical(described(default, name_of))


def _takes_any(found: type) -> bool:
    """Whether the constructor accepts arbitrary keywords."""
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(found).parameters.values())


def _public_module(found: type) -> str:
    """Public module that exports a class, or else the one that defines it; in scikit-learn that is a private `_…`."""
    parts = found.__module__.split(".")
    public = next((position for position, part in enumerate(parts) if part.startswith("_")), len(parts))
    module = ".".join(parts[:public])
    if module and getattr(import_module(module), found.__name__, None) is found:
        return module
    return found.__module__
