"""Randomness by content: a seed depends on what is drawn, never on when, where or in which order."""

import hashlib
import json
from typing import Any

import numpy as np


def canonical(value: Any) -> str:
    """Write a JSON value in its one canonical form.

    Examples
    --------
    >>> canonical({"n": 10, "b": 0.90})
    '{"b":0.9,"n":10}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """Hexadecimal SHA-256 of a JSON value.

    Examples
    --------
    >>> digest({"n": 10, "b": 0.90}) == digest({"b": 0.9, "n": 10})
    True
    """
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def generator(*content: Any) -> np.random.Generator:
    """Make the random generator that belongs to some content.

    Examples
    --------
    >>> generator(1997, "model").integers(100) == generator(1997, "model").integers(100)
    np.True_
    """
    return np.random.default_rng(np.random.SeedSequence(int(digest(content), 16)))
