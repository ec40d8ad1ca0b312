"""The learners, one file each. A classifier class in a new file of this folder is discovered automatically."""

from importlib import import_module
from inspect import getmembers, isclass
from pkgutil import iter_modules

from sklearn.base import ClassifierMixin


def builtin_learners() -> dict[str, type]:
    """All classifiers of this package by name.

    Examples
    --------
    >>> {"COV", "EM", "NaiveBayes", "Perceptron", "Winnow"} <= set(builtin_learners())
    True
    """
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    return {
        name: learner
        for module in modules
        for name, learner in getmembers(module, isclass)
        if learner.__module__ == module.__name__ and not name.startswith("_") and issubclass(learner, ClassifierMixin)
        if module.__name__ != f"{__name__}.base"
    }
