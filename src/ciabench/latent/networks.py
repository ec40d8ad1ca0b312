"""Fit the tables of a belief network by maximum likelihood: EM from many starts, accelerated by SQUAREM."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.latent.fit import LEAST, REPRODUCED, STEPS_LEFT, balanced
from ciabench.latent.mixture import EDGE, NOTHING
from ciabench.latent.restarts import PLAIN_STEPS
from ciabench.latent.starts import ROW_SHARE, WEIGHT_CONCENTRATION, Random, drawn_rows
from ciabench.probability.inference import Evidence, see
from ciabench.probability.messages import Programs, expect
from ciabench.probability.network import MISSING, Network, States, normalised

LIGHTEST = 1e-30
"""Rows with a smaller share of the largest weight are left out: products of their probabilities would vanish."""

Step = Callable[[Floats], tuple[float, Floats]]
"""Objective of parameters, and the parameters after a plain step."""


@dataclass(frozen=True, eq=False)
class NetworkFit:
    """Fitted tables of a belief network: the best of several restarts, and what became of the others.

    Attributes
    ----------
    theta : array
        The tables, in the order of `Network`.
    log_likelihood : float
        Log-likelihood of the best restart, without the prior.
    log_likelihoods : array (n_init,)
        Log-likelihoods of all restarts, without the prior.
    n_best_reproduced : int
        Number of restarts whose objective came within 1e-4 (or 100 `tol`, if that is more) of the best one, which is
        counted too.
    converged : bool
        Whether the best restart converged.
    n_iter : int
        E steps of the best restart.
    paths : list of arrays
        Objective of each restart after each E step.
    """

    theta: Floats
    log_likelihood: float
    log_likelihoods: Floats
    n_best_reproduced: int
    converged: bool
    n_iter: int
    paths: list[Floats]


@njit(cache=True, nogil=True, error_model="numpy")
def run_step(
    programs: Programs, observed: Floats, groups: NDArray[np.int64], theta: Floats, smoothing: float, updated: Floats
) -> float:
    """One E and M step: fill in the next parameters, return the (penalised) log-likelihood of the given ones."""
    updated[:] = observed
    objective = expect(programs, theta, updated)
    for place in range(theta.size):
        if observed[place] + smoothing > 0:
            objective += (observed[place] + smoothing) * np.log(theta[place])
    for group in range(groups.size - 1):
        counts = updated[groups[group] : groups[group + 1]]
        counts += smoothing
        total = counts.sum()
        if total > NOTHING:
            counts /= total
        else:
            counts[:] = theta[groups[group] : groups[group + 1]]
    return objective


def em_step(network: Network, evidence: Evidence, theta: Floats, smoothing: float) -> tuple[float, Floats]:
    """(Penalised) log-likelihood of `theta`, and the parameters after an E and an M step."""
    updated = np.empty_like(theta)
    args = (evidence.tasks.programs, evidence.counts, network.groups, theta, smoothing, updated)
    return float(run_step(*args)), updated


def ascend(
    step: Step,
    project: Callable[[Floats, Floats], Floats],
    start: Floats,
    *,
    tol: float,
    max_iter: int,
    accelerate: bool,
) -> tuple[Floats, list[float], bool]:
    """Run EM from one start, with the jumps and the guard of `restarts.maximize`.

    Parameters
    ----------
    step : callable
    project : callable
        From extrapolated parameters, and plain ones beside them, to valid ones.
    start : array
    tol : float
        Converged when a plain step gains less; every second step is examined.
    max_iter : int
        Maximum number of steps.
    accelerate : bool
        Extrapolate by SQUAREM.

    Returns
    -------
    theta : array
    path : list of floats
        Objective after each step, which never falls; that of `theta` is last.
    converged : bool
    """
    jump, at_plain, length, limit, path = start, -np.inf, 1.0, np.inf, []
    plain = second = start
    while True:
        at_jump, landed = step(jump)
        if at_jump >= at_plain:
            theta, first, at_theta, limit = jump, landed, at_jump, max(limit, 4 * length)
        else:
            theta, first, at_theta, limit = plain, second, at_plain, length / 2
        path.append(at_theta)
        if len(path) >= max_iter:
            return theta, path, False
        at_plain, second = step(first)
        path.append(at_plain)
        if at_plain - at_theta < tol or len(path) >= max_iter:
            return first, path, at_plain - at_theta < tol
        plain, change = first, first - theta
        curvature = second - first - change
        length = float(np.sqrt(change @ change / max(float(curvature @ curvature), 1e-300)))
        length = max(min(length, limit if accelerate and len(path) >= PLAIN_STEPS else 1.0), 1.0)
        jump = second if length == 1 else project(theta + 2 * length * change + length**2 * curvature, second)


def make_starts(
    network: Network, states: States, weights: Floats, hidden: Sequence[int], n_starts: int, random: Random
) -> Floats:
    """Starting parameters (n_starts, size): every hidden state at a random row, blended with what all rows share.

    The table of a hidden variable is drawn. A variable with hidden parents starts at its frequencies given the other
    parents, blended with the cells of a random row per state of each hidden parent. Other tables start at their
    frequencies, blended with drawn ones in all but the first start.
    """
    starts = np.empty((n_starts, network.size))
    rows = {one: drawn_rows(np.cumsum(weights), (n_starts, int(network.n_levels[one])), random) for one in hidden}
    for variable, (family, shape) in enumerate(zip(network.families, network.shapes, strict=True)):
        drawn = random.dirichlet(np.full(shape[-1], WEIGHT_CONCENTRATION), (n_starts, *shape[:-1]))
        if variable not in hidden:
            known = frequencies(network, states, weights, variable, hidden)
            unknown = [axis for axis, one in enumerate(family) if one in hidden]
            if unknown:
                pulls = [_pull(states, rows[family[axis]], variable, known, axis) for axis in unknown]
                drawn = (1 - ROW_SHARE) * known + ROW_SHARE * sum(pulls) / len(pulls)
            else:
                drawn = (1 - ROW_SHARE) * known + ROW_SHARE * drawn
                drawn[:1] = known
        block = slice(network.starts[variable], network.starts[variable + 1])
        starts[:, block] = np.broadcast_to(drawn, (n_starts, *shape)).reshape(n_starts, int(np.prod(shape)))
    return starts


def frequencies(network: Network, states: States, weights: Floats, variable: int, hidden: Sequence[int]) -> Floats:
    """Shares of a variable's states given its parents, of rows that observe them all; hidden parents have one state.

    A single row, spread over the states, is added.
    """
    family, shape = list(network.families[variable]), network.shapes[variable]
    seen = [one for one in family if one not in hidden]
    is_complete = (states[:, seen] != MISSING).all(axis=1)
    places = np.ravel_multi_index(tuple(states[is_complete][:, seen].T), tuple(network.n_levels[seen]))
    found = np.bincount(places, weights[is_complete], minlength=int(np.prod(network.n_levels[seen])))
    counts = found.reshape([1 if one in hidden else n for one, n in zip(family, shape, strict=True)]) + 1 / shape[-1]
    shares: Floats = counts / counts.sum(axis=-1, keepdims=True)
    return shares


def _pull(states: States, rows: NDArray[np.intp], variable: int, known: Floats, axis: int) -> Floats:
    """Where the rows (starts, states) of a hidden parent pull a variable: to their cell, if it is observed.

    The states of the parent are along `axis` of the result's tables (starts, parents …, states of the variable).
    """
    cells, n_levels = states[rows, variable], known.shape[-1]
    shape = [len(rows), *([1] * known.ndim)]
    shape[1 + axis], shape[-1] = rows.shape[1], n_levels
    indicators = (cells[..., None] == np.arange(n_levels)).reshape(shape)
    pulled: Floats = np.where((cells[..., None] == MISSING).repeat(n_levels, axis=-1).reshape(shape), known, indicators)
    return pulled


def fit_network(
    network: Network,
    states: States,
    weights: Floats,
    hidden: Sequence[int],
    *,
    random: Random,
    n_init: int = 20,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    accelerate: bool = True,
    smoothing: float = 0.0,
    init: Sequence[Floats] = (),
) -> NetworkFit:
    """Fit the tables of a belief network to rows by EM from many starts. Parameters are not checked.

    Parameters
    ----------
    network : Network
    states : array (s, V)
        States of the variables; `MISSING` where not observed.
    weights : array (s,)
    hidden : sequence of int
        Variables that no row observes.
    random : RandomState or Generator
        Source of the starts.
    n_init : int
        Number of starts, those of one's own included; one is enough for rows that observe everything.
    tol : float
    max_iter : int
    accelerate : bool
    smoothing : float
        Pseudo-count added to every expected count; 0 is maximum likelihood.
    init : sequence of arrays
        Starts of one's own; one under which a row is impossible is kept away from 0.

    Examples
    --------
    >>> states = np.array([[-1, 0, 0], [-1, 1, 1], [-1, 0, 1]], dtype=np.int32).repeat([40, 40, 20], axis=0)
    >>> pair = Network([2, 2, 2], [(), (0,), (0,)])
    >>> fit = fit_network(pair, states, np.ones(100), [0], random=np.random.RandomState(0))
    >>> round(fit.log_likelihood, 3), fit.converged
    (-105.492, True)
    """
    weights, unit = balanced(np.where(weights < LIGHTEST * weights.max(), 0.0, weights), smoothing)
    smoothing, margin = smoothing * unit, max(REPRODUCED, STEPS_LEFT * tol) * unit
    evidence = see(network, states, weights)
    n_starts = n_init if evidence.tasks.rows.size else 1
    drawn = make_starts(network, states, weights, hidden, max(n_starts - len(init), 0), random)

    def step(theta: Floats) -> tuple[float, Floats]:
        return em_step(network, evidence, theta, smoothing)

    def project(theta: Floats, plain: Floats) -> Floats:
        return normalised(network, np.maximum(theta, EDGE * plain))

    own = [start if np.isfinite(step(start)[0]) else normalised(network, np.maximum(start, EDGE)) for start in init]
    starts, least = [*own, *drawn], max(tol * unit, LEAST)
    found = [ascend(step, project, start, tol=least, max_iter=max_iter, accelerate=accelerate) for start in starts]
    objectives = np.array([path[-1] for _, path, _ in found])
    best = int(np.argmax(objectives))
    log_likelihoods = objectives
    if smoothing > 0:
        log_likelihoods = np.array([em_step(network, evidence, theta, 0.0)[0] for theta, _, _ in found])
    return NetworkFit(
        theta=found[best][0],
        log_likelihood=float(log_likelihoods[best] / unit),
        log_likelihoods=log_likelihoods / unit,
        n_best_reproduced=int((objectives > objectives[best] - margin).sum()),
        converged=found[best][2],
        n_iter=len(found[best][1]),
        paths=[np.array(path) / unit for _, path, _ in found],
    )
