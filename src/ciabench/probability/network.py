"""Discrete belief networks on arrays: their variables, the layout of their tables, sampling.

Variables are numbered 0, 1, …; those of a row have states 0, 1, … or `MISSING`. A *family* is a variable with its
parents. The tables of all variables are one vector `theta`: the table of a variable has an axis per parent and, last,
its own states.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.errors import ModelError

States = NDArray[np.int32]
Integers = NDArray[np.int64]

MISSING = -1
"""State of a cell that is not observed."""

MOST_CELLS = 2**24
"""Most cells of a table or clique: 128 MiB of floats."""

MOST_AXES = 64
"""Most variables of a table or clique, the most axes of an array."""


def refuse_large(names: Sequence[object], n_levels: Integers) -> None:
    """Raise if a table over these variables would have too many cells."""
    n_cells = float(np.prod(n_levels.astype(np.float64)))
    shown = ", ".join(map(str, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    if len(names) > MOST_AXES:
        raise ModelError(
            f"exact inference needs a table over the clique {shown}, more than the limit of {MOST_AXES} variables; "
            "remove edges among these variables."
        )
    if n_cells > MOST_CELLS:
        raise ModelError(
            f"exact inference needs a table over the clique {shown} with {n_cells:.3g} cells, more than the limit of "
            f"{MOST_CELLS:.3g}; remove edges among these variables or merge states."
        )


class Network:
    """A belief network without its numbers.

    Parameters
    ----------
    n_levels : sequence of V integers
        Number of states of every variable.
    parents : sequence of V sequences
        Parents of every variable, in the order of the axes of its table.
    names : sequence of V objects, optional
        Names for error messages (default: numbers).

    Examples
    --------
    >>> rain = Network([2, 2, 3], [(), (0,), (0, 1)])
    >>> rain.shapes, rain.size
    ([(2,), (2, 2), (2, 2, 3)], 18)
    """

    def __init__(
        self, n_levels: Sequence[int], parents: Sequence[Sequence[int]], names: Sequence[object] | None = None
    ) -> None:
        self.n_levels = np.array(n_levels, dtype=np.int64)
        self.names: list[Any] = list(range(len(n_levels))) if names is None else list(names)
        self.families = [(*above, variable) for variable, above in enumerate(parents)]
        for family in self.families:
            refuse_large([self.names[one] for one in family], self.n_levels[list(family)])

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return self.n_levels.size

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shape of every table."""
        return [tuple(self.n_levels[list(family)].tolist()) for family in self.families]

    @cached_property
    def starts(self) -> Integers:
        """Where the table of each variable begins in `theta`, and its end."""
        return np.concatenate([[0], np.cumsum([np.prod(shape, dtype=np.int64) for shape in self.shapes])])

    @cached_property
    def strides(self) -> Integers:
        """Step in `theta` per state of a variable, (V families, V variables); 0 if it is not in the family."""
        steps = np.zeros((self.n_variables, self.n_variables), dtype=np.int64)
        for variable, (family, shape) in enumerate(zip(self.families, self.shapes, strict=True)):
            steps[variable, list(family)] = np.append(np.cumprod(shape[:0:-1])[::-1], 1)
        return steps

    @property
    def size(self) -> int:
        """Length of `theta`."""
        return int(self.starts[-1])

    @cached_property
    def groups(self) -> Integers:
        """Where each distribution, one per variable and states of its parents, begins in `theta`, and the end."""
        firsts = [
            np.arange(start, end, n) for start, end, n in zip(self.starts, self.starts[1:], self.n_levels, strict=False)
        ]
        return np.concatenate([*firsts, [self.size]])

    @cached_property
    def order(self) -> list[int]:
        """The variables, parents first."""
        graph = nx.DiGraph()
        graph.add_nodes_from(range(self.n_variables))
        graph.add_edges_from((above, family[-1]) for family in self.families for above in family[:-1])
        try:
            return list(nx.lexicographical_topological_sort(graph))
        except nx.NetworkXUnfeasible:
            cycle = [self.names[one] for one, _ in nx.find_cycle(graph)]
            shown = " → ".join(map(str, [*cycle, cycle[0]]))
            raise ModelError(f"the edges form a cycle, {shown}; a belief network has none.") from None

    def tables(self, theta: Floats) -> list[Floats]:
        """The tables in `theta`, as views."""
        pieces = zip(self.starts, self.starts[1:], self.shapes, strict=False)
        return [theta[start:end].reshape(shape) for start, end, shape in pieces]

    def sample(self, theta: Floats, size: int, rng: np.random.Generator) -> States:
        """Draw states (size, V)."""
        states, tables = np.zeros((size, self.n_variables), dtype=np.int32), self.tables(theta)
        for variable in self.order:
            chances = tables[variable][tuple(states[:, above] for above in self.families[variable][:-1])]
            bounds = np.cumsum(np.broadcast_to(chances, (size, self.n_levels[variable])), axis=1)
            drawn = (bounds[:, :-1] <= rng.random((size, 1)) * bounds[:, -1:]).sum(axis=1)
            states[:, variable] = drawn
        return states


def normalised(network: Network, values: Floats) -> Floats:
    """Numbers per distribution, in the order of `theta`, divided by their sums."""
    sums = np.add.reduceat(values, network.groups[:-1])
    shares: Floats = values / np.repeat(sums, np.diff(network.groups))
    return shares
