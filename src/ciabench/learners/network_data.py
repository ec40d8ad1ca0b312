"""Checks of what users pass to belief networks: graphs, states, starts, tables of discrete columns."""

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.columns import Column, Columns, as_table
from ciabench.errors import DataError, ModelError, ParameterError, check_integer
from ciabench.probability.network import Network

ROUNDING = 1e-6
"""How far the distributions of a start may be from a sum of 1."""

LONGEST_LEVEL = 200
"""Most characters of a level in an array of text."""


def checked_graph(edges: Any) -> Any:
    """The edges as a new networkx.DiGraph without cycles, in which the order of every node's parents is kept."""
    graph = nx.DiGraph()
    if isinstance(edges, nx.Graph):
        if not edges.is_directed():
            raise ParameterError("edges must be directed: a networkx.DiGraph or a list of (parent, child).")
        graph.add_nodes_from(edges)
        edges = [(parent, name) for name in edges for parent in edges.predecessors(name)]
    if not isinstance(edges, list | tuple) or not all(isinstance(one, list | tuple) and len(one) == 2 for one in edges):
        raise ParameterError(f"edges must be a networkx.DiGraph or a list of (parent, child); got {edges!r}.")
    graph.add_edges_from(tuple(edge) for edge in edges)
    if not graph:
        raise ParameterError("edges must name at least one variable.")
    if not nx.is_directed_acyclic_graph(graph):
        cycle = [one for one, _ in nx.find_cycle(graph)]
        shown = " → ".join(map(str, [*cycle, cycle[0]]))
        raise ModelError(f"the edges form a cycle, {shown}; a belief network has none.")
    return graph


def checked_states(name: Any, states: Any) -> list[Any]:
    """States of a variable, by number or by names."""
    if isinstance(states, list | tuple):
        if not states or len(set(states)) < len(states):
            raise ParameterError(f"the states of {name!r} must be different names, at least one; got {states!r}.")
        return list(states)
    check_integer(f"the number of states of {name!r}", states, 1)
    return list(range(states))


def checked_tables(init: Any, network: Network) -> list[Floats]:
    """Starts of one's own as vectors of parameters."""
    if init is None:
        return []
    starts = init if isinstance(init, list) else [init]
    if not starts or not all(isinstance(start, Mapping) for start in starts):
        raise ParameterError("init must be a dict of tables by variable, such as tables_, or a list of such dicts.")
    return [np.concatenate([_start(start, network, place) for place in range(network.n_variables)]) for start in starts]


def _start(start: Mapping[Any, Any], network: Network, place: int) -> Floats:
    """Table of one variable in a start, flat."""
    name, shape = network.names[place], network.shapes[place]
    if name not in start:
        raise ParameterError(f"init lacks the table of {name!r}.")
    table = np.asarray(start[name], dtype=np.float64)
    if table.shape not in (shape, (table.size // shape[-1], shape[-1])) or table.size != np.prod(shape):
        raise ParameterError(f"init must hold a table of shape {shape} for {name!r}; got {table.shape}.")
    if not (table.min() >= 0 and abs(table.sum(axis=-1) - 1).max() < ROUNDING):
        raise ParameterError(f"init must hold distributions for {name!r}: numbers of at least 0 that sum to 1.")
    return table.ravel()


def as_labels(levels: tuple[Any, ...]) -> NDArray[Any]:
    """Levels as an array; those of different types stay as they are, as do long texts, which would take much room."""
    are_alike = len(set(map(type, levels))) == 1 and max(len(str(level)) for level in levels) <= LONGEST_LEVEL
    return np.array(levels, dtype=None if are_alike else object)


def as_named_table(X: Any) -> pd.DataFrame:
    """A DataFrame; the columns of an array have positions for names."""
    table = as_table(X)
    if isinstance(table, pd.DataFrame):
        return table
    rows = np.asarray(table)
    if rows.ndim != 2:
        raise DataError(f"X must be a DataFrame or an array (rows, columns); its shape is {rows.shape}.")
    return pd.DataFrame(rows)


def column_of(name: Any, states: list[Any]) -> Column:
    """Column with these states."""
    return Column(name, "binary" if len(states) == 2 else "categorical", tuple(states))


def restated(column: Column, states: list[Any] | None) -> Column:
    """A column with the states that are given, in which its levels must be."""
    if states is None:
        return column
    for level in column.levels:
        if level not in states:
            raise DataError(f"column {column.name!r} has {level!r}, which is not one of its states {listed(states)}.")
    return column_of(column.name, states)


def refuse_other_kinds(columns: Columns) -> None:
    """Raise on a column that is numeric or has no values."""
    for column in columns.columns:
        if column.is_numeric:
            raise DataError(
                f"column {column.name!r} is numeric, and a belief network has discrete variables; cut it into "
                f"intervals (pandas.cut), or pass kinds={{{column.name!r}: 'categorical'}}."
            )
        if not column.levels:
            raise DataError(f"column {column.name!r} has no values; leave it out of X and name it in hidden.")


def labelled(names: list[Any], states: Mapping[Any, tuple[Any, ...]], table: Floats) -> pd.DataFrame:
    """A table with the states of the parents as its index."""
    *above, name = names
    index = pd.MultiIndex.from_product([states[one] for one in above], names=above) if above else pd.Index([""])
    if len(above) == 1:
        index = pd.Index(states[above[0]], name=above[0])
    columns = pd.Index(states[name], name=name)
    return pd.DataFrame(table.reshape(-1, table.shape[-1]), index=index, columns=columns)


def listed(names: Any) -> str:
    """The first ten names."""
    shown = [str(name) for name in names]
    return ", ".join(shown[:10]) + (", …" if len(shown) > 10 else "")
