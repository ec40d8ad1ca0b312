"""Maximum likelihood for mixtures: EM from many starts at once, accelerated by SQUAREM.

Parameters `theta` and problems are those of `mixture`. Eight restarts run together, one per lane; when one of them
ends, the next start takes its lane. The result of a restart does not depend on the others.

References
----------
Varadhan & Roland (2008), Simple and globally convergent methods for accelerating the convergence of any EM algorithm.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ciabench.arrays import Floats
from ciabench.latent.elementary import larger
from ciabench.latent.gaussians import LOG_FLOOR
from ciabench.latent.lanes import INNER, LANES, choose, empty_lines, load, spread, store
from ciabench.latent.mixture import EDGE, Work, em_step, make_work, seat_in_lane
from ciabench.latent.pieces import Layout, Problem
from ciabench.latent.threads import Parts, in_parts

PLAIN_STEPS = 10
"""Plain steps before the first extrapolation: they leave each start in its own basin."""

FIRST_STEPS = 64
"""Initial capacity of a path."""

MOST_STEPS = 2**62
"""Upper bound of `max_iter`, so that it can be counted in 64 bits."""

SUMS_AT_ONCE = 10**8
"""Sums of lines per call of the kernel, about a tenth of a second; Python notices Ctrl-C between the calls."""

NOBODY = -1
"""Number of the restart in an empty lane."""


class Ascents(NamedTuple):
    """Results of R restarts: parameters (R, k, width), objectives (R,) and, in `paths`, that of each evaluation.

    Only the first `n_evaluations[r]` entries of `paths[r]` are filled.
    """

    theta: Floats
    objective: Floats
    converged: NDArray[np.bool_]
    n_evaluations: NDArray[np.intp]
    paths: Floats


class Climbers(NamedTuple):
    """Eight running restarts: their numbers, parameters (k, width, 8), and the objectives (8,) of some of these.

    One plain step leads from `start` to `first`, another to `second`; a jump extrapolates them, and a plain step from
    it leads to `landed`. `length` is the length of the last jump, `limit` the most that the next one may have.
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


def empty_ascents(starts: Floats) -> Ascents:
    """Allocate the results of one restart per start."""
    n, paths = len(starts), np.empty((len(starts), FIRST_STEPS))
    return Ascents(np.empty_like(starts), np.empty(n), np.zeros(n, bool), np.zeros(n, np.intp), paths)


def empty_lanes(starts: Floats) -> Climbers:
    """Lanes without restarts, filled with the first start so that all numbers are valid."""
    theta, values = empty_lines(5, *starts.shape[1:]), empty_lines(5)
    theta[:], values[:] = starts[0][..., None], 1.0
    return Climbers(np.full(LANES, NOBODY), *theta, *values)


@njit(**INNER)
def seat(lanes: Climbers, starts: Floats, next_start: int) -> int:
    """Put the next starts into empty lanes, as jumps that are always accepted; return the number of the next start."""
    for lane in range(LANES):
        if lanes.restart[lane] == NOBODY and next_start < len(starts):
            lanes.restart[lane] = next_start
            seat_in_lane(lanes.jump, lane, starts[next_start])
            lanes.at_first[lane], lanes.limit[lane] = -np.inf, np.inf
            next_start += 1
    return next_start


@njit(**INNER)
def settle(lanes: Climbers) -> None:
    """Continue from the jump if it is no worse than the plain step, else from that, with half the length as limit."""
    plain, reached = load(lanes.at_first, 0), load(lanes.at_jump, 0)
    for line in range(lanes.start.size // LANES):
        first, second = load(lanes.first, line), load(lanes.second, line)
        store(lanes.start, line, choose(plain, reached, first, load(lanes.jump, line)))
        store(lanes.first, line, choose(plain, reached, second, load(lanes.landed, line)))
    store(lanes.at_start, 0, choose(plain, reached, plain, reached))
    length, limit = load(lanes.length, 0), load(lanes.limit, 0)
    store(lanes.limit, 0, choose(plain, reached, length / 2.0, larger(limit, 4.0 * length)))


@njit(**INNER)
def set_lengths(lanes: Climbers, ascents: Ascents, plain_steps: int) -> None:
    """Set the length of the next jump (SQUAREM, scheme S3), between 1, a plain step, and its limit."""
    moved, bent = spread(0.0), spread(0.0)
    for line in range(lanes.start.size // LANES):
        first = load(lanes.first, line)
        change = first - load(lanes.start, line)
        curvature = load(lanes.second, line) - first - change
        moved += change * change
        bent += curvature * curvature
    store(lanes.length, 0, moved / larger(bent, spread(1e-300)))
    for lane, restart in enumerate(lanes.restart):
        is_plain = restart == NOBODY or ascents.n_evaluations[restart] < plain_steps
        limit = 1.0 if is_plain else lanes.limit[lane]
        lanes.length[lane] = max(min(np.sqrt(lanes.length[lane]), limit), 1.0)


@njit(**INNER)
def extrapolate(lanes: Climbers, layout: Layout, is_full: bool) -> None:
    """Jump along the two plain steps and project back into the parameter space."""
    n_classes, width, _ = lanes.start.shape
    length, mass, n_probabilities = load(lanes.length, 0), spread(0.0), 1 + layout.offsets[-1]
    for line in range(n_classes * width):
        start, first, second = load(lanes.start, line), load(lanes.first, line), load(lanes.second, line)
        change = first - start
        value = start + 2.0 * length * change + length * length * (second - first - change)
        value = choose(length, spread(1.0), value, second)
        if line % width < n_probabilities:
            value = choose(value, spread(1 - EDGE), spread(1 - EDGE), larger(value, spread(EDGE)))
        store(lanes.jump, line, value)
        if line % width == 0:
            mass += value
    for z in range(n_classes):
        store(lanes.jump, z * width, load(lanes.jump, z * width) / mass)
        normalize(lanes.jump, z * width + 1, layout)
        floor_scales(lanes.jump, z * width + n_probabilities, width - n_probabilities, is_full)


@njit(**INNER)
def normalize(theta: Floats, place: int, layout: Layout) -> None:
    """Divide the probabilities of every attribute with more than two levels by their sum, the first one's included."""
    for i in range(layout.offsets.size - 1):
        first, last = place + layout.offsets[i], place + layout.offsets[i + 1]
        if last > first + 1:
            total = spread(0.0)
            for line in range(first, last):
                total += load(theta, line)
            total += larger(1.0 - total, spread(EDGE))
            for line in range(first, last):
                store(theta, line, load(theta, line) / total)


@njit(**INNER)
def floor_scales(theta: Floats, place: int, size: int, is_full: bool) -> None:
    """Keep the logarithms of standard deviations, or of the diagonal of a factor, above the floor."""
    line, step = place + 1, 2
    if is_full:  # m + m (m + 1) / 2 values: the means, then rows of 1, 2, … elements that end on the diagonal
        line, step = place + int((np.sqrt(9.0 + 8.0 * size) - 3.0) / 2.0 + 0.5), 2
    while line < place + size:
        store(theta, line, larger(load(theta, line), spread(LOG_FLOOR)))
        line += step
        step += is_full


@njit(**INNER)
def note(lanes: Climbers, objective: Floats, ascents: Ascents) -> None:
    """Count an evaluation of every restart and append the objective to its path."""
    for lane, restart in enumerate(lanes.restart):
        if restart != NOBODY:
            ascents.paths[restart, ascents.n_evaluations[restart]] = objective[lane]
            ascents.n_evaluations[restart] += 1


@njit(**INNER)
def leave(lanes: Climbers, theta: Floats, objective: Floats, ascents: Ascents, tol: float, max_iter: int) -> None:
    """Save the restarts that gained less than `tol` or have no evaluations left, and empty their lanes."""
    for lane, restart in enumerate(lanes.restart):
        is_top = objective[lane] - lanes.at_start[lane] < tol
        if restart != NOBODY and (is_top or ascents.n_evaluations[restart] >= max_iter):
            for z in range(theta.shape[0]):
                for column in range(theta.shape[1]):
                    ascents.theta[restart, z, column] = theta[z, column, lane]
            ascents.objective[restart] = objective[lane]
            ascents.converged[restart] = is_top
            lanes.restart[lane] = NOBODY


@njit(cache=True, nogil=True, error_model="numpy")
def climb(
    problem: Problem, starts: Floats, next_start: int, lanes: Climbers, work: Work, ascents: Ascents,
    tol: float, max_iter: int, plain_steps: int, cycles: int,
) -> int:  # fmt: skip
    """Run the restarts for some cycles, as long as the paths have room; return the number of the next start."""
    for _ in range(cycles):
        next_start = seat(lanes, starts, next_start)
        if lanes.restart.max() == NOBODY or ascents.n_evaluations.max() + 2 > ascents.paths.shape[1]:
            break
        store(lanes.at_jump, 0, em_step(problem, lanes.jump, work, lanes.landed, lanes.restart))
        after_jump(lanes, ascents, max_iter)
        store(lanes.at_first, 0, em_step(problem, lanes.first, work, lanes.second, lanes.restart))
        after_first(problem, lanes, ascents, tol, max_iter, plain_steps)
    return next_start


@njit(**INNER)
def after_jump(lanes: Climbers, ascents: Ascents, max_iter: int) -> None:
    """Continue from the better of the jump and the plain step before it."""
    settle(lanes)
    note(lanes, lanes.at_start, ascents)
    leave(lanes, lanes.start, lanes.at_start, ascents, -np.inf, max_iter)


@njit(**INNER)
def after_first(
    problem: Problem, lanes: Climbers, ascents: Ascents, tol: float, max_iter: int, plain_steps: int
) -> None:
    """Jump along the two plain steps, or leave."""
    note(lanes, lanes.at_first, ascents)
    set_lengths(lanes, ascents, plain_steps)
    extrapolate(lanes, problem.layout, problem.numbers.is_full)
    leave(lanes, lanes.first, lanes.at_first, ascents, tol, max_iter)


def climb_in_parts(
    parts: Parts, problem: Problem, starts: Floats, next_start: int, lanes: Climbers, ascents: Ascents,
    tol: float, max_iter: int, plain_steps: int,
) -> int:  # fmt: skip
    """One cycle of `climb`, whose E steps threads share."""
    next_start = fill_lanes(lanes, starts, next_start)
    for theta, updated, objective, is_jump in (
        (lanes.jump, lanes.landed, lanes.at_jump, True),
        (lanes.first, lanes.second, lanes.at_first, False),
    ):
        parts.em_step(theta, updated, objective, lanes.restart)
        take_turn(problem, lanes, ascents, tol, max_iter, plain_steps, is_jump)
    return next_start


@njit(cache=True, nogil=True, error_model="numpy")
def fill_lanes(lanes: Climbers, starts: Floats, next_start: int) -> int:
    """`seat`, for Python."""
    return int(seat(lanes, starts, next_start))


@njit(cache=True, nogil=True, error_model="numpy")
def take_turn(
    problem: Problem, lanes: Climbers, ascents: Ascents, tol: float, max_iter: int, plain_steps: int, is_jump: bool
) -> None:
    """`after_jump` or `after_first`, for Python."""
    if is_jump:
        after_jump(lanes, ascents, max_iter)
    else:
        after_first(problem, lanes, ascents, tol, max_iter, plain_steps)


def maximize(
    problem: Problem,
    starts: Floats,
    *,
    tol: float,
    max_iter: int,
    accelerate: bool = True,
    n_jobs: int | None = None,
) -> Ascents:
    """Run EM from all starts (R, k, width) until a plain step gains less than `tol`, or for `max_iter` evaluations.

    A jump is accepted only if its likelihood is at least that of the plain step before it; otherwise the next cycle
    continues from the plain iterates, at no extra evaluation, and jumps at most half as far. So the likelihood never
    falls. With `n_jobs` threads, sums over many rows are those of `threads`.
    """
    ascents, lanes, work = empty_ascents(starts), empty_lanes(starts), make_work(problem, starts.shape[1])
    next_start, most = 0, min(int(max_iter), MOST_STEPS)
    plain_steps = PLAIN_STEPS if accelerate else most + 1
    sums = problem.rows.members.size + problem.counts.size * problem.numbers.totals.shape[1]
    cycles = 1 + SUMS_AT_ONCE // (sums * starts.shape[1] + 1)
    limits = float(tol), most, plain_steps
    with in_parts(problem, starts.shape[1], work, n_jobs) as parts:
        while next_start < len(starts) or lanes.restart.max() != NOBODY:
            if parts is None:
                next_start = climb(problem, starts, next_start, lanes, work, ascents, *limits, cycles)
            else:
                next_start = climb_in_parts(parts, problem, starts, next_start, lanes, ascents, *limits)
            if ascents.n_evaluations.max() + 2 > ascents.paths.shape[1]:
                ascents = ascents._replace(paths=np.concatenate([ascents.paths, np.empty_like(ascents.paths)], axis=1))
    return ascents
