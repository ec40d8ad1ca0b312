"""Exact inference in belief networks: likelihoods, expected counts and posteriors of many rows at once.

A row is split at the variables that it observes: the others fall into connected components, each with the families
that touch it, and a family whose variables are all observed needs no inference. Components of different rows that see
the same values are one *task*, solved once (`cliques`, `messages`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.kernels import prepare_kernels
from ciabench.probability.cliques import Tasks, find_bases, make_tasks
from ciabench.probability.messages import expect, likelihoods, marginals
from ciabench.probability.network import MISSING, Network, States


class Evidence(NamedTuple):
    """Weighted rows, ready for inference.

    Parameters
    ----------
    counts : array (size of theta,)
        Weight of the rows with each family fully observed in these states.
    tasks : Tasks
        What is left to be inferred.
    bases : array (s, V)
        Places in `theta` of the families of every row, as far as observed.
    is_complete : array (s, V) of bool
        Whether the family is fully observed.
    """

    counts: Floats
    tasks: Tasks
    bases: NDArray[np.int64]
    is_complete: NDArray[np.bool_]


def see(network: Network, states: States, weights: Floats | None = None, query: int | None = None) -> Evidence:
    """Prepare rows of states (s, V) for inference; with a `query`, of the components that contain this variable."""
    prepare_kernels()
    weights = np.ones(len(states)) if weights is None else weights
    bases, is_complete = find_bases(network, states)
    counts = np.zeros(network.size)
    if query is None:
        for column, complete in zip(bases.T, is_complete.T, strict=True):
            counts += np.bincount(column[complete], weights[complete], minlength=network.size)
    return Evidence(counts, make_tasks(network, states, bases, weights, query), bases, is_complete)


def row_log_likelihoods(network: Network, theta: Floats, states: States) -> Floats:
    """Log P(observed states) of every row (s, V).

    Examples
    --------
    >>> coin = Network([2, 2], [(), (0,)])
    >>> theta = np.array([0.5, 0.5, 0.9, 0.1, 0.2, 0.8])
    >>> np.exp(row_log_likelihoods(coin, theta, np.array([[0, 0], [MISSING, 0], [MISSING, MISSING]]))).round(3)
    array([0.45, 0.55, 1.  ])
    """
    evidence = see(network, states)
    with np.errstate(divide="ignore"):
        logs = np.where(evidence.is_complete, np.log(theta)[np.where(evidence.is_complete, evidence.bases, 0)], 0.0)
    of_tasks = likelihoods(evidence.tasks.programs, theta)
    tasks = evidence.tasks
    inferred = np.bincount(tasks.rows, of_tasks[tasks.numbers], minlength=len(states))
    found: Floats = logs.sum(axis=1) + inferred
    return found


def expected_counts(network: Network, theta: Floats, states: States, weights: Floats | None = None) -> Floats:
    """Expected number of rows with each family in each of its states, in the order of `theta`.

    Examples
    --------
    >>> coin = Network([2, 2], [(), (0,)])
    >>> theta = np.array([0.5, 0.5, 0.9, 0.1, 0.2, 0.8])
    >>> expected_counts(coin, theta, np.array([[0, 0], [MISSING, 0]])).round(3)
    array([1.818, 0.182, 1.818, 0.   , 0.182, 0.   ])
    """
    evidence = see(network, states, weights)
    counts = evidence.counts.copy()
    expect(evidence.tasks.programs, theta, counts)
    return counts


def posteriors(network: Network, theta: Floats, states: States, variable: int) -> Floats:
    """P(variable | the other observed states) of every row, (s, states of the variable).

    Examples
    --------
    >>> coin = Network([2, 2], [(), (0,)])
    >>> theta = np.array([0.5, 0.5, 0.9, 0.1, 0.2, 0.8])
    >>> posteriors(coin, theta, np.array([[MISSING, 0], [1, MISSING]]), 0).round(3)
    array([[0.818, 0.182],
           [0.5  , 0.5  ]])
    """
    states = states.copy()
    states[:, variable] = MISSING
    tasks = see(network, states, query=variable).tasks
    chances = marginals(tasks.programs, theta, int(network.n_levels[variable]))
    found = np.empty((len(states), chances.shape[1]))
    found[tasks.rows] = chances[tasks.numbers]
    return found
