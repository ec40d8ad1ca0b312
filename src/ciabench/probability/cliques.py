"""From rows to programs: what a belief network must infer, as junction trees over what rows do not observe."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from networkx.algorithms.approximation import treewidth_min_fill_in
from numba import njit
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.probability.messages import Programs
from ciabench.probability.network import MISSING, Integers, Network, States, refuse_large

FEW_CELLS = 32
"""Components with at most so many joint states are one clique."""


class Tasks(NamedTuple):
    """Programs, and to which rows their tasks belong: task `numbers[i]` is a component of row `rows[i]`."""

    programs: Programs
    rows: Integers
    numbers: Integers


class Bag(NamedTuple):
    """A clique: its variables, the position of the bag towards the root (−1 at the root), and its families."""

    variables: list[int]
    parent: int
    families: list[int]


def find_bases(network: Network, states: States) -> tuple[Integers, NDArray[np.bool_]]:
    """Places in `theta` of all families (s, V), unobserved variables counted as state 0; and which are complete."""
    observed, is_observed = np.where(states == MISSING, 0, states), states != MISSING
    bases = np.empty(states.shape, dtype=np.int64)
    is_complete = np.empty(states.shape, dtype=bool)
    for variable, family in enumerate(map(list, network.families)):
        bases[:, variable] = network.starts[variable] + observed[:, family] @ network.strides[variable, family]
        is_complete[:, variable] = is_observed[:, family].all(axis=1)
    return bases, is_complete


@njit(cache=True, nogil=True)
def root_of(links: NDArray[np.int32], variable: int) -> int:
    """First variable of the component, by links that lead to smaller numbers."""
    while links[variable] != variable:
        variable = links[variable]
    return variable


@njit(cache=True, nogil=True)
def label_components(states: States, members: Integers, first: Integers) -> NDArray[np.int32]:
    """First variable of the component of every unobserved cell (s, V), −1 of observed ones.

    Unobserved variables of one family are connected; those of family f are in members[first[f] : first[f + 1]].
    """
    labels = np.empty(states.shape, dtype=np.int32)
    for row in range(states.shape[0]):
        links = labels[row]
        for variable in range(states.shape[1]):
            links[variable] = variable
        for family in range(first.size - 1):
            seen = -1
            for place in range(first[family], first[family + 1]):
                variable = members[place]
                if states[row, variable] < 0:
                    one = root_of(links, variable)
                    other = one if seen < 0 else root_of(links, seen)
                    links[max(one, other)] = min(one, other)
                    seen = variable
        for variable in range(states.shape[1]):
            links[variable] = -1 if states[row, variable] >= 0 else links[root_of(links, variable)]
    return labels


def make_tasks(network: Network, states: States, bases: Integers, weights: Floats, query: int | None) -> Tasks:
    """Components of all rows, or those that contain the query, as programs with weighted tasks."""
    members = np.concatenate(list(map(np.array, network.families)))
    first = np.concatenate([[0], np.cumsum(list(map(len, network.families)))])
    labels = label_components(np.ascontiguousarray(states), members, first)
    rows = np.nonzero(labels == np.arange(network.n_variables))[0] if query is None else np.arange(len(states))
    roots = np.nonzero(labels == np.arange(network.n_variables))[1] if query is None else labels[:, query]
    is_member = labels[rows] == roots[:, None]
    plans, kinds = _unique(np.packbits(is_member, axis=1))
    order = np.argsort(kinds, kind="stable")
    ends = np.cumsum(np.bincount(kinds, minlength=plans.size))
    builder = _Builder(network, query)
    numbers = np.empty(rows.size, dtype=np.int64)
    for plan, start, end in zip(plans, [0, *ends], ends, strict=False):
        piece = order[start:end]
        numbers[piece] = builder.add(np.flatnonzero(is_member[plan]), bases[rows[piece]], weights[rows[piece]])
    return Tasks(builder.programs(), rows, numbers)


def _unique(values: NDArray[np.generic]) -> tuple[Integers, Integers]:
    """First place of every distinct row, and for every row which of these it equals."""
    if len(values) == 1:
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    values = np.ascontiguousarray(values)
    keys = values.view(np.dtype((np.void, values.itemsize * values.shape[1]))).ravel()
    _, places, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return places, inverse


def find_bags(network: Network, component: Sequence[int], query: int | None) -> list[Bag]:
    """Junction tree over the unobserved variables of a component by min-fill; a bag comes before its parent.

    The last bag is the root, which contains the query.
    """
    inside = set(component)
    touching = [family for family, members in enumerate(network.families) if not inside.isdisjoint(members)]
    parts = [inside.intersection(network.families[family]) for family in touching]
    if np.prod(network.n_levels[list(component)].astype(np.float64)) <= FEW_CELLS:
        return [Bag(list(component), -1, touching)]
    graph = nx.Graph()
    graph.add_nodes_from(component)
    graph.add_edges_from((one, other) for part in parts for one in part for other in part if one < other)
    tree = treewidth_min_fill_in(graph)[1]
    cliques = sorted(tree, key=sorted)
    root = next(clique for clique in cliques if query is None or query in clique)
    ordered = list(nx.dfs_postorder_nodes(tree, root))
    place = {clique: position for position, clique in enumerate(ordered)}
    above = {child: place[parent] for parent, child in nx.dfs_edges(tree, root)}
    owned: list[list[int]] = [[] for _ in ordered]
    for family, part in zip(touching, parts, strict=True):
        owned[next(i for i, clique in enumerate(ordered) if part <= clique)].append(family)
    return [Bag(sorted(clique), above.get(clique, -1), owned[i]) for i, clique in enumerate(ordered)]


class _Builder:
    """Collects programs; the lists have the names and meanings of the fields of `Programs`."""

    def __init__(self, network: Network, query: int | None) -> None:
        self.network, self.query = network, query
        self.plan_bags, self.plan_tasks, self.plan_bases, self.n_pots, self.n_seps = [0], [0], [0], 1, 1
        self.bag_cells: list[int] = []
        self.bag_pots: list[int] = []
        self.bag_parent: list[int] = []
        self.bag_factors = [0]
        self.sep_cells: list[int] = []
        self.sep_at: list[int] = []
        self.to_sep: list[int] = []
        self.from_parent: list[int] = []
        self.factor_at: list[int] = []
        self.query_at: list[int] = []
        self.indices: list[Integers] = []
        self.n_indices = 0
        self.bases: list[Integers] = []
        self.weights: list[Floats] = []

    def add(self, component: Integers, bases: Integers, weights: Floats) -> Integers:
        """Add the program of a component and a task per distinct row of `bases` (t, V); return their numbers (t,)."""
        bags = find_bags(self.network, component.tolist(), self.query)
        self._add_bags(bags)
        chosen = bases[:, [family for bag in bags for family in bag.families]]
        places, numbers = _unique(chosen)
        self.bases.append(chosen[places].ravel())
        self.weights.append(np.bincount(numbers, weights).astype(np.float64))
        self.plan_bases.append(self.plan_bases[-1] + self.bases[-1].size)
        self.plan_tasks.append(self.plan_tasks[-1] + places.size)
        return numbers + self.plan_tasks[-2]

    def _add_bags(self, bags: list[Bag]) -> None:
        first, pots, seps = self.plan_bags[-1], 0, 0
        grids = [self._grid(bag.variables) for bag in bags]
        for bag, grid in zip(bags, grids, strict=True):
            strides = self.network.strides[np.ix_(bag.families, bag.variables)]
            self.factor_at += [self._indices(offsets) for offsets in strides @ grid]
            self.bag_factors.append(len(self.factor_at))
            self.bag_cells.append(grid.shape[1])
            self.bag_pots.append(pots)
            self.bag_parent.append(-1 if bag.parent < 0 else first + bag.parent)
            pots += grid.shape[1]
            seps += self._add_separator(bag, grid, bags, grids, seps)
        if self.query is not None:
            self.query_at.append(self._indices(grids[-1][bags[-1].variables.index(self.query)]))
        self.plan_bags.append(first + len(bags))
        self.n_pots, self.n_seps = max(self.n_pots, pots), max(self.n_seps, seps)

    def _add_separator(self, bag: Bag, grid: Integers, bags: list[Bag], grids: list[Integers], at: int) -> int:
        """Add what a bag shares with its parent; return the number of its cells."""
        parent = bags[bag.parent]
        shared = [] if bag.parent < 0 else [one for one in bag.variables if one in parent.variables]
        levels = self.network.n_levels[shared]
        steps = np.append(np.cumprod(levels[:0:-1])[::-1], 1)[: len(shared)]
        n_cells = int(np.prod(levels)) if bag.parent >= 0 else 0
        self.sep_cells.append(n_cells)
        self.sep_at.append(at)
        mine, theirs = (
            self._indices(steps @ cells[[owner.variables.index(one) for one in shared]]) if n_cells else 0
            for owner, cells in ((bag, grid), (parent, grids[bag.parent]))
        )
        self.to_sep.append(mine)
        self.from_parent.append(theirs)
        return n_cells

    def _grid(self, variables: list[int]) -> Integers:
        """States (variables, cells) of all cells of a clique."""
        levels = self.network.n_levels[variables]
        refuse_large([self.network.names[one] for one in variables], levels)
        return np.indices(tuple(levels)).reshape(len(variables), -1)

    def _indices(self, values: Integers) -> int:
        """Keep an array of indices; return where it begins."""
        self.indices.append(values)
        self.n_indices += values.size
        return self.n_indices - values.size

    def programs(self) -> Programs:
        """All that was added."""
        joined: dict[str, Any] = {
            "indices": _joined(self.indices, np.int32),
            "bases": _joined(self.bases, np.int64),
            "weights": _joined(self.weights, np.float64),
            "n_pots": self.n_pots,
            "n_seps": self.n_seps,
        }
        places = [name for name in Programs._fields if name not in joined]
        joined |= {name: np.array(getattr(self, name), dtype=np.int64) for name in places}
        return Programs(**joined)


def _joined(pieces: Sequence[NDArray[np.generic]], dtype: type) -> NDArray[np.generic]:
    return np.concatenate([np.empty(0, dtype), *pieces]).astype(dtype)
