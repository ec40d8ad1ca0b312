"""Learners by name: built in, from an entry point, or any class as "package.module:Class"."""

import difflib
import importlib
import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from ciabench.errors import ExperimentError
from ciabench.seeds import canonical

ENTRY_POINTS = "ciabench.learners"
NO_FIRST_CHARACTERS = (*"=+-@_ \t\r\n", "")


@dataclass(frozen=True)
class Learner:
    """A classifier of an experiment.

    Parameters
    ----------
    name : str
        What its rows are called.
    use : str
        Its class: the name of a built-in one, or "package.module:Class".
    params : mapping
        Parameters that differ from the defaults of the class.
    builtin : bool
        Whether the class belongs to this package and may run outside a guard.
    prototype : estimator, optional
        Cloned in place of the class; for estimators that only live in memory.

    Examples
    --------
    >>> learner = resolve("sklearn.naive_bayes:BernoulliNB", "bayes", {"alpha": 1.0, "binarize": 0.5})
    >>> learner.identity
    '{"params":{"binarize":0.5},"use":"sklearn.naive_bayes:BernoulliNB"}'
    >>> learner.build(random_state=0)
    BernoulliNB(binarize=0.5)
    """

    name: str
    use: str
    params: Mapping[str, Any]
    builtin: bool
    prototype: Any = None

    def __post_init__(self) -> None:
        check_name(self.name)

    @property
    def identity(self) -> str:
        """Class and parameters, which decide its results; its name does not."""
        return canonical({"use": self.use, "params": described(self.params)})

    def build(self, random_state: int) -> Any:
        """Make an unfitted classifier; `random_state` is used where the parameters set none."""
        if self.prototype is not None:
            from sklearn.base import clone

            fresh = clone(self.prototype)
            open_to_seed = fresh.get_params(deep=False).get("random_state", "fixed") is None
            return fresh.set_params(random_state=random_state) if open_to_seed else fresh
        learner_class = find_class(self.use)
        seeded = "random_state" in _parameters(learner_class) and "random_state" not in self.params
        return learner_class(**self.params, **({"random_state": random_state} if seeded else {}))


def check_name(name: str) -> None:
    """Refuse names that a spreadsheet would run as a formula, or that a legend leaves out."""
    if str(name)[:1] in NO_FIRST_CHARACTERS:
        raise ExperimentError(
            f"a learner can not be called {name!r}: a name begins with neither a blank nor =, +, - or @, which begin "
            "formulas in spreadsheets, nor _, which legends leave out."
        )


def resolve(use: str, name: str, params: Mapping[str, Any]) -> Learner:
    """Turn what an experiment file says about a learner into a learner, or tell what is wrong."""
    learner_class = find_class(use)
    known = _parameters(learner_class)
    for key in params:
        if key not in known and not _takes_any(learner_class):
            expected = f"expected one of {', '.join(known)}" if known else "it has no parameters"
            raise ExperimentError(f"unknown parameter {key!r} of {use}{close_match(key, known)}; {expected}.")
    changed = {key: value for key, value in params.items() if not _same(value, known.get(key))}
    return Learner(name, name_of_class(learner_class), changed, learner_class in builtins().values())


def from_estimator(name: str, estimator: Any) -> Learner:
    """Turn an unfitted estimator into a learner."""
    if inspect.isclass(estimator) or not all(hasattr(estimator, needed) for needed in ("fit", "predict", "get_params")):
        raise ExperimentError(f"learner {name!r} must be an unfitted scikit-learn classifier; got {estimator!r}.")
    learner_class: type = type(estimator)
    known = _parameters(learner_class)
    given = estimator.get_params(deep=False)
    changed = {key: value for key, value in given.items() if not _same(value, known.get(key))}
    builtin = learner_class in builtins().values()
    return Learner(name, name_of_class(learner_class), changed, builtin, prototype=estimator)


@cache
def builtins() -> dict[str, type]:
    """Find the learners of this package by name."""
    from ciabench.learners import builtin_learners

    return builtin_learners()


@cache
def find_class(use: str) -> type:
    """Find the class that `use` names."""
    if ":" in use:
        return _imported(use)
    if use in builtins():
        return builtins()[use]
    plugins = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
    if use in plugins:
        return _imported(plugins[use])
    known = sorted({*builtins(), *plugins})
    raise ExperimentError(
        f"there is no learner {use!r}{close_match(use, known)}; "
        f'expected one of {", ".join(known)}, or a class as "package.module:Class".'
    )


def needs_import(use: str) -> bool:
    """Whether a name makes Python import what neither this package nor scikit-learn, which it imports, brings.

    Examples
    --------
    >>> [needs_import(use) for use in ("EM", "sklearn.naive_bayes:BernoulliNB", "my_learner:Majority")]
    [False, False, True]
    """
    return ":" in use and use.partition(":")[0].partition(".")[0] not in ("ciabench", "sklearn")


def name_of_class(learner_class: type) -> str:
    """Built-in name of a class, or "package.module:Class"."""
    for name, builtin in builtins().items():
        if builtin is learner_class:
            return name
    return f"{_public_module(learner_class)}:{learner_class.__qualname__}"


def close_match(word: str, known: Iterable[str]) -> str:
    """Suggest the most similar known word, if any is similar.

    Examples
    --------
    >>> close_match("trails", ["trials", "sizes"])
    ' (did you mean "trials"?)'
    """
    matches = difflib.get_close_matches(word, list(known), n=1)
    return f' (did you mean "{matches[0]}"?)' if matches else ""


def described(value: Any) -> Any:
    """Describe a parameter as JSON; estimators within it by their class and parameters."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {str(key): described(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [described(item) for item in value]
    if hasattr(value, "get_params") and not inspect.isclass(value):
        return {"use": name_of_class(type(value)), "params": described(value.get_params(deep=False))}
    return repr(value) if type(value).__module__ == "numpy" else f"{type(value).__module__}:{type(value).__qualname__}"


def _imported(path: str) -> type:
    """Import "package.module:Class"; whatever its module does wrong becomes one clear sentence."""
    module_name, _, class_name = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise ExperimentError(f"{path!r} can not be imported; {type(error).__name__}: {error}.") from error
    found = getattr(module, class_name, None)
    if not inspect.isclass(found):
        classes = [name for name, value in vars(module).items() if inspect.isclass(value)]
        raise ExperimentError(f"module {module_name} has no class {class_name!r}{close_match(class_name, classes)}.")
    if not (hasattr(found, "fit") and hasattr(found, "predict")):
        raise ExperimentError(f"{path!r} is not a classifier; expected a class with fit and predict.")
    return found


def _public_module(learner_class: type) -> str:
    """Shortest module path at which a class is found under its name, as scikit-learn hides files behind a `_`."""
    parts = learner_class.__module__.split(".")
    public = next((position for position, part in enumerate(parts) if part.startswith("_")), len(parts))
    module = ".".join(parts[:public])
    if module and getattr(importlib.import_module(module), learner_class.__name__, None) is learner_class:
        return module
    return learner_class.__module__


@cache
def _parameters(learner_class: type) -> dict[str, Any]:
    """Constructor parameters with their defaults."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(learner_class).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }


def _takes_any(learner_class: type) -> bool:
    """Whether the constructor takes any keyword."""
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(learner_class).parameters.values())


def _same(value: Any, default: Any) -> bool:
    """Whether a parameter equals its default; True is not 1."""
    return type(value) is type(default) and bool(canonical(described(value)) == canonical(described(default)))
