"""Maximum likelihood for mixtures of product-Bernoullis: EM from many starts at once, accelerated by SQUAREM.

Parameters of R restarts with k classes over a attributes are one array `theta` (R, k, 1 + a): the weight of a class,
then its probabilities. Data are one design matrix whose last column is 1:

    complete    [ x | 1 ]                  (s, a + 1)
    missing     [ x = 1 | observed | 1 ]   (s, 2a + 1)

so that log P(x, z) = design · A_z with A_z linear in log p, log(1 − p) and log weight. Only log-odds against class 0
are ever formed (k − 1 columns a restart): log P(x) = design · A_0 + log(1 + Σ_z exp ℓ_z), whose first term sums to
(column totals) · A_0. Two matrix products an evaluation serve all restarts; what lies between them is one fused pass.

References
----------
Dempster, Laird & Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm.
Varadhan & Roland (2008), Simple and globally convergent methods for accelerating the convergence of any EM algorithm.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

Floats = NDArray[np.float64]

EDGE = 1e-15
"""Probabilities are kept this far from 0 and 1, weights from 0."""

PLAIN_STEPS = 10
"""Plain steps before the first extrapolation: they leave each start in its own basin."""

START_SPREAD = 1.0
"""Standard deviation of the starts around the attribute means, in logits."""

LOG_BLOCK = 128
"""Rows whose factors 1 + Σ exp ℓ are multiplied before one logarithm is taken."""


class Problem(NamedTuple):
    """Distinct rows of the design matrix, how often each occurs, and the pseudo-count of the prior."""

    design: Any
    transposed: Any
    counts: Floats
    totals: Floats
    n_attributes: int
    smoothing: float


class Fit(NamedTuple):
    """What became of every restart."""

    theta: Floats
    objective: Floats
    converged: NDArray[np.bool_]
    n_evaluations: NDArray[np.intp]
    paths: list[list[float]]


def make_problem(rows: Any, counts: Floats, smoothing: float = 0.0) -> Problem:
    """Build the design matrix of 0/1 (or NaN) rows (s, a), dense or sparse, that occur `counts` (s,) times."""
    n_attributes = rows.shape[1]
    design: Any
    if not isinstance(rows, np.ndarray):
        design = sparse.hstack([rows, np.ones((rows.shape[0], 1))], format="csr", dtype=np.float64)
    elif rows.dtype.kind == "f":
        design = np.column_stack([rows == 1, ~np.isnan(rows), np.ones(len(rows))])
    else:
        rows, counts = distinct(rows, counts)
        design = np.column_stack([rows, np.ones(len(rows))])
    transposed = design.T
    return Problem(design, transposed, counts, transposed @ counts, n_attributes, smoothing)


def distinct(rows: NDArray[np.uint8], counts: Floats) -> tuple[NDArray[np.uint8], Floats]:
    """Merge equal rows where there are so few attributes that many must be equal."""
    n_samples, n_attributes = rows.shape
    if 2**n_attributes > 4 * n_samples:
        return rows, counts
    codes = rows @ (1 << np.arange(n_attributes))
    merged = np.bincount(codes, weights=counts, minlength=2**n_attributes).astype(np.float64)
    present = np.flatnonzero(merged)
    return (present[:, None] >> np.arange(n_attributes) & 1).astype(np.uint8), merged[present]


@njit(cache=True, error_model="numpy")
def score_columns(theta: Floats, n_columns: int, smoothing: float) -> tuple[Floats, Floats, Floats]:
    """A_z − A_0 for all restarts and classes (columns, (k − 1) R), A_0 (R, columns), and the log prior (R,)."""
    n_restarts, n_classes, width = theta.shape
    n_attributes = width - 1
    complete = n_columns == n_attributes + 1
    odds = np.zeros((n_columns, n_restarts * (n_classes - 1)))
    base = np.zeros((n_restarts, n_columns))
    prior = np.zeros(n_restarts)
    for restart in range(n_restarts):
        for z in range(n_classes):
            column = (z - 1) * n_restarts + restart
            log_weight = np.log(theta[restart, z, 0])
            prior[restart] += smoothing * log_weight
            constant = log_weight
            for i in range(n_attributes):
                p = theta[restart, z, 1 + i]
                absent = np.log(1 - p)
                present = np.log(p)
                prior[restart] += smoothing * (present + absent)
                if complete:
                    constant += absent
                if z == 0:
                    base[restart, i] = present - absent
                    if not complete:
                        base[restart, n_attributes + i] = absent
                else:
                    odds[i, column] = present - absent - base[restart, i]
                    if not complete:
                        odds[n_attributes + i, column] = absent - base[restart, n_attributes + i]
            if z == 0:
                base[restart, n_columns - 1] = constant
            else:
                odds[n_columns - 1, column] = constant - base[restart, n_columns - 1]
    return odds, base, prior


@njit(cache=True, error_model="numpy", fastmath={"contract", "nnan", "nsz"})
def exp_negative(values: Floats, scratch: Floats) -> None:
    """Take exp of values <= 0 in place: loops that vectorise, four times as fast as calls of exp.

    With n = round(x / log 2), exp x = 2**n exp(x − n log 2). Adding 1.5 · 2**52 leaves n in the low bits of a double.
    """
    bits = scratch.view(np.int64)
    for j in range(values.size):
        values[j] = max(values[j], -708.0)
        scratch[j] = values[j] * 1.4426950408889634 + 6755399441055744.0
    for j in range(values.size):
        n = scratch[j] - 6755399441055744.0
        r = values[j] - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10
        p = 1.0 / 6227020800 * r + 1.0 / 479001600
        p = p * r + 1.0 / 39916800
        p = p * r + 1.0 / 3628800
        p = p * r + 1.0 / 362880
        p = p * r + 1.0 / 40320
        p = p * r + 1.0 / 5040
        p = p * r + 1.0 / 720
        p = p * r + 1.0 / 120
        p = p * r + 1.0 / 24
        p = p * r + 1.0 / 6
        p = p * r + 0.5
        values[j] = (p * r + 1.0) * r + 1.0
    for j in range(values.size):
        bits[j] = (bits[j] + 1023) << 52
    for j in range(values.size):
        values[j] *= scratch[j]


@njit(cache=True, error_model="numpy", fastmath={"contract", "nnan", "nsz"})
def responsibilities_of_two(scores: Floats, counts: Floats) -> Floats:
    """As `responsibilities` for two classes, to the same bits: of the two exponentials one is always 1."""
    n_rows, n_restarts = scores.shape
    totals, factors = np.zeros(n_restarts), np.ones(n_restarts)
    powers, scratch = np.empty(n_restarts), np.empty(n_restarts)
    for row in range(n_rows):
        count = counts[row]
        for r in range(n_restarts):
            powers[r] = -abs(scores[row, r])
            totals[r] += count * max(scores[row, r], 0.0)
        exp_negative(powers, scratch)
        for r in range(n_restarts):
            scores[row, r] = count * (1.0 if scores[row, r] > 0 else powers[r]) / (1.0 + powers[r])
        if count == 1.0:
            for r in range(n_restarts):
                factors[r] *= 1.0 + powers[r]
        else:
            for r in range(n_restarts):
                totals[r] += count * np.log(1.0 + powers[r])
        if row % LOG_BLOCK == LOG_BLOCK - 1:
            totals += np.log(factors)
            factors[:] = 1.0
    return totals + np.log(factors)


@njit(cache=True, error_model="numpy", fastmath={"contract", "nnan", "nsz"})
def responsibilities(scores: Floats, counts: Floats) -> Floats:
    """Turn log-odds (s, k − 1, R) in place into counts · P(z | x); return Σ counts · log(1 + Σ exp ℓ) (R,)."""
    n_rows, others, n_restarts = scores.shape
    totals, factors = np.zeros(n_restarts), np.ones(n_restarts)
    peaks, sums = np.empty(n_restarts), np.empty(n_restarts)
    powers, scratch = np.empty((others + 1, n_restarts)), np.empty((others + 1) * n_restarts)
    for row in range(n_rows):
        count = counts[row]
        peaks[:] = 0.0
        for z in range(others):
            for r in range(n_restarts):
                peaks[r] = max(peaks[r], scores[row, z, r])
        for r in range(n_restarts):
            powers[others, r] = -peaks[r]
            totals[r] += count * peaks[r]
        for z in range(others):
            for r in range(n_restarts):
                powers[z, r] = scores[row, z, r] - peaks[r]
        exp_negative(powers.ravel(), scratch)
        for r in range(n_restarts):
            sums[r] = powers[others, r]
        for z in range(others):
            for r in range(n_restarts):
                sums[r] += powers[z, r]
        for z in range(others):
            for r in range(n_restarts):
                scores[row, z, r] = count * powers[z, r] / sums[r]
        if count == 1.0:
            for r in range(n_restarts):
                factors[r] *= sums[r]
        else:
            for r in range(n_restarts):
                totals[r] += count * np.log(sums[r])
        if row % LOG_BLOCK == LOG_BLOCK - 1:
            totals += np.log(factors)
            factors[:] = 1.0
    return totals + np.log(factors)


@njit(cache=True, error_model="numpy")
def reestimate(theta: Floats, expected: Floats, totals: Floats, smoothing: float) -> Floats:
    """M step from expected column totals (columns, (k − 1) R) of the classes above 0."""
    n_restarts, n_classes, width = theta.shape
    n_columns = totals.size
    n_attributes = width - 1
    first_observed = n_columns - 1 if n_columns == n_attributes + 1 else n_attributes
    stride = 0 if n_columns == n_attributes + 1 else 1
    updated = np.empty_like(theta)
    class_totals = np.empty(n_columns)
    for restart in range(n_restarts):
        rest = totals.copy()
        for step in range(n_classes):
            z = n_classes - 1 - step
            for c in range(n_columns):
                class_totals[c] = rest[c] if z == 0 else expected[c, (z - 1) * n_restarts + restart]
                rest[c] -= class_totals[c]
            mass = max(class_totals[n_columns - 1], 0.0)
            updated[restart, z, 0] = max((mass + smoothing) / (totals[n_columns - 1] + n_classes * smoothing), EDGE)
            for i in range(n_attributes):
                observed = class_totals[first_observed + stride * i] + 2 * smoothing
                p = (class_totals[i] + smoothing) / observed if observed > 1e-100 else theta[restart, z, 1 + i]
                updated[restart, z, 1 + i] = min(max(p, EDGE), 1 - EDGE)
    return updated


def em_step(problem: Problem, theta: Floats) -> tuple[Floats, Floats]:
    """One E and M step: the next parameters, and the (penalised) log-likelihood of the given ones (R,)."""
    design, transposed, counts, totals, _, smoothing = problem
    odds, base, prior = score_columns(theta, totals.size, smoothing)
    scores = np.ascontiguousarray(design @ odds)
    if theta.shape[1] == 2:
        mixed = responsibilities_of_two(scores, counts)
    else:
        mixed = responsibilities(scores.reshape(len(scores), -1, len(theta)), counts)
    expected = np.ascontiguousarray(transposed @ scores)
    return reestimate(theta, expected, totals, smoothing), base @ totals + mixed + prior


def extrapolate(start: Floats, first: Floats, second: Floats) -> Floats:
    """SQUAREM step (scheme S3) from three successive iterates, back inside the parameter space."""
    change = first - start
    curvature = second - first - change
    axes = (1, 2)
    speed = np.sqrt(np.square(change).sum(axis=axes) / np.maximum(np.square(curvature).sum(axis=axes), 1e-300))
    length = np.maximum(speed, 1.0)[:, None, None]
    jump: Floats = start + 2 * length * change + length**2 * curvature
    np.clip(jump, EDGE, 1 - EDGE, out=jump)
    jump[:, :, 0] /= jump[:, :, :1].sum(axis=1)
    return jump


def maximize(problem: Problem, theta: Floats, *, tol: float, max_iter: int, accelerate: bool = True) -> Fit:
    """Run EM from all starts until a plain step gains less than `tol`; converged restarts leave the batch.

    A jump is kept only if its likelihood is at least that of the plain step before it; otherwise the next cycle goes
    on from the plain iterates, at no extra evaluation. So the likelihood never falls.
    """
    n_restarts = len(theta)
    fit = Fit(
        theta.copy(),
        np.full(n_restarts, -np.inf),
        np.zeros(n_restarts, dtype=bool),
        np.zeros(n_restarts, dtype=np.intp),
        [[] for _ in range(n_restarts)],
    )
    active, start = np.arange(n_restarts), theta
    first, before = em_step(problem, start)
    n_evaluations = 1
    while active.size and n_evaluations < max_iter:
        second, objective = em_step(problem, first)
        n_evaluations += 1
        done = objective - before < tol
        _record(fit, active, first, objective, done, n_evaluations)
        if done.any():
            active, objective = active[~done], objective[~done]
            start, first, second = start[~done], first[~done], second[~done]
        if not accelerate or n_evaluations < PLAIN_STEPS or not active.size:
            start, first, before = first, second, objective
            continue
        jump = extrapolate(start, first, second)
        landed, reached = em_step(problem, jump)
        n_evaluations += 1
        better = reached >= objective
        keep = better[:, None, None]
        start, first = np.where(keep, jump, first), np.where(keep, landed, second)
        before = np.where(better, reached, objective)
    return fit


def _record(
    fit: Fit, active: NDArray[np.intp], theta: Floats, objective: Floats, done: NDArray[np.bool_], n_evaluations: int
) -> None:
    """Note where the active restarts are."""
    fit.theta[active] = theta
    fit.objective[active] = objective
    fit.converged[active] = done
    fit.n_evaluations[active] = n_evaluations
    for restart, value in zip(active, objective, strict=True):
        fit.paths[restart].append(float(value))


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
    return em_step(problem._replace(smoothing=0.0), fit.theta)[1]
