"""When to fit a probabilistic model with a hidden variable, and when to learn a classifier directly."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ciabench.findings.figures import plot_curves as plot_curves
    from ciabench.findings.pictures import plot_difference as plot_difference
    from ciabench.findings.pictures import plot_model as plot_model
    from ciabench.findings.pictures import plot_restarts as plot_restarts
    from ciabench.lab.session import learning_curve as learning_curve
    from ciabench.lab.storage.results import Results as Results
    from ciabench.learners.cov import COV as COV
    from ciabench.learners.em import EM as EM
    from ciabench.learners.naive_bayes import NaiveBayes as NaiveBayes
    from ciabench.learners.perceptron import Perceptron as Perceptron
    from ciabench.learners.winnow import Winnow as Winnow
    from ciabench.world.family import CIAFamily as CIAFamily
    from ciabench.world.model import CIAModel as CIAModel
    from ciabench.world.scoring import Scorer as Scorer

__version__ = "0.1.0"

_HOMES = {
    "COV": "learners.cov",
    "EM": "learners.em",
    "NaiveBayes": "learners.naive_bayes",
    "Perceptron": "learners.perceptron",
    "Results": "lab.storage.results",
    "Winnow": "learners.winnow",
    "learning_curve": "lab.session",
    "plot_curves": "findings.figures",
    "plot_difference": "findings.pictures",
    "plot_model": "findings.pictures",
    "plot_restarts": "findings.pictures",
    "CIAFamily": "world.family",
    "CIAModel": "world.model",
    "Scorer": "world.scoring",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    """Import a public name from its home when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ciabench' has no attribute {name!r}")
    return getattr(import_module(f"ciabench.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
