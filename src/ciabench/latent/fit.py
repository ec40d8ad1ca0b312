"""Fit a mixture by maximum likelihood: rows in, the best of many restarts out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ciabench.arrays import Coded, Floats
from ciabench.kernels import prepare_kernels
from ciabench.latent.gaussians import LOG_FLOOR
from ciabench.latent.mixture import log_likelihoods
from ciabench.latent.numbers import sort_by_pattern
from ciabench.latent.pieces import as_coded, make_problem
from ciabench.latent.restarts import maximize
from ciabench.latent.starts import Random, Start, make_starts, unpacked
from ciabench.probability.product import Parameters

REPRODUCED, STEPS_LEFT = 1e-4, 100
"""Restarts whose objective is this close to the best one, or as many times `tol`, count as having reached it."""

ORDINARY, USUAL_EXPONENT, MOST_EXPONENT = (1e-6, 1e7), 20, 1000
"""Sums of counts that are taken as they are; others are brought to about 2**20, by at most 2**1000."""

FURTHEST = 1e100
"""Largest distance from the mean of a column, in standard deviations; numbers further away are taken as this far."""

LEAST = 5e-324
"""The smallest positive number."""


class Scale(NamedTuple):
    """Means and standard deviations (m,) by which numeric columns are standardised."""

    centres: Floats
    spreads: Floats

    def applied(self, numbers: Floats) -> Floats:
        """Numbers (s, m) on this scale."""
        with np.errstate(over="ignore"):
            return np.clip((numbers - self.centres) / self.spreads, -FURTHEST, FURTHEST)


@dataclass(frozen=True, eq=False)
class Mixture:
    """A fitted mixture: the best of several restarts, and what became of the others.

    Attributes
    ----------
    theta : array (k, width)
        Parameters in the order of `mixture`, with numbers standardised.
    n_levels : array (c,)
        Numbers of levels of the discrete attributes.
    scale : Scale
        Scale of the numeric columns.
    is_full : bool
        Whether numeric columns have a full covariance.
    is_on_floor : bool
        Whether a variance of the best restart is at its floor; if others are not, these are preferred.
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
        Objective (the log-likelihood plus the log prior) of each restart after each E step; where a jump was rejected,
        that of the step before it is repeated.
    n_samples : float
        Sum of the counts.
    """

    theta: Floats
    n_levels: NDArray[np.int64]
    scale: Scale
    is_full: bool
    is_on_floor: bool
    log_likelihood: float
    log_likelihoods: Floats
    n_best_reproduced: int
    converged: bool
    n_iter: int
    paths: list[Floats]
    n_samples: float

    @property
    def weights(self) -> Floats:
        """P(z), (k,)."""
        return self.theta[:, 0]

    @property
    def probs(self) -> Floats:
        """P(attribute i = 1 | z), (a, k), if all attributes are bits."""
        return self.theta[:, 1:].T

    @cached_property
    def parameters(self) -> Parameters:
        """All parameters, on the scale of the data."""
        found = unpacked(self.theta, self.n_levels, self.scale.spreads.size, self.is_full)
        spreads = self.scale.spreads
        factors = np.outer(spreads, spreads) if self.is_full else spreads**2
        means = found.means * spreads[:, None] + self.scale.centres[:, None]
        return found._replace(means=means, covariances=found.covariances * factors)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters."""
        return self.theta.size - 1

    @property
    def aic(self) -> float:
        """Akaike's information criterion; lower is better."""
        return 2 * self.n_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> float:
        """Bayesian information criterion; lower is better."""
        return float(np.log(self.n_samples)) * self.n_parameters - 2 * self.log_likelihood


def fit_mixture(
    rows: Any,
    counts: ArrayLike,
    n_classes: int,
    *,
    random: Random,
    n_init: int = 20,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    accelerate: bool = True,
    smoothing: float = 0.0,
    target: int | None = None,
    init: Sequence[Start] = (),
    full: bool = False,
    n_jobs: int | None = None,
) -> Mixture:
    """Fit a mixture by EM from many starts, most of them random (`starts`).

    Parameters are not checked: this is the estimators' job.

    Parameters
    ----------
    rows : Coded, array (s, a) or sparse matrix (s, a)
        A table; or bits: complete rows as integers 0 and 1, rows with missing cells as floats 0, 1 and NaN, or a sparse
        matrix whose stored entries are all 1, which stays sparse.
    counts : array-like (s,)
        How often each row occurs: numbers of at least 0, not all 0, which need not be integers.
    n_classes : int
        Number k of hidden classes.
    random : RandomState or Generator
        Source of the random starts.
    n_init : int
        Number of starts, those by the target and of one's own included.
    tol : float
        A restart has converged when a plain EM step gains less than this; every second step is examined.
    max_iter : int
        Maximum number of E steps per restart.
    accelerate : bool
        Extrapolate by SQUAREM, with a guard under which the objective never falls.
    smoothing : float
        Pseudo-count added to every expected count (a Beta and Dirichlet prior); 0 is maximum likelihood.
    target : int, optional
        Complete discrete column by whose levels one of the starts is made.
    init : sequence of Parameters or (weights, probs)
        Starts of one's own; for bits, weights (k,) and probs (a, k) suffice.
    full : bool
        Whether numeric columns have a full covariance in every class, or are independent.
    n_jobs : int, optional
        Threads that share the rows of a large table (−1: all cores).

    Returns
    -------
    Mixture
        The restart with the largest objective, the log-likelihood plus the log prior.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 0, 1]], dtype=np.uint8)
    >>> mixture = fit_mixture(rows, [40, 10, 40, 10], 2, random=np.random.RandomState(0))
    >>> mixture.weights.round(3)
    array([0.5, 0.5])
    >>> round(mixture.log_likelihood, 3), mixture.n_parameters, round(mixture.bic, 3)
    (-119.355, 7, 270.946)
    """
    prepare_kernels()
    n_samples, (counts, unit) = float(np.sum(counts)), balanced(np.asarray(counts, dtype=np.float64), smoothing)
    table, counts, scale, offset = standardized(as_coded(rows), counts, full=full)
    problem = make_problem(table, counts, float(smoothing) * unit, full=full)
    own = [rescaled(start, scale) for start in init]
    starts = make_starts(table, counts, n_classes, n_init, random, target=target, own=own, full=full)
    least = max(tol * unit, LEAST)
    ascents = maximize(problem, starts, tol=least, max_iter=max_iter, accelerate=accelerate, n_jobs=n_jobs)
    on_floor = are_on_floor(ascents.theta, table.n_levels, scale.spreads.size, full)
    ranked = np.where(on_floor, -np.inf, ascents.objective) if not on_floor.all() else ascents.objective
    best = int(np.argmax(ranked))
    unpenalised, margin = ascents.objective, max(REPRODUCED, STEPS_LEFT * tol) * unit
    if smoothing > 0:
        unpenalised = log_likelihoods(problem._replace(smoothing=0.0), ascents.theta)
    paths = [path[:n].copy() for path, n in zip(ascents.paths, ascents.n_evaluations, strict=True)]
    if offset or unit != 1:
        unpenalised, paths = (unpenalised + offset) / unit, [(path + offset) / unit for path in paths]
    return Mixture(
        theta=ascents.theta[best],
        n_levels=table.n_levels,
        scale=scale,
        is_full=full,
        is_on_floor=bool(on_floor[best]),
        log_likelihood=float(unpenalised[best]),
        log_likelihoods=unpenalised,
        n_best_reproduced=int((ranked > ranked[best] - margin).sum()),
        converged=bool(ascents.converged[best]),
        n_iter=int(ascents.n_evaluations[best]),
        paths=paths,
        n_samples=n_samples,
    )


def balanced(counts: Floats, smoothing: float) -> tuple[Floats, float]:
    """Counts times a power of two with which sums neither overflow nor vanish, and this factor, 1 for ordinary counts.

    Examples
    --------
    >>> balanced(np.array([3.0, 1.0]), 0.0)
    (array([3., 1.]), 1.0)
    >>> fewer, unit = balanced(np.array([3e300, 1e300]), 0.0)
    >>> fewer.round(), (fewer / unit).tolist()
    (array([587159., 195720.]), [3e+300, 1e+300])
    """
    total, (least, most) = max(float(counts.sum()), smoothing), ORDINARY
    if least <= total <= most:
        return counts, 1.0
    unit = float(np.ldexp(1.0, min(USUAL_EXPONENT - int(np.frexp(total)[1]), MOST_EXPONENT)))
    return counts * unit, unit


def standardized(table: Coded, counts: Floats, *, full: bool) -> tuple[Coded, Floats, Scale, float]:
    """The table with numbers of mean 0 and variance 1, and what is to be added to its log-likelihood.

    For a full covariance the rows, and their counts, are sorted by which of their numbers are observed.
    """
    n_numbers = table.numbers.shape[1]
    if not n_numbers:
        return table, counts, Scale(np.empty(0), np.empty(0)), 0.0
    if full and np.isnan(table.numbers).any():
        order = sort_by_pattern(table.numbers)
        table, counts = table.rows(order), counts[order]
    observed = ~np.isnan(table.numbers)
    masses = np.maximum(counts @ observed, LEAST)
    centres = counts @ np.nan_to_num(table.numbers) / masses
    centred = table.numbers - centres
    spreads = np.sqrt(counts @ np.nan_to_num(centred) ** 2 / masses)
    spreads[spreads == 0] = 1.0
    scale = Scale(centres, spreads)
    return table._replace(numbers=scale.applied(table.numbers)), counts, scale, -float(masses @ np.log(spreads))


def rescaled(start: Start, scale: Scale) -> Start:
    """A start of one's own with its numbers standardised."""
    if not isinstance(start, Parameters) or not start.means.size:
        return start
    factors = np.outer(scale.spreads, scale.spreads) if start.is_full else scale.spreads**2
    means = (start.means - scale.centres[:, None]) / scale.spreads[:, None]
    return start._replace(means=means, covariances=start.covariances / factors)


def are_on_floor(theta: Floats, n_levels: NDArray[np.int64], n_numbers: int, full: bool) -> NDArray[np.bool_]:
    """Whether a class of each restart has a variance, or a pivot of its covariance, at the floor."""
    if not n_numbers:
        return np.zeros(len(theta), dtype=bool)
    first = 1 + int((n_levels - 1).sum())
    rows, columns = np.tril_indices(n_numbers)
    places = first + n_numbers + np.flatnonzero(rows == columns) if full else first + 1 + 2 * np.arange(n_numbers)
    is_low: NDArray[np.bool_] = (theta[:, :, places] < LOG_FLOOR + 1e-3).any(axis=(1, 2))
    return is_low
