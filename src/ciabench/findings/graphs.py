"""A picture of the graph of a belief network."""

from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
from matplotlib.axes import Axes
from matplotlib.text import Annotation, Text

from ciabench.errors import ParameterError
from ciabench.findings.looks import COLORS, make_readable, mixed, plain
from ciabench.learners.network_data import checked_graph

BEND = 0.12
"""How far a long arrow is bent, as a share of its length."""

SWEEPS = 4
"""How often every layer is sorted by the places of its neighbours."""


def plot_network(network: Any, ax: Axes | None = None) -> Axes:
    """Plot the graph of a belief network, parents above their children; hidden variables are dashed.

    Parameters
    ----------
    network : BeliefNetwork, fitted NetworkClassifier or networkx.DiGraph
        Nodes of a DiGraph are hidden if their attribute `hidden` is true.
    ax : Axes, optional
        Where to draw (default: a new figure).

    Returns
    -------
    Axes

    Examples
    --------
    >>> from ciabench import BeliefNetwork
    >>> ax = plot_network(BeliefNetwork([("z", "a"), ("z", "b"), ("a", "c")], hidden={"z": 2}))
    >>> sorted(text.get_text() for text in ax.texts if text.get_text())
    ['a', 'b', 'c', 'z']
    """
    graph = network.to_networkx() if hasattr(network, "to_networkx") else network
    if not isinstance(graph, nx.DiGraph):
        raise ParameterError(f"network must be a BeliefNetwork or a networkx.DiGraph; got {type(network).__name__}.")
    places = layered(checked_graph(graph))
    width = max(x for x, _ in places.values()) - min(x for x, _ in places.values()) + 1
    depth = max(y for _, y in places.values()) + 1
    if ax is None:
        step = max(1.1, 0.4 + 0.1 * max(len(str(name)) for name in graph))
        size = (min(max(3.0, step * width), 18.0), min(max(1.5, 0.9 * depth), 12.0))
        ax = plt.subplots(layout="constrained", figsize=size)[1]
    boxes = {name: _draw_node(ax, name, places[name], bool(graph.nodes[name].get("hidden")), width) for name in graph}
    for parent, child in graph.edges:
        ax.add_artist(_Arrow(boxes[parent], boxes[child], is_long=places[child][1] - places[parent][1] > 1))
    columns = [x for x, _ in places.values()]
    ax.set(xlim=(min(columns) - 0.6, max(columns) + 0.6), ylim=(depth - 0.5, -0.5))
    ax.axis("off")
    make_readable(ax)
    return ax


class _Arrow(Annotation):
    """An arrow between two names in boxes, drawn below them; bent around the layers between if it is long."""

    def __init__(self, parent: Text, child: Text, *, is_long: bool) -> None:
        style = {
            "arrowstyle": "-|>",
            "color": "0.45",
            "shrinkA": 0,
            "shrinkB": 1,
            "linewidth": 0.9,
            "connectionstyle": f"arc3,rad={BEND if is_long else 0}",
            "patchA": parent.get_bbox_patch(),
            "patchB": child.get_bbox_patch(),
        }
        super().__init__("", child.get_position(), parent.get_position(), arrowprops=style, zorder=1)
        self.ends = parent, child

    def draw(self, renderer: Any) -> None:
        """Place the boxes first: the arrow ends at their edges."""
        for end in self.ends:
            end.update_bbox_position_size(renderer)
        super().draw(renderer)


def _draw_node(ax: Axes, name: Any, place: tuple[float, float], is_hidden: bool, width: float) -> Any:
    """A name in a box."""
    color = COLORS[2] if is_hidden else COLORS[0]
    box = {
        "boxstyle": "round,pad=0.35",
        "facecolor": mixed(color, "#ffffff", 15),
        "edgecolor": color,
        "linestyle": "--" if is_hidden else "-",
    }
    size = min(10.0, max(5.0, 90.0 / width))
    return ax.text(*place, plain(str(name)), ha="center", va="center", fontsize=size, color="black", bbox=box, zorder=2)


def layered(graph: Any) -> dict[Any, tuple[float, float]]:
    """Places (x, layer) of the nodes: parents above children, as close as can be, neighbours near each other."""
    depth = {name: number for number, layer in enumerate(nx.topological_generations(graph)) for name in layer}
    for name in reversed(list(nx.topological_sort(graph))):
        depth[name] = min((depth[child] - 1 for child in graph.successors(name)), default=depth[name])
    layers = [[name for name in graph if depth[name] == number] for number in range(max(depth.values()) + 1)]
    place = {name: i - (len(layer) - 1) / 2 for layer in layers for i, name in enumerate(layer)}
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            near = {name: [place[one] for one in nx.all_neighbors(graph, name)] or [place[name]] for name in layer}
            layer.sort(key=lambda name: sum(near[name]) / len(near[name]))
            place |= {name: i - (len(layer) - 1) / 2 for i, name in enumerate(layer)}
    return {name: (place[name], float(depth[name])) for name in graph}
