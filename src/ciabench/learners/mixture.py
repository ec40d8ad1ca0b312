"""Mixtures of product-Bernoullis with many sets of parameters at once: likelihoods, and the E and M step.

Parameters of R restarts with k classes over a attributes are one array `theta` (R, k, 1 + a): the weight of a class,
then its probabilities. Data are one design matrix whose last column is 1:

    complete    [ x | 1 ]                  (s, a + 1)
    missing     [ x = 1 | observed | 1 ]   (s, 2a + 1)

so that log P(x, z) = design · A_z with A_z linear in log p, log(1 − p) and log weight. Only log-odds against class 0
are ever formed (k − 1 lines a restart): log P(x) = design · A_0 + log(1 + Σ_z exp ℓ_z), whose first term sums to
(column totals) · A_0. Two matrix products an evaluation serve all restarts; what lies between them is one fused pass.

References
----------
Dempster, Laird & Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import sparse

from ciabench.learners.data import Floats
from ciabench.learners.elementary import exp_negative, log_positive

EDGE = 1e-15
"""Probabilities are kept this far from 0 and 1, weights from 0."""

BLOCK = 128
"""Rows worked on at a time: they stay in the fastest cache, and the product of their factors 1 + Σ exp ℓ is finite."""


class Problem(NamedTuple):
    """Distinct rows of the design matrix, how often each occurs, and the pseudo-count of the prior.

    `weighted` is the design matrix with its rows multiplied by their counts.
    """

    design: Any
    weighted: Any
    counts: Floats
    totals: Floats
    n_attributes: int
    smoothing: float


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
    weighted = design
    if (counts != 1).any():
        weighted = design.multiply(counts[:, None]).tocsr() if sparse.issparse(design) else design * counts[:, None]
    return Problem(design, weighted, counts, design.T @ counts, n_attributes, smoothing)


def distinct(rows: NDArray[np.uint8], counts: Floats) -> tuple[NDArray[np.uint8], Floats]:
    """Merge equal rows where there are so few attributes that many must be equal; equal counts come together."""
    n_samples, n_attributes = rows.shape
    if 2**n_attributes > 4 * n_samples:
        return rows, counts
    codes = rows @ (1 << np.arange(n_attributes))
    merged = np.bincount(codes, weights=counts, minlength=2**n_attributes).astype(np.float64)
    present = np.flatnonzero(merged)
    present = present[np.argsort(merged[present], kind="stable")]
    return (present[:, None] >> np.arange(n_attributes) & 1).astype(np.uint8), merged[present]


@njit(cache=True, error_model="numpy")
def score_rows(theta: Floats, n_columns: int, smoothing: float) -> tuple[Floats, Floats, Floats]:
    """A_z − A_0 for all classes and restarts ((k − 1) R, columns), A_0 (R, columns), and the log prior (R,)."""
    n_restarts, n_classes, width = theta.shape
    n_attributes = width - 1
    complete = n_columns == n_attributes + 1
    odds = np.zeros(((n_classes - 1) * n_restarts, n_columns))
    base = np.zeros((n_restarts, n_columns))
    prior = np.zeros(n_restarts)
    logs = np.stack((theta, 1 - theta))
    logs[1, :, :, 0] = 1.0
    log_positive(logs.reshape(-1), np.empty(logs.size))
    for restart in range(n_restarts):
        for z in range(n_classes):
            present, absent = logs[0, restart, z], logs[1, restart, z]
            line = base[restart] if z == 0 else odds[(z - 1) * n_restarts + restart]
            line[n_columns - 1] = present[0]
            if complete:
                line[n_columns - 1] += absent.sum()
            else:
                line[n_attributes:-1] = absent[1:]
            for i in range(n_attributes):
                line[i] = present[1 + i] - absent[1 + i]
            if smoothing > 0:
                prior[restart] += smoothing * (present.sum() + absent.sum())
            if z > 0:
                line -= base[restart]
    return odds, base, prior


@njit(cache=True, error_model="numpy", fastmath={"contract", "nnan", "nsz", "reassoc"})
def weighted_logs(values: Floats, counts: Floats, scratch: Floats) -> float:
    """Σ counts · log values, with a single logarithm of the product where all counts are equal."""
    product, total, equal = 1.0, 0.0, True
    for j in range(values.size):
        equal &= counts[j] == counts[0]
        product *= values[j]
    if equal:
        return float(counts[0] * np.log(product))
    log_positive(values, scratch)
    for j in range(values.size):
        total += counts[j] * values[j]
    return total


@njit(cache=True, error_model="numpy", fastmath={"contract", "nnan", "nsz", "reassoc"})
def responsibilities_of_two(scores: Floats, counts: Floats) -> Floats:
    """As `responsibilities` for two classes: of the two exponentials one is always 1."""
    n_restarts, n_rows = scores.shape
    totals = np.zeros(n_restarts)
    powers, scratch = np.empty(BLOCK), np.empty(BLOCK)
    for r in range(n_restarts):
        for start in range(0, n_rows, BLOCK):
            line, weights = scores[r, start : start + BLOCK], counts[start : start + BLOCK]
            sums, peaks = powers[: line.size], 0.0
            for j in range(line.size):
                sums[j] = -abs(line[j])
                peaks += weights[j] * max(line[j], 0.0)
            exp_negative(sums, scratch)
            for j in range(line.size):
                power = sums[j]
                sums[j] = 1.0 + power
                line[j] = (1.0 if line[j] > 0 else power) / sums[j]
            totals[r] += peaks + weighted_logs(sums, weights, scratch)
    return totals


@njit(cache=True, error_model="numpy", fastmath={"contract", "nnan", "nsz", "reassoc"})
def responsibilities(scores: Floats, counts: Floats) -> Floats:
    """Turn log-odds (k − 1, R, s) in place into P(z | x); return Σ counts · log(1 + Σ exp ℓ) (R,)."""
    others, n_restarts, n_rows = scores.shape
    totals = np.zeros(n_restarts)
    powers, peaks, scratch = np.empty((others + 1, BLOCK)), np.empty(BLOCK), np.empty(BLOCK)
    for r in range(n_restarts):
        for start in range(0, n_rows, BLOCK):
            lines, weights = scores[:, r, start : start + BLOCK], counts[start : start + BLOCK]
            width = weights.size
            peaks[:] = 0.0
            for z in range(others):
                for j in range(width):
                    peaks[j] = max(peaks[j], lines[z, j])
            sums = powers[others, :width]
            for j in range(width):
                totals[r] += weights[j] * peaks[j]
                sums[j] = -peaks[j]
            exp_negative(sums, scratch)
            for z in range(others):
                power = powers[z, :width]
                for j in range(width):
                    power[j] = lines[z, j] - peaks[j]
                exp_negative(power, scratch)
                for j in range(width):
                    sums[j] += power[j]
            for z in range(others):
                for j in range(width):
                    lines[z, j] = powers[z, j] / sums[j]
            totals[r] += weighted_logs(sums, weights, scratch)
    return totals


@njit(cache=True, error_model="numpy")
def reestimate(theta: Floats, expected: Floats, totals: Floats, smoothing: float) -> Floats:
    """M step from expected column totals ((k − 1) R, columns) of the classes above 0."""
    n_restarts, n_classes, width = theta.shape
    n_columns = totals.size
    n_attributes = width - 1
    complete = n_columns == n_attributes + 1
    n_samples = totals[n_columns - 1] + n_classes * smoothing
    updated = np.empty_like(theta)
    for restart in range(n_restarts):
        rest = totals.copy()
        for step in range(n_classes):
            z = n_classes - 1 - step
            line = rest if z == 0 else expected[(z - 1) * n_restarts + restart]
            mass = max(line[n_columns - 1], 0.0)
            updated[restart, z, 0] = max((mass + smoothing) / n_samples, EDGE)
            for i in range(n_attributes):
                observed = (line[n_columns - 1] if complete else line[n_attributes + i]) + 2 * smoothing
                p = (line[i] + smoothing) / observed if observed > 1e-100 else theta[restart, z, 1 + i]
                updated[restart, z, 1 + i] = min(max(p, EDGE), 1 - EDGE)
            if z > 0:
                rest -= line
    return updated


def e_step(problem: Problem, theta: Floats) -> tuple[Floats, Floats]:
    """P(z | x) of the classes above 0 ((k − 1) R, s), and the (penalised) log-likelihood (R,)."""
    odds, base, prior = score_rows(theta, problem.totals.size, problem.smoothing)
    scores = np.ascontiguousarray(odds @ problem.design.T)
    if theta.shape[1] == 2:
        mixed = responsibilities_of_two(scores, problem.counts)
    else:
        mixed = responsibilities(scores.reshape(-1, len(theta), problem.counts.size), problem.counts)
    return scores, base @ problem.totals + mixed + prior


def em_step(problem: Problem, theta: Floats) -> tuple[Floats, Floats]:
    """One E and M step: the next parameters, and the (penalised) log-likelihood of the given ones (R,)."""
    chances, objective = e_step(problem, theta)
    expected = np.ascontiguousarray(chances @ problem.weighted)
    return reestimate(theta, expected, problem.totals, problem.smoothing), objective
