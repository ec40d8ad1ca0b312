"""Maximum likelihood for mixtures of product-Bernoullis: EM from many starts at once, accelerated by SQUAREM.

Parameters `theta` and problems are those of `mixture`.

References
----------
Varadhan & Roland (2008), Simple and globally convergent methods for accelerating the convergence of any EM algorithm.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import expit

from ciabench.learners.data import Floats
from ciabench.learners.mixture import EDGE, Problem, e_step, em_step

PLAIN_STEPS = 10
"""Plain steps before the first extrapolation: they leave each start in its own basin."""

START_SPREAD = 1.0
"""Standard deviation of the starts around the attribute means, in logits."""


class Fit(NamedTuple):
    """What became of every restart; `steps` are the restarts that took each step, and their objectives."""

    theta: Floats
    objective: Floats
    converged: NDArray[np.bool_]
    n_evaluations: NDArray[np.intp]
    steps: list[tuple[NDArray[np.intp], Floats]]

    @property
    def paths(self) -> list[Floats]:
        """Objective of every restart along its way."""
        restarts, values = (np.concatenate(column) for column in zip(*self.steps, strict=True))
        order = np.argsort(restarts, kind="stable")
        return np.split(values[order], np.searchsorted(restarts[order], np.arange(1, len(self.theta))))

    def leave(
        self, restarts: NDArray[np.intp], theta: Floats, objective: Floats, n_evaluations: int, *, converged: bool
    ) -> None:
        """Keep where some restarts ended."""
        self.theta[restarts] = theta
        self.objective[restarts] = objective
        self.converged[restarts] = converged
        self.n_evaluations[restarts] = n_evaluations


def empty_fit(theta: Floats) -> Fit:
    """Room for the ends of as many restarts as there are starts."""
    n = len(theta)
    return Fit(np.empty_like(theta), np.empty(n), np.empty(n, dtype=bool), np.empty(n, dtype=np.intp), [])


@njit(cache=True, error_model="numpy")
def extrapolate(start: Floats, first: Floats, second: Floats, limit: Floats) -> tuple[Floats, Floats]:
    """SQUAREM step (scheme S3) from three successive iterates, back inside the parameter space; and its length (R,)."""
    jump, lengths = np.empty_like(start), np.empty(len(start))
    _, n_classes, width = start.shape
    for r in range(len(start)):
        moved, bent, mass = 0.0, 0.0, 0.0
        for z in range(n_classes):
            for i in range(width):
                moved += (first[r, z, i] - start[r, z, i]) ** 2
                bent += (second[r, z, i] - 2 * first[r, z, i] + start[r, z, i]) ** 2
        length = max(min(np.sqrt(moved / max(bent, 1e-300)), limit[r]), 1.0)
        for z in range(n_classes):
            for i in range(width):
                change = first[r, z, i] - start[r, z, i]
                curvature = second[r, z, i] - 2 * first[r, z, i] + start[r, z, i]
                value = start[r, z, i] + 2 * length * change + length**2 * curvature
                jump[r, z, i] = min(max(value, EDGE), 1 - EDGE)
            mass += jump[r, z, 0]
        for z in range(n_classes):
            jump[r, z, 0] /= mass
        lengths[r] = length
    return jump, lengths


def maximize(problem: Problem, theta: Floats, *, tol: float, max_iter: int, accelerate: bool = True) -> Fit:
    """Run EM from all starts until a plain step gains less than `tol`; converged restarts leave the batch.

    A jump is kept only if its likelihood is at least that of the plain step before it; otherwise the next cycle goes
    on from the plain iterates, at no extra evaluation, and jumps half as far at most. So the likelihood never falls.
    """
    fit = empty_fit(theta)
    active, start, limit = np.arange(len(theta)), theta, np.full(len(theta), np.inf)
    first, before = em_step(problem, start)
    n_evaluations = 1
    while active.size and n_evaluations < max_iter:
        second, objective = em_step(problem, first)
        n_evaluations += 1
        done = objective - before < tol
        fit.steps.append((active, objective))
        if done.any():
            fit.leave(active[done], first[done], objective[done], n_evaluations, converged=True)
            active, objective, limit = active[~done], objective[~done], limit[~done]
            start, first, second = start[~done], first[~done], second[~done]
        if not accelerate or n_evaluations < PLAIN_STEPS or not active.size:
            start, first, before = first, second, objective
            continue
        jump, length = extrapolate(start, first, second, limit)
        landed, reached = em_step(problem, jump)
        n_evaluations += 1
        worse = reached < objective
        if worse.any():
            jump[worse], landed[worse], reached[worse] = first[worse], second[worse], objective[worse]
        start, first, before = jump, landed, reached
        limit = np.where(worse, length / 2, np.maximum(limit, 4 * length))
    fit.steps.append((active, before))
    fit.leave(active, start, before, n_evaluations, converged=False)
    return fit


def random_starts(problem: Problem, n_classes: int, n_init: int, random: np.random.RandomState) -> Floats:
    """Starting parameters (n_init, k, 1 + a): the attribute means, shifted at random on the logit scale.

    Unlike uniform probabilities these serve sparse attributes too; on dense ones both reach the same optima.
    """
    n_attributes, n_samples = problem.n_attributes, problem.totals[-1]
    complete = problem.totals.size == n_attributes + 1
    observed = n_samples if complete else problem.totals[n_attributes:-1]
    means = (problem.totals[:n_attributes] + 0.5) / (observed + 1)
    shifts = START_SPREAD * random.standard_normal((n_init, n_classes, n_attributes))
    theta = np.empty((n_init, n_classes, 1 + n_attributes))
    theta[:, :, 0] = random.dirichlet(np.full(n_classes, 5.0), n_init)
    theta[:, :, 1:] = expit(np.log(means / (1 - means)) + shifts)
    return np.clip(theta, EDGE, 1 - EDGE)


def log_likelihoods(problem: Problem, fit: Fit) -> Floats:
    """Log-likelihood of every restart, without the prior."""
    if problem.smoothing == 0:
        return fit.objective
    return e_step(problem._replace(smoothing=0.0), fit.theta)[1]
