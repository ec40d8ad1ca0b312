"""Seeds by content: a seed depends on what is drawn, never on when, where or in which order."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Any) -> str:
    """Write a JSON value in canonical form.

    Examples
    --------
    >>> canonical({"n": 10, "b": 0.90})
    '{"b":0.9,"n":10}'
    """
    return ENCODER.encode(value)


def digest(value: Any) -> str:
    """Hexadecimal SHA-256 of a JSON value.

    Examples
    --------
    >>> digest({"n": 10, "b": 0.90}) == digest({"b": 0.9, "n": 10})
    True
    """
    return hashlib.sha256(canonical(value).encode()).hexdigest()


@dataclass(frozen=True)
class Seed:
    """The seed of a trial: JSON values that determine everything drawn in it.

    Parameters
    ----------
    content : tuple of JSON values
        In the lab: the experiment's seed, the world's identity and the trial's index.

    Examples
    --------
    >>> seed = Seed((1997, {"n": 10}, 0))
    >>> seed.rng("model").integers(100) == seed.rng("model").integers(100)
    np.True_
    >>> seed.rng("model").integers(100) == seed.rng("test").integers(100)
    np.False_
    """

    content: tuple[Any, ...]

    def rng(self, *purpose: Any) -> np.random.Generator:
        """Make the random generator for one purpose, such as "model" or "training"."""
        return np.random.default_rng(np.random.SeedSequence(int(digest([*self.content, *purpose]), 16)))
