"""Kernels of exact inference: messages in junction trees, one task after the other.

A program is a junction tree over the unobserved variables of a component. Its bags stand before their parents, the
root is last. A task of the program has a base per factor, the place in `theta` that its observed states select; cell c
of the bag of factor f then has the value theta[base_f + indices[factor_at_f + c]].
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ciabench.arrays import Floats

Integers = NDArray[np.int64]

OFTEN = 8
"""Factors after which a product is rescaled if it is small."""

SMALL = 1e-100


class Programs(NamedTuple):
    """Programs with their tasks; `x_at`, `to_sep` and `from_parent` are places in `indices`.

    Program p has the bags `plan_bags[p]` to `plan_bags[p + 1]`, likewise its tasks and bases. Potentials of a bag are
    at `bag_pots` in the work space, its message to the parent at `sep_at`. `to_sep` leads from the cells of a bag to
    those of its message, `from_parent` from the cells of the parent.
    """

    plan_bags: Integers
    plan_tasks: Integers
    plan_bases: Integers
    bag_cells: Integers
    bag_pots: Integers
    bag_parent: Integers
    bag_factors: Integers
    sep_cells: Integers
    sep_at: Integers
    to_sep: Integers
    from_parent: Integers
    factor_at: Integers
    query_at: Integers
    indices: NDArray[np.int32]
    bases: Integers
    weights: Floats
    n_pots: int
    n_seps: int


@njit(error_model="numpy")
def rescale(pots: Floats) -> float:
    """Divide potentials by their sum, if that is small; return the logarithm of the divisor."""
    total = pots.sum()
    if total > SMALL or total == 0.0:
        return 0.0
    pots /= total
    return float(np.log(total))


@njit(error_model="numpy")
def fill(programs: Programs, bag: int, base: int, theta: Floats, pots: Floats) -> float:
    """Multiply the factors of a bag, whose bases begin at `base`; return the logarithm of what was divided out."""
    pots[:] = 1.0
    log_scale, first = 0.0, programs.bag_factors[bag]
    for factor in range(first, programs.bag_factors[bag + 1]):
        start, at = programs.bases[base + factor - first], programs.factor_at[factor]
        for cell in range(pots.size):
            pots[cell] *= theta[start + programs.indices[at + cell]]
        if (factor - first) % OFTEN == OFTEN - 1:
            log_scale += rescale(pots)
    return log_scale


@njit(error_model="numpy")
def cells_of(programs: Programs, bag: int, pots: Floats) -> Floats:
    """Potentials of a bag."""
    start = programs.bag_pots[bag]
    return pots[start : start + programs.bag_cells[bag]]


@njit(error_model="numpy")
def send(programs: Programs, bag: int, pots: Floats, seps: Floats) -> float:
    """Sum a bag out towards its parent; return the logarithm of what was divided out."""
    own, others = cells_of(programs, bag, pots), cells_of(programs, programs.bag_parent[bag], pots)
    at, total = programs.sep_at[bag], own.sum()
    message = seps[at : at + programs.sep_cells[bag]]
    message[:] = 0.0
    down, up = programs.to_sep[bag], programs.from_parent[bag]
    for cell in range(own.size):
        message[programs.indices[down + cell]] += own[cell]
    share = 1.0 / total if total > 0 else 0.0
    for cell in range(others.size):
        others[cell] *= message[programs.indices[up + cell]] * share
    return float(np.log(total) + rescale(others))


@njit(error_model="numpy")
def collect(programs: Programs, plan: int, task: int, theta: Floats, pots: Floats, seps: Floats) -> float:
    """Send all messages to the root; normalise its potentials and return the log-likelihood of the task."""
    first, last = programs.plan_bags[plan], programs.plan_bags[plan + 1]
    first_factor = programs.bag_factors[first]
    n_factors = programs.bag_factors[last] - first_factor
    base = programs.plan_bases[plan] + (task - programs.plan_tasks[plan]) * n_factors - first_factor
    log_likelihood = 0.0
    for bag in range(first, last):
        own = cells_of(programs, bag, pots)
        log_likelihood += fill(programs, bag, base + programs.bag_factors[bag], theta, own)
    for bag in range(first, last - 1):
        log_likelihood += send(programs, bag, pots, seps)
    root = cells_of(programs, last - 1, pots)
    total = root.sum()
    if total > 0:
        root /= total
    return float(log_likelihood + np.log(total))


@njit(error_model="numpy")
def distribute(programs: Programs, plan: int, pots: Floats, seps: Floats) -> None:
    """Make the potentials of all bags posteriors, from the root downwards."""
    for bag in range(programs.plan_bags[plan + 1] - 2, programs.plan_bags[plan] - 1, -1):
        own, others = cells_of(programs, bag, pots), cells_of(programs, programs.bag_parent[bag], pots)
        at, n_cells = programs.sep_at[bag], programs.sep_cells[bag]
        message, ratio = seps[at : at + n_cells], np.zeros(n_cells)
        down, up = programs.to_sep[bag], programs.from_parent[bag]
        for cell in range(others.size):
            ratio[programs.indices[up + cell]] += others[cell]
        for cell in range(n_cells):
            ratio[cell] = ratio[cell] / message[cell] if message[cell] > 0 else 0.0
        for cell in range(own.size):
            own[cell] *= ratio[programs.indices[down + cell]]


@njit(error_model="numpy")
def scatter(programs: Programs, plan: int, task: int, pots: Floats, counts: Floats) -> None:
    """Add the weighted posteriors of a task to the expected counts of its families."""
    first, last = programs.plan_bags[plan], programs.plan_bags[plan + 1]
    n_factors = programs.bag_factors[last] - programs.bag_factors[first]
    base, weight = programs.plan_bases[plan] + (task - programs.plan_tasks[plan]) * n_factors, programs.weights[task]
    for bag in range(first, last):
        own = cells_of(programs, bag, pots)
        own *= weight
        for factor in range(programs.bag_factors[bag], programs.bag_factors[bag + 1]):
            start, at = programs.bases[base], programs.factor_at[factor]
            for cell in range(own.size):
                counts[start + programs.indices[at + cell]] += own[cell]
            base += 1


@njit(cache=True, nogil=True, error_model="numpy")
def expect(programs: Programs, theta: Floats, counts: Floats) -> float:
    """Add the expected counts of all tasks to `counts`; return their weighted log-likelihood."""
    pots, seps, total = np.empty(programs.n_pots), np.empty(programs.n_seps), 0.0
    for plan in range(programs.plan_bags.size - 1):
        for task in range(programs.plan_tasks[plan], programs.plan_tasks[plan + 1]):
            if programs.weights[task] > 0:
                total += programs.weights[task] * collect(programs, plan, task, theta, pots, seps)
                distribute(programs, plan, pots, seps)
                scatter(programs, plan, task, pots, counts)
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def likelihoods(programs: Programs, theta: Floats) -> Floats:
    """Log-likelihood of every task."""
    pots, seps, found = np.empty(programs.n_pots), np.empty(programs.n_seps), np.empty(programs.weights.size)
    for plan in range(programs.plan_bags.size - 1):
        for task in range(programs.plan_tasks[plan], programs.plan_tasks[plan + 1]):
            found[task] = collect(programs, plan, task, theta, pots, seps)
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def marginals(programs: Programs, theta: Floats, n_levels: int) -> Floats:
    """Posterior of the query in every task, (tasks, levels)."""
    pots, seps, found = (
        np.empty(programs.n_pots),
        np.empty(programs.n_seps),
        np.zeros((programs.weights.size, n_levels)),
    )
    for plan in range(programs.plan_bags.size - 1):
        at = programs.query_at[plan]
        for task in range(programs.plan_tasks[plan], programs.plan_tasks[plan + 1]):
            collect(programs, plan, task, theta, pots, seps)
            root = cells_of(programs, programs.plan_bags[plan + 1] - 1, pots)
            for cell in range(root.size):
                found[task, programs.indices[at + cell]] += root[cell]
    return found
