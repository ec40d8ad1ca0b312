"""Read belief networks in the Bayesian Interchange Format (BIF)."""

import math
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ciabench.arrays import Floats
from ciabench.errors import ModelError, shown
from ciabench.files import content_of
from ciabench.probability.network import MOST_CELLS, refuse_large

COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
HEAD = re.compile(r"\s*(variable|probability)\b(.*)", re.DOTALL)
STATES = re.compile(r"type\s+discrete\s*\[\s*\d+\s*\]\s*\{([^}]*)\}")
ENTRY = re.compile(r"(table|default|\([^)]*\))(.*)", re.DOTALL)

ROUNDING = 1e-3
"""How far the numbers of a distribution in a file may be from a sum of 1."""

MOST_VARIABLES = 10_000

MOST_BYTES = 2**24
"""Largest file that is read."""

Places = Mapping[str, Mapping[str, int]]
"""Position of every state by variable and state."""


class Definition(NamedTuple):
    """A network as a file defines it: states, parents and table by variable, a table with an axis per parent first."""

    states: dict[str, list[str]]
    parents: dict[str, list[str]]
    tables: dict[str, Floats]


def read_bif(path: str | Path) -> Definition:
    """Read a network from a file."""
    try:
        text = content_of(path, MOST_BYTES).decode()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read; {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise ModelError(f"{path}: is not UTF-8 text.") from None
    try:
        return parse_bif(text)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None


def parse_bif(text: str) -> Definition:
    """Parse the text of a BIF file, in time that is linear in its length.

    Examples
    --------
    >>> coin = parse_bif('''variable coin { type discrete [ 2 ] { heads, tails }; }
    ... probability ( coin ) { table 0.5, 0.5; }''')
    >>> coin.states, coin.tables
    ({'coin': ['heads', 'tails']}, {'coin': array([0.5, 0.5])})
    """
    blocks = list(_blocks(COMMENT.sub("", text)))
    places = _variables((head, body) for kind, head, body in blocks if kind == "variable")
    parents: dict[str, list[str]] = {}
    tables: dict[str, Floats] = {}
    room = MOST_CELLS
    for kind, head, body in blocks:
        if kind == "probability":
            child, _, above = head.strip().strip("()").partition("|")
            name = _unquoted(child)
            _refuse_twice(name, tables)
            parents[name] = _words(above)
            tables[name] = _table(name, parents[name], places, body, room)
            room -= tables[name].size
    lacking = [name for name in places if name not in tables]
    if lacking or not places:
        raise ModelError(f"the variable {shown(lacking[0])} has no table." if lacking else "there are no variables.")
    return Definition({name: list(states) for name, states in places.items()}, parents, tables)


def _blocks(text: str) -> Iterator[tuple[str, str, str]]:
    """Kind, head and body of the blocks that define variables and tables."""
    depth = start = 0
    head = ""
    for brace in re.finditer("[{}]", text):
        depth += 1 if brace[0] == "{" else -1
        if brace[0] == "{" and depth == 1:
            head, start = text[start : brace.start()].rpartition(";")[2], brace.end()
        elif depth == 0:
            if found := HEAD.fullmatch(head):
                yield found[1], found[2], text[start : brace.start()]
            start = brace.end()
        elif depth < 0:
            raise ModelError("there is a } without its {.")
    if depth:
        raise ModelError("there is a { without its }.")


def _variables(blocks: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Position of every state by variable and state."""
    found: dict[str, dict[str, int]] = {}
    for head, body in blocks:
        name, listed = _unquoted(head), STATES.search(body)
        _refuse_twice(name, found)
        if listed is None:
            raise ModelError(f"the variable {shown(name)} has no list of discrete states.")
        states = _words(listed[1])
        found[name] = {state: place for place, state in enumerate(states)}
        if not 0 < len(found[name]) == len(states):
            raise ModelError(f"the states of {shown(name)} must be different names, at least one; got {shown(states)}.")
    if len(found) > MOST_VARIABLES:
        raise ModelError(f"there are {len(found)} variables, more than the limit of {MOST_VARIABLES}.")
    return found


def _refuse_twice(name: str, known: Container[str]) -> None:
    if name in known:
        raise ModelError(f"{shown(name)} is defined twice.")


def _unquoted(word: str) -> str:
    return word.strip().strip('"')


def _words(text: str) -> list[str]:
    return [_unquoted(word) for word in text.split(",") if word.strip()]


def _table(name: str, parents: list[str], places: Places, body: str, room: int) -> Floats:
    """Table of a variable from the entries of its block, with at most `room` numbers."""
    family = [*parents, name]
    for place, one in enumerate(family):
        if one not in places:
            raise ModelError(f"the table of {shown(name)} names the variable {shown(one)}, which is not defined.")
        if one in family[:place]:
            raise ModelError(f"the table of {shown(name)} names {shown(one)} twice.")
    shape = [len(places[one]) for one in family]
    refuse_large(family, np.array(shape))
    if math.prod(shape) > room:
        raise ModelError(f"its tables have more than {MOST_CELLS} numbers in all.")
    table = _filled(name, parents, places, shape, _entries(name, body))
    _check_sums(name, parents, places, table)
    shares: Floats = table / table.sum(axis=-1, keepdims=True)
    return shares


def _entries(name: str, body: str) -> dict[str, list[float]]:
    """Numbers of a table by what they are given for: "table", "default", or states of the parents."""
    found: dict[str, list[float]] = {}
    for part in map(str.strip, body.split(";")):
        entry = ENTRY.fullmatch(part)
        if entry is not None:
            _refuse_twice(entry[1], found)
            found[entry[1]] = _numbers(name, entry[2])
        elif part and not part.startswith("property"):
            raise ModelError(f"the table of {shown(name)} has an entry that cannot be read: {shown(part)}.")
    return found


def _filled(
    name: str, parents: list[str], places: Places, shape: list[int], entries: Mapping[str, list[float]]
) -> Floats:
    """Table with these entries; NaN where none is given."""
    table = np.full(shape, np.nan)
    for selected, numbers in entries.items():
        expected = table.size if selected == "table" else shape[-1]
        if len(numbers) != expected:
            raise ModelError(
                f"the table of {shown(name)} needs {expected} numbers at {shown(selected)}; got {len(numbers)}."
            )
        if selected == "table":  # the variable's own states first
            table[...] = np.moveaxis(np.reshape(numbers, [shape[-1], *shape[:-1]]), 0, -1)
        elif selected != "default":
            table[_place(name, parents, places, selected)] = numbers
    if "default" in entries:
        rows = table.reshape(-1, shape[-1])
        rows[np.isnan(rows).all(axis=1)] = entries["default"]
    return table


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(word) for word in _words(text)]
    except ValueError:
        raise ModelError(
            f"the table of {shown(name)} has an entry that is not a number: {shown(text.strip())}."
        ) from None


def _place(name: str, parents: list[str], places: Places, selected: str) -> tuple[int, ...]:
    """Position of the states of the parents, such as "(yes, no)"."""
    words = _words(selected.strip("()"))
    if len(words) != len(parents):
        raise ModelError(
            f"the table of {shown(name)} has {shown(selected)}, which must name a state of each of its parents."
        )
    for parent, word in zip(parents, words, strict=True):
        if word not in places[parent]:
            raise ModelError(
                f"the table of {shown(name)} has {shown(selected)}, but {shown(word)} is not a state of "
                f"{shown(parent)}; expected one of {', '.join(list(places[parent])[:10])}."
            )
    return tuple(places[parent][word] for parent, word in zip(parents, words, strict=True))


def _check_sums(name: str, parents: list[str], places: Places, table: Floats) -> None:
    """Raise on the first distribution that is not given, or not one."""
    rows = table.reshape(-1, table.shape[-1])
    is_possible: Any = ((rows >= 0) & (rows <= 1 + ROUNDING)).all(axis=1)
    sums: Floats = np.where(is_possible[:, None], rows, 0).sum(axis=1)
    is_possible &= np.abs(sums - 1) <= ROUNDING
    if is_possible.all():
        return
    first = int(np.argmin(is_possible))
    chosen = np.unravel_index(first, table.shape[:-1]) if parents else ()
    words = [f"{parent} = {list(places[parent])[state]}" for parent, state in zip(parents, chosen, strict=True)]
    given, numbers = f" given {', '.join(words)}" if words else "", rows[first]
    if np.isnan(numbers).any():
        raise ModelError(f"the table of {shown(name)} has no numbers{given}.")
    raise ModelError(
        f"the numbers of {shown(name)}{given} must be at least 0 and sum to 1; got {shown(numbers.tolist())}."
    )
