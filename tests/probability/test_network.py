"""Exact inference against sums over all joint states."""

import itertools

import numpy as np
import pytest

from ciabench.errors import ModelError
from ciabench.latent.networks import em_step
from ciabench.probability.inference import expected_counts, posteriors, row_log_likelihoods, see
from ciabench.probability.network import MISSING, Network, normalised


def random_network(rng, n_variables=None, most_levels=4):
    """Random network and parameters; every second one has zeros in its tables."""
    n_variables = n_variables or rng.integers(1, 9)
    places = rng.permutation(n_variables)
    parents = []
    for variable in range(n_variables):
        before = np.flatnonzero(places < places[variable])
        parents.append(rng.permutation(before)[: rng.integers(0, 4)].tolist())
    network = Network(rng.integers(1, most_levels + 1, n_variables), parents)
    values = rng.dirichlet(np.ones(network.size)) + 1e-3 / network.size
    if rng.random() < 0.5:
        values[rng.random(network.size) < 0.2] = 0.0
        values[network.groups[:-1]] += 1e-3
    return network, normalised(network, values)


def random_rows(rng, network, theta, size):
    """Rows of a network with up to 40% of the cells missing and up to two variables hidden."""
    states = network.sample(theta, size, rng)
    states[rng.random(states.shape) < rng.uniform(0, 0.4)] = MISSING
    states[:, rng.permutation(network.n_variables)[: rng.integers(0, 3)]] = MISSING
    return states


def brute_force(network, theta, states):
    """Log-likelihood of each row, expected counts, and posteriors of all variables given the others."""
    joint_states = np.array(list(itertools.product(*map(range, network.n_levels))))
    tables = network.tables(theta)
    joint = np.ones(len(joint_states))
    for family, table in zip(network.families, tables, strict=True):
        joint *= table[tuple(joint_states[:, one] for one in family)]
    counts = [np.zeros_like(table) for table in tables]
    found, chances = [], [np.zeros((len(states), n)) for n in network.n_levels]
    for number, row in enumerate(states):
        agrees = (row == MISSING) | (joint_states == row)
        posterior = joint * agrees.all(axis=1)
        found.append(np.log(posterior.sum()))
        for family, table in zip(network.families, counts, strict=True):
            np.add.at(table, tuple(joint_states[:, one] for one in family), posterior / posterior.sum())
        for variable, table in enumerate(chances):
            others = joint * np.delete(agrees, variable, axis=1).all(axis=1)
            np.add.at(table[number], joint_states[:, variable], others / others.sum())
    return np.array(found), np.concatenate([table.ravel() for table in counts]), chances


@pytest.mark.parametrize("seed", range(0, 200, 20))
def test_random_networks_equal_brute_force(seed, monkeypatch):
    """Every second network is solved by junction trees alone, however small."""
    for one in range(seed, seed + 20):
        monkeypatch.setattr("ciabench.probability.cliques.FEW_CELLS", 32 * (one % 2))
        check_against_brute_force(np.random.default_rng(one))


def check_against_brute_force(rng):
    network, theta = random_network(rng)
    states = random_rows(rng, network, theta, 6)
    found, counts, chances = brute_force(network, theta, states)
    np.testing.assert_allclose(row_log_likelihoods(network, theta, states), found, rtol=0, atol=1e-9)
    np.testing.assert_allclose(expected_counts(network, theta, states), counts, rtol=0, atol=1e-9)
    for variable in range(network.n_variables):
        np.testing.assert_allclose(posteriors(network, theta, states, variable), chances[variable], rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_a_step_returns_the_likelihood_and_never_lowers_it(seed):
    rng = np.random.default_rng(seed)
    network, theta = random_network(rng, 8, most_levels=3)
    states, weights = random_rows(rng, network, theta, 40), rng.uniform(0, 3, 40)
    evidence = see(network, states, weights)
    theta = normalised(network, rng.uniform(0.1, 1, network.size))
    path = []
    for _ in range(30):
        objective, updated = em_step(network, evidence, theta, 0.0)
        assert objective == pytest.approx(weights @ row_log_likelihoods(network, theta, states), abs=1e-9)
        path.append(objective)
        theta = updated
    assert (np.diff(path) > -1e-9).all()


def test_products_of_many_small_numbers_do_not_underflow():
    """A hidden variable with 2,000 children; and one whose bag receives 400 messages."""
    n = 2_000
    network = Network([2] + [5] * n, [()] + [(0,)] * n)
    theta = normalised(network, np.random.default_rng(0).uniform(0.1, 1, network.size))
    states = network.sample(theta, 3, np.random.default_rng(1))
    states[:, 0] = MISSING
    logs = np.log(network.tables(theta)[0])[None] + sum(
        np.log(table)[:, states[:, 1 + i]].T for i, table in enumerate(network.tables(theta)[1:])
    )
    expected = np.logaddexp(*logs.T)
    assert (expected < -2_000).all()
    np.testing.assert_allclose(row_log_likelihoods(network, theta, states), expected, rtol=1e-12)

    n = 400
    network = Network([2] + [5] * (2 * n), [()] + [(0,)] * n + [(1 + i,) for i in range(n)])
    theta = normalised(network, np.random.default_rng(0).uniform(0.1, 1, network.size))
    tables = network.tables(theta)
    states = network.sample(theta, 3, np.random.default_rng(1))
    states[:, : n + 1] = MISSING
    logs = np.log(tables[0])[None] + sum(
        np.log(tables[1 + i] @ tables[1 + n + i])[:, states[:, 1 + n + i]].T for i in range(n)
    )
    np.testing.assert_allclose(row_log_likelihoods(network, theta, states), np.logaddexp(*logs.T), rtol=1e-12)


def test_impossible_rows_have_no_likelihood():
    network = Network([2, 2, 2], [(), (0,), (1,)])
    theta = np.array([1.0, 0.0, 0.5, 0.5, 0.5, 0.5, 1.0, 0.0, 1.0, 0.0])
    states = np.array([[MISSING, 0, 1], [1, MISSING, 0], [MISSING, MISSING, 1]])
    np.testing.assert_array_equal(row_log_likelihoods(network, theta, states), -np.inf)


def test_rows_that_see_the_same_are_one_task():
    network = Network([2, 2, 2, 2], [(), (0,), (1,), (2,)])
    states = np.array([[0, MISSING, 1, 0], [0, MISSING, 1, MISSING], [0, MISSING, 1, 1], [1, 1, 1, 1]])
    tasks = see(network, states).tasks
    assert tasks.rows.tolist() == [0, 1, 1, 2]
    assert tasks.programs.weights.tolist() in ([3.0, 1.0], [1.0, 3.0])


def test_samples_have_the_frequencies_of_the_network():
    rng = np.random.default_rng(0)
    network, theta = random_network(rng, 5)
    states = network.sample(theta, 200_000, rng)
    shares = normalised(network, expected_counts(network, theta, states) + 1e-9)
    weights = expected_counts(network, theta, np.full((1, 5), MISSING, dtype=np.int32))
    assert np.abs((shares - theta) * weights).max() < 0.005


def test_large_cliques_are_refused_by_name_and_size():
    hub = Network([10] * 9, [()] * 8 + [()], names=list("abcdefghi"))
    assert hub.size == 90
    with pytest.raises(ModelError, match=r"clique a, b, c, d, e, f, g, h and 1 more with 1e\+09 cells"):
        Network([10] * 9, [()] * 8 + [range(8)], names=list("abcdefghi"))
    parents = [()] * 8 + [(i, j) for i, j in itertools.combinations(range(8), 2)]
    pairs = Network([12] * 8 + [2] * 28, parents)
    observed = np.zeros((1, 36), dtype=np.int32)
    theta = normalised(pairs, np.ones(pairs.size))
    assert row_log_likelihoods(pairs, theta, observed) == pytest.approx(-8 * np.log(12) - 28 * np.log(2))
    observed[0, :8] = MISSING
    with pytest.raises(ModelError, match=r"clique 0, 1, 2, 3, 4, 5, 6, 7 with 4\.3e\+08 cells, more than the limit"):
        row_log_likelihoods(pairs, theta, observed)


def test_cycles_are_refused():
    with pytest.raises(ModelError, match="a → b → c → a"):
        _ = Network([2, 2, 2], [(2,), (0,), (1,)], names=["a", "b", "c"]).order
