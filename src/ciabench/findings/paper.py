"""Arrangement of the paper's worlds, CIA(n, k, b), as in its figures and its overview, and families in words."""

import re
from collections.abc import Iterator

import pandas as pd

PARAMETERS = ["n", "k", "b"]
FIGURE_ORDER = ["b", "k", "n"]

IN_WORDS = {
    r"CIA\((\d+), (\d+), ([\d.]+).*\)": "{} attribute{s}, {} hidden values",
    r"Tree\((\d+), ([\d.]+), ([\d.]+).*\)": "{} attribute{s}, tree of strength {}",
    r"TwoHidden\((\d+), ([\d.]+).*\)": "{} attribute{s}, 2 hidden variables",
    r"Threshold\((\d+), (\d+), [\d.]+, ([\d.]+).*\)": "{} attribute{s}, threshold on {} of them",
}
"""What the parameters of families mean, by the form of their names; the last group is the difficulty."""


def named(n: int, k: int, b: float = 0.9) -> str:
    """Name of a family of the paper.

    Examples
    --------
    >>> named(10, 2)
    'CIA(10, 2, 0.9)'
    """
    return f"CIA({n}, {k}, {b:g})"


SIX = tuple(named(n, k) for n in (10, 75) for k in (2, 3, 5))
"""The families of the paper's figures."""

Grid = list[list[str | None]]
"""Names of worlds by row and column; None leaves a place empty."""


def select(worlds: pd.DataFrame) -> pd.DataFrame:
    """n, k and b of the worlds that have them, in the order of the paper's figures; empty if they differ otherwise.

    Parameters
    ----------
    worlds : DataFrame
        One row per world, as `worlds_of` returns them.

    Examples
    --------
    >>> table = {"n": [75, 10, 10, None], "k": [2, 3, 2, None], "b": [0.9, 0.9, 0.9, None]}
    >>> select(pd.DataFrame(table, index=["one", "two", "three", "four"])).index.tolist()
    ['three', 'one', 'two']
    """
    numbers: pd.DataFrame = worlds.reindex(columns=PARAMETERS).apply(pd.to_numeric, errors="coerce").dropna()
    others = worlds.loc[numbers.index].drop(columns=PARAMETERS, errors="ignore").nunique(dropna=False)
    if (others > 1).any() or numbers.duplicated().any():
        return numbers.iloc[:0]
    return numbers.sort_values(FIGURE_ORDER)


def arrange(worlds: pd.DataFrame) -> Grid:
    """Grid of the selected worlds: a row per b and n, a column per k.

    Examples
    --------
    >>> table = {"n": [10, 75, 10], "k": [2, 2, 3], "b": [0.9, 0.9, 0.9]}
    >>> arrange(pd.DataFrame(table, index=["one", "two", "three"]))
    [['one', 'three'], ['two', None]]
    """
    names = {(b, n, k): str(name) for name, n, k, b in worlds[PARAMETERS].itertuples(name=None)}
    columns = sorted({k for _, _, k in names})
    return [[names.get((b, n, k)) for k in columns] for b, n in sorted({(b, n) for b, n, _ in names})]


def description(name: str) -> str | None:
    """What the parameters of a family mean, from its name; None for any other world.

    Examples
    --------
    >>> description("CIA(10, 3, 0.9)")
    '10 attributes, 3 hidden values'
    >>> description("Threshold(10, 3, 0.05, 0.9)")
    '10 attributes, threshold on 3 of them'
    """
    for words, (n, *others) in _families(name):
        return words.format(f"{int(n):,}", *others, s="" if n == "1" else "s")
    return None


def difficulty(name: str) -> str | None:
    """Difficulty of a family, from its name; None for any other world.

    Examples
    --------
    >>> difficulty("CIA(10, 3, 0.9, min_headroom=0.05)")
    '0.9'
    """
    return next((numbers[-1] for _, numbers in _families(name)), None)


def _families(name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The words and the numbers of the family that a name has the form of."""
    for form, words in IN_WORDS.items():
        if found := re.fullmatch(form, name):
            yield words, found.groups()
