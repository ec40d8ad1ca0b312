"""Two samplers of mixtures for `speed.py`: ours, and one written with plain NumPy and BLAS."""

from collections.abc import Callable

import numpy as np

from ciabench import CIAFamily
from ciabench.latent.gibbs import make_prior, run_chains, start_chains
from ciabench.latent.pieces import make_problem
from ciabench.latent.posterior import GRID
from ciabench.latent.starts import make_starts

CLASSES, CONCENTRATION = 10, 0.2
OUR_CHAINS, OUR_SWEEPS = 8, 175
THEIR_CHAINS, THEIR_SWEEPS = 4, 350
"""Both sides draw the class of every row 1,400 times."""


def plain_chain(rows: np.ndarray, sweeps: int, rng: np.random.Generator) -> np.ndarray:
    """Probabilities at the end of one chain, with Beta(1, 1) attributes."""
    n_rows, n_bits = rows.shape
    bits, weights = rows.astype(np.float64), np.full(CLASSES, 1 / CLASSES)
    probs = rng.uniform(0.2, 0.8, (CLASSES, n_bits))
    for _ in range(sweeps):
        log_absent = np.log1p(-probs)
        chances = bits @ (np.log(probs) - log_absent).T + (log_absent.sum(axis=1) + np.log(weights))
        chances -= chances.max(axis=1, keepdims=True)
        np.cumsum(np.exp(chances, out=chances), axis=1, out=chances)
        classes = (rng.random((n_rows, 1)) * chances[:, -1:] > chances).sum(axis=1)
        indicators = np.zeros((n_rows, CLASSES))
        indicators[np.arange(n_rows), classes] = 1
        sizes, ones = indicators.sum(axis=0), indicators.T @ bits
        weights = np.maximum(rng.dirichlet(CONCENTRATION + sizes), 1e-300)
        probs = np.clip(rng.beta(1 + ones, 1 + sizes[:, None] - ones), 1e-12, 1 - 1e-12)
    return probs


def sides(size: int, n: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """Our sampler, which also learns a concentration, and the plain one, on a sample of CIA(n, 5, 0.9)."""
    X, y = CIAFamily(n, 5, 0.9).draw(rng=size + n).sample(size, rng=0)
    rows, rng = np.column_stack([y, X]), np.random.default_rng(0)
    problem = make_problem(rows, np.ones(size), merge=False)
    groups = np.append(-1, np.zeros(n, dtype=np.int64))
    prior = make_prior(problem.layout, weight=CONCENTRATION, concentrations=0.5, groups=groups, grid=GRID)
    chains = start_chains(prior, make_starts(rows, np.ones(size), CLASSES, OUR_CHAINS, rng), rng)
    return (
        lambda: run_chains(problem, prior, chains, OUR_SWEEPS, every=5, expected=True),
        lambda: [plain_chain(rows, THEIR_SWEEPS, rng) for _ in range(THEIR_CHAINS)],
    )
