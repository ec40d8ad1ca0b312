"""The picture of a belief network."""

import networkx as nx
import numpy as np
import pytest

from ciabench import BeliefNetwork, NetworkClassifier, plot_network
from ciabench.errors import CIABenchError
from ciabench.findings.graphs import layered

EDGES = [("z", "a"), ("z", "b"), ("a", "c"), ("b", "c"), ("d", "c")]


def test_parents_are_above_children_and_nothing_overlaps():
    places = layered(nx.DiGraph(EDGES))
    assert all(places[parent][1] < places[child][1] for parent, child in EDGES)
    assert len(set(places.values())) == len(places)
    assert places["d"][1] == places["c"][1] - 1


def test_names_arrows_and_hidden_variables_are_drawn():
    ax = plot_network(BeliefNetwork(EDGES, hidden={"z": 2}))
    boxes = {text.get_text(): text.get_bbox_patch() for text in ax.texts if text.get_text()}
    assert set(boxes) == set("abcdz")
    assert {name for name, box in boxes.items() if box.get_linestyle() != "-"} - {"solid"} >= {"z"}
    assert boxes["z"].get_edgecolor() != boxes["a"].get_edgecolor()
    assert sum(text.get_text() == "" for text in ax.texts) == len(EDGES)


def test_graphs_and_classifiers_are_drawn():
    assert plot_network(nx.DiGraph([("a$b$", "c")])).texts[0].get_text() == r"a\$b\$"
    X = np.random.default_rng(0).integers(0, 2, (50, 3))
    assert len(plot_network(NetworkClassifier().fit(X, X[:, 0])).texts) == 4 + 5


@pytest.mark.parametrize("network", [nx.Graph([(0, 1)]), "asia", nx.DiGraph([(0, 1), (1, 0)])])
def test_other_things_are_refused(network):
    with pytest.raises(CIABenchError, match=r"DiGraph|cycle"):
        plot_network(network)
