"""Maximum likelihood for mixtures of product-Bernoullis: EM from many starts at once, accelerated by SQUAREM.

Parameters `theta` and problems are those of `mixture`. Eight restarts climb together, one in each lane; when one of
them ends, the next start takes its lane. What becomes of a restart does not depend on the others.

References
----------
Varadhan & Roland (2008), Simple and globally convergent methods for accelerating the convergence of any EM algorithm.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import expit

from ciabench.arrays import Floats
from ciabench.latent.elementary import larger
from ciabench.latent.lanes import LANES, choose, empty_lines, load, spread, store
from ciabench.latent.mixture import EDGE, Work, em_step, make_work
from ciabench.latent.pieces import Problem

PLAIN_STEPS = 10
"""Plain steps before the first extrapolation: they leave each start in its own basin."""

START_SPREAD = 1.0
"""Standard deviation of the starts around the attribute means, in logits."""

FIRST_STEPS = 64
"""Steps that a path has room for at first."""

MOST_STEPS = 2**62
"""What stands for more steps than can be counted."""

SUMS_AT_ONCE = 10**8
"""Sums of lines that a kernel makes, in about a tenth of a second, before Python may see that Ctrl-C was pressed."""

NOBODY = -1
"""What stands for a restart in a lane that has none."""


class Fit(NamedTuple):
    """What became of every restart; `paths` (R, ·) are its objectives, as many as there were evaluations."""

    theta: Floats
    objective: Floats
    converged: NDArray[np.bool_]
    n_evaluations: NDArray[np.intp]
    paths: Floats


class Climbers(NamedTuple):
    """Eight restarts on their way: which they are, parameters (k, 1 + a, 8) and the objectives (8,) of some of these.

    A plain step leads from start to first, one more to second; a jump goes on in their direction, and a plain step
    from it to landed. `length` is how far the last jump went, and `limit` how far the next one may go.
    """

    restart: NDArray[np.intp]
    start: Floats
    first: Floats
    second: Floats
    jump: Floats
    landed: Floats
    at_start: Floats
    at_first: Floats
    at_jump: Floats
    length: Floats
    limit: Floats


def empty_fit(starts: Floats) -> Fit:
    """Room for the ends of as many restarts as there are starts."""
    n = len(starts)
    return Fit(np.empty_like(starts), np.empty(n), np.zeros(n, bool), np.zeros(n, np.intp), np.empty((n, FIRST_STEPS)))


def empty_lanes(starts: Floats) -> Climbers:
    """Lanes without restarts, and with the first start for numbers."""
    theta, values = empty_lines(5, *starts.shape[1:]), empty_lines(5)
    theta[:], values[:] = starts[0][..., None], 1.0
    return Climbers(np.full(LANES, NOBODY), *theta, *values)


@njit(error_model="numpy")
def seat(lanes: Climbers, starts: Floats, next_start: int) -> int:
    """Give empty lanes to the next starts, as jumps that are kept in any case; return the number of the next one."""
    for lane in range(LANES):
        if lanes.restart[lane] == NOBODY and next_start < len(starts):
            lanes.restart[lane] = next_start
            lanes.jump[:, :, lane] = starts[next_start]
            lanes.at_first[lane], lanes.limit[lane] = -np.inf, np.inf
            next_start += 1
    return next_start


@njit(error_model="numpy")
def settle(lanes: Climbers) -> None:
    """Go on from the jump where it is no worse than the plain steps, else from these, and jump half as far at most."""
    plain, reached = load(lanes.at_first, 0), load(lanes.at_jump, 0)
    for line in range(lanes.start.size // LANES):
        first, second = load(lanes.first, line), load(lanes.second, line)
        store(lanes.start, line, choose(plain, reached, first, load(lanes.jump, line)))
        store(lanes.first, line, choose(plain, reached, second, load(lanes.landed, line)))
    store(lanes.at_start, 0, choose(plain, reached, plain, reached))
    length, limit = load(lanes.length, 0), load(lanes.limit, 0)
    store(lanes.limit, 0, choose(plain, reached, length / 2.0, larger(limit, 4.0 * length)))


@njit(error_model="numpy")
def set_lengths(lanes: Climbers, fit: Fit, plain_steps: int) -> None:
    """Length of the next jump (SQUAREM, scheme S3) between 1, a plain step, and its limit."""
    moved, bent = spread(0.0), spread(0.0)
    for line in range(lanes.start.size // LANES):
        first = load(lanes.first, line)
        change = first - load(lanes.start, line)
        curvature = load(lanes.second, line) - first - change
        moved += change * change
        bent += curvature * curvature
    store(lanes.length, 0, moved / larger(bent, spread(1e-300)))
    for lane, restart in enumerate(lanes.restart):
        is_plain = restart == NOBODY or fit.n_evaluations[restart] < plain_steps
        limit = 1.0 if is_plain else lanes.limit[lane]
        lanes.length[lane] = max(min(np.sqrt(lanes.length[lane]), limit), 1.0)


@njit(error_model="numpy")
def extrapolate(lanes: Climbers) -> None:
    """Jump, back inside the parameter space."""
    n_classes, width, _ = lanes.start.shape
    length, mass = load(lanes.length, 0), spread(0.0)
    for line in range(n_classes * width):
        start, first, second = load(lanes.start, line), load(lanes.first, line), load(lanes.second, line)
        change = first - start
        value = start + 2.0 * length * change + length * length * (second - first - change)
        value = choose(length, spread(1.0), value, second)
        value = choose(value, spread(1 - EDGE), spread(1 - EDGE), larger(value, spread(EDGE)))
        store(lanes.jump, line, value)
        if line % width == 0:
            mass += value
    for z in range(n_classes):
        store(lanes.jump, z * width, load(lanes.jump, z * width) / mass)


@njit(error_model="numpy")
def note(lanes: Climbers, objective: Floats, fit: Fit) -> None:
    """Count an evaluation of every restart and add the objective to its path."""
    for lane, restart in enumerate(lanes.restart):
        if restart != NOBODY:
            fit.paths[restart, fit.n_evaluations[restart]] = objective[lane]
            fit.n_evaluations[restart] += 1


@njit(error_model="numpy")
def leave(lanes: Climbers, theta: Floats, objective: Floats, fit: Fit, tol: float, max_iter: int) -> None:
    """Keep where restarts ended that gained less than `tol` or have no steps left, and empty their lanes."""
    for lane, restart in enumerate(lanes.restart):
        is_top = objective[lane] - lanes.at_start[lane] < tol
        if restart != NOBODY and (is_top or fit.n_evaluations[restart] >= max_iter):
            fit.theta[restart] = theta[:, :, lane]
            fit.objective[restart] = objective[lane]
            fit.converged[restart] = is_top
            lanes.restart[lane] = NOBODY


@njit(cache=True, nogil=True, error_model="numpy")
def climb(
    problem: Problem, starts: Floats, next_start: int, lanes: Climbers, work: Work, fit: Fit,
    tol: float, max_iter: int, plain_steps: int, cycles: int,
) -> int:  # fmt: skip
    """Let the restarts jump and step for some cycles, as long as paths have room; return the next start's number."""
    for _ in range(cycles):
        next_start = seat(lanes, starts, next_start)
        if lanes.restart.max() == NOBODY or fit.n_evaluations.max() + 2 > fit.paths.shape[1]:
            break
        store(lanes.at_jump, 0, em_step(problem, lanes.jump, work, lanes.landed))
        settle(lanes)
        note(lanes, lanes.at_start, fit)
        leave(lanes, lanes.start, lanes.at_start, fit, -np.inf, max_iter)
        store(lanes.at_first, 0, em_step(problem, lanes.first, work, lanes.second))
        note(lanes, lanes.at_first, fit)
        set_lengths(lanes, fit, plain_steps)
        extrapolate(lanes)
        leave(lanes, lanes.first, lanes.at_first, fit, tol, max_iter)
    return next_start


def maximize(problem: Problem, starts: Floats, *, tol: float, max_iter: int, accelerate: bool = True) -> Fit:
    """Run EM from all starts (R, k, 1 + a) until a plain step gains less than `tol`, or for `max_iter` evaluations.

    A jump is kept only if its likelihood is at least that of the plain step before it; otherwise the next cycle goes
    on from the plain iterates, at no extra evaluation, and jumps half as far at most. So the likelihood never falls.
    """
    fit, lanes, work, next_start = empty_fit(starts), empty_lanes(starts), make_work(problem, starts.shape[1]), 0
    most = min(int(max_iter), MOST_STEPS)
    plain_steps = PLAIN_STEPS if accelerate else most + 1
    cycles = 1 + SUMS_AT_ONCE // (problem.rows.members.size * starts.shape[1] + 1)
    while next_start < len(starts) or lanes.restart.max() != NOBODY:
        next_start = climb(problem, starts, next_start, lanes, work, fit, float(tol), most, plain_steps, cycles)
        if fit.n_evaluations.max() + 2 > fit.paths.shape[1]:
            fit = fit._replace(paths=np.concatenate([fit.paths, np.empty_like(fit.paths)], axis=1))
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
