"""Read belief networks in the Bayesian Interchange Format (BIF)."""

import itertools
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ciabench.arrays import Floats
from ciabench.errors import ModelError

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
BLOCK = re.compile(r"\b(variable|probability)\b([^{]*)\{((?:[^{}]|\{[^}]*\})*)\}")
STATES = re.compile(r"type\s+discrete\s*\[\s*\d+\s*\]\s*\{([^}]*)\}")
ENTRY = re.compile(r"(table|default|\([^)]*\))\s*([^;]*);")

ROUNDING = 1e-3
"""How far the numbers of a distribution in a file may be from a sum of 1."""


class Definition(NamedTuple):
    """A network as a file defines it: states, parents and table by variable, a table with an axis per parent first."""

    states: dict[str, list[str]]
    parents: dict[str, list[str]]
    tables: dict[str, Floats]


def read_bif(path: str | Path) -> Definition:
    """Read a network from a file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ModelError(f"{path}: cannot be read; {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise ModelError(f"{path}: is not UTF-8 text.") from None
    try:
        return parse_bif(text)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def parse_bif(text: str) -> Definition:
    """Parse the text of a BIF file.

    Examples
    --------
    >>> coin = parse_bif('''variable coin { type discrete [ 2 ] { heads, tails }; }
    ... probability ( coin ) { table 0.5, 0.5; }''')
    >>> coin.states, coin.tables
    ({'coin': ['heads', 'tails']}, {'coin': array([0.5, 0.5])})
    """
    blocks = [(found[1], found[2], found[3]) for found in BLOCK.finditer(COMMENT.sub("", text))]
    states: dict[str, list[str]] = {}
    for kind, head, body in blocks:
        if kind == "variable":
            listed = STATES.search(body)
            if listed is None:
                raise ModelError(f"the variable {_unquoted(head)!r} has no list of discrete states.")
            states[_unquoted(head)] = _words(listed[1])
    parents, tables = {}, {}
    for kind, head, body in blocks:
        if kind == "probability":
            child, _, above = head.strip().strip("()").partition("|")
            name, parents_of = _unquoted(child), _words(above)
            parents[name], tables[name] = parents_of, _table(name, parents_of, states, body)
    lacking = [name for name in states if name not in tables]
    if lacking or not states:
        raise ModelError(f"the variable {lacking[0]!r} has no table." if lacking else "there are no variables.")
    return Definition(states, parents, tables)


def _unquoted(word: str) -> str:
    return word.strip().strip('"')


def _words(text: str) -> list[str]:
    return [_unquoted(word) for word in text.split(",") if word.strip()]


def _table(name: str, parents: list[str], states: dict[str, list[str]], body: str) -> Floats:
    """Table of a variable from the entries of its block."""
    for one in (name, *parents):
        if one not in states:
            raise ModelError(f"the table of {name!r} names the variable {one!r}, which is not defined.")
    shape = [len(states[one]) for one in (*parents, name)]
    table = np.full(shape, np.nan)
    for selected, text in ENTRY.findall(body):
        numbers = _numbers(name, text)
        place = () if selected in ("table", "default") else _place(name, parents, states, selected)
        expected = table.size if selected == "table" else shape[-1]
        if len(numbers) != expected:
            raise ModelError(f"the table of {name!r} needs {expected} numbers at {selected!r}; got {len(numbers)}.")
        if selected == "table":  # the variable's own states first
            table[...] = np.moveaxis(np.reshape(numbers, [shape[-1], *shape[:-1]]), 0, -1)
        elif selected == "default":
            table[np.isnan(table).all(axis=-1)] = numbers
        else:
            table[place] = numbers
    _check_sums(name, parents, states, table)
    shares: Floats = table / table.sum(axis=-1, keepdims=True)
    return shares


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(word) for word in _words(text)]
    except ValueError:
        raise ModelError(f"the table of {name!r} has an entry that is not a number: {text.strip()!r}.") from None


def _place(name: str, parents: list[str], states: dict[str, list[str]], selected: str) -> tuple[int, ...]:
    """Position of the states of the parents, such as "(yes, no)"."""
    words = _words(selected.strip("()"))
    if len(words) != len(parents):
        raise ModelError(f"the table of {name!r} has {selected}, which must name a state of each of its parents.")
    for parent, word in zip(parents, words, strict=True):
        if word not in states[parent]:
            raise ModelError(
                f"the table of {name!r} has {selected}, but {word!r} is not a state of {parent!r}; "
                f"expected one of {', '.join(states[parent])}."
            )
    return tuple(states[parent].index(word) for parent, word in zip(parents, words, strict=True))


def _check_sums(name: str, parents: list[str], states: dict[str, list[str]], table: Floats) -> None:
    """Raise on the first distribution that is not given, or not one."""
    configurations = itertools.product(*(states[parent] for parent in parents))
    for words, numbers in zip(configurations, table.reshape(-1, table.shape[-1]), strict=True):
        given = f" given {', '.join(f'{p} = {w}' for p, w in zip(parents, words, strict=True))}" if parents else ""
        if np.isnan(numbers).any():
            raise ModelError(f"the table of {name!r} has no numbers{given}.")
        if numbers.min() < 0 or abs(numbers.sum() - 1) > ROUNDING:
            raise ModelError(f"the numbers of {name!r}{given} must be at least 0 and sum to 1; got {numbers.tolist()}.")
