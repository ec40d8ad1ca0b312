"""Learners of an experiment: classifiers by name and parameters, or estimators in memory."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ciabench.errors import ExperimentError
from ciabench.lab.plan.registry import Registry, described, is_plain, parameters, same, version_of
from ciabench.seeds import canonical

FORMULAS = tuple("=+-@\t\r")
"""How text begins that a spreadsheet would run."""

NO_FIRST_CHARACTERS = (*FORMULAS, *"_ \n", "")


def _find_builtins() -> dict[str, type]:
    from ciabench.learners import builtin_learners

    return builtin_learners()


LEARNERS = Registry(
    kind="learner",
    group="ciabench.learners",
    find_builtins=_find_builtins,
    is_one=lambda found: hasattr(found, "fit") and hasattr(found, "predict"),
    expected="a classifier, a class with fit and predict",
)


@dataclass(frozen=True)
class Learner:
    """A classifier of an experiment.

    Parameters
    ----------
    name : str
        Name in results.
    use : str
        Its class: the name of a built-in one, or "package.module:Class".
    params : mapping
        Parameters that differ from the defaults of the class.
    builtin : bool
        Whether the class belongs to this package and may run without a guard.
    version : int
        Version of the results of the class.
    prototype : estimator, optional
        Cloned instead of instantiating the class; for estimators that exist only in memory.

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
    version: int = 1
    prototype: Any = None

    def __post_init__(self) -> None:
        check_name(self.name)

    @cached_property
    def identity(self) -> str:
        """Class and parameters, which determine its results; its name does not."""
        return canonical({"use": self.use, "params": described(self.params, LEARNERS.name_of)})

    @property
    def can_be_kept(self) -> bool:
        """Whether its identity contains everything that determines its results."""
        return is_plain(self.params)

    def build(self, random_state: int) -> Any:
        """Create an unfitted classifier; `random_state` is used unless the parameters set one.

        A prototype's own random state is set, or, if it has none, those of the estimators in it.
        """
        if self.prototype is not None:
            from sklearn.base import clone

            fresh = clone(self.prototype)
            own = "random_state" in fresh.get_params(deep=False)
            states = ["random_state"] if own else [key for key in fresh.get_params() if key.endswith("__random_state")]
            return fresh.set_params(**{key: random_state for key in states if fresh.get_params()[key] is None})
        learner_class = LEARNERS.find(self.use)
        seeded = "random_state" in parameters(learner_class) and "random_state" not in self.params
        return learner_class(**self.params, **({"random_state": random_state} if seeded else {}))


def check_name(name: str) -> None:
    """Refuse names that a spreadsheet would run as a formula, or that a legend would omit."""
    if str(name)[:1] in NO_FIRST_CHARACTERS:
        raise ExperimentError(
            f"{name!r} cannot be a name: names must not be empty, nor begin with white space, with =, +, - or @, which "
            "begin formulas in spreadsheets, or with _, which legends omit."
        )


def check_parameters(world: str, parameters: Mapping[str, Any]) -> None:
    """Refuse parameters of a world that a spreadsheet would run as a formula: they are columns of tables of results."""
    for text in (*parameters, *parameters.values()):
        if isinstance(text, str) and text.startswith(FORMULAS):
            raise ExperimentError(
                f"{world}: {text!r} cannot be a parameter: text must not begin with =, +, - or @, which begin formulas "
                "in spreadsheets."
            )


def resolve(use: str, name: str, params: Mapping[str, Any]) -> Learner:
    """Create a learner from its entry in an experiment file; raises if the entry is invalid."""
    LEARNERS.check_parameters(use, params)
    return _learner(name, LEARNERS.find(use), params)


def from_estimator(name: str, estimator: Any) -> Learner:
    """Create a learner from an unfitted estimator."""
    if inspect.isclass(estimator):
        raise ExperimentError(
            f"learner {name!r} must be an unfitted scikit-learn classifier; got the class {estimator.__name__}: write "
            f"{estimator.__name__}()."
        )
    if not all(hasattr(estimator, needed) for needed in ("fit", "predict", "get_params")):
        raise ExperimentError(f"learner {name!r} must be an unfitted scikit-learn classifier; got {estimator!r}.")
    return _learner(name, type(estimator), estimator.get_params(deep=False), estimator)


def _learner(name: str, found: type, params: Mapping[str, Any], prototype: Any = None) -> Learner:
    """Learner of a class, with the parameters that differ from its defaults."""
    known = parameters(found)
    changed = {key: value for key, value in params.items() if not same(value, known.get(key), LEARNERS.name_of)}
    is_builtin = found in LEARNERS.builtins().values()
    return Learner(name, LEARNERS.name_of(found), changed, is_builtin, version_of(found), prototype)
