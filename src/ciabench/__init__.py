"""When to fit a probabilistic model with a hidden variable, and when to learn a classifier directly."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ciabench.world.family import CIAFamily as CIAFamily
    from ciabench.world.model import CIAModel as CIAModel
    from ciabench.world.scoring import Scorer as Scorer

__version__ = "0.1.0"

_HOMES = {
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
