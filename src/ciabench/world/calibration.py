"""The beta parameter for which models of CIA(n, k, b) have mean difficulty b (Grove & Roth 1997, footnote 4).

`calibrate` is deterministic: it returns the same number on every run and worker. `concentrations.csv` beside this file
holds its results for the settings of the paper and the experiments; `python -m ciabench.world.calibration` renews it.
"""

import csv
import zlib
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from itertools import product

import numpy as np

from ciabench.arrays import Floats
from ciabench.errors import FamilyError
from ciabench.files import written_whole
from ciabench.probability import bernoulli

TABLE = files("ciabench.world") / "concentrations.csv"
SHIPPED = tuple(product((10, 25, 75, 200, 500), (2, 3, 5), (0.8, 0.9, 0.95)))

LOWEST, HIGHEST = 0.1, 1e5
"""Below 0.1 almost every weight and probability is 0 or 1, and the models are hardly mixtures any more."""

SEARCH_MODELS, POLISH_MODELS, POLISH_POINTS = 1_000, 8_000, 9
DRAWS_A_MODEL = 8

Draw = Callable[[float, int, np.random.Generator], tuple[Floats, Floats]]
"""From a concentration, a number of models and a source of randomness to weights and probs of as many models."""


def draw_parameters(n: int, k: int, concentration: float, size: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw weights (size, k) and probs (size, n + 1, k) of `size` unselected models."""
    weights = rng.dirichlet(np.full(k, concentration), size)
    return weights, rng.beta(concentration, concentration, (size, n + 1, k))


def mean_difficulty(draw: Draw, concentration: float, models: int, rng: np.random.Generator) -> float:
    """Average of max_z P(z | x) over `models` unselected models and a few draws of x from each.

    A few draws suffice: each is unbiased, and models vary more than draws do.
    """
    _, (_, rows, k) = (array.shape for array in draw(concentration, 0, rng))
    total, chunk = 0.0, max(1, 4_000_000 // ((rows - 1) * k * DRAWS_A_MODEL))
    for start in range(0, models, chunk):
        weights, probs = draw(concentration, min(chunk, models - start), rng)
        X = bernoulli.draw(weights, probs[:, 1:], DRAWS_A_MODEL, rng)
        total += bernoulli.posterior(X, weights, probs[:, 1:]).max(axis=-1).mean(axis=-1).sum()
    return total / models


@cache
def calibrate(n: int, k: int, b: float) -> float:
    """Concentration a of Beta(a, a) for which unselected models of CIA(n, k, ·) have mean difficulty b.

    Bisection finds the region; a quadratic in log a fitted to nine estimates around it gives the root, with an error
    of about 0.0003 in mean difficulty (0.4% in a).

    Examples
    --------
    >>> round(calibrate(3, 2, 0.8), 1)
    1.7
    """
    rng = np.random.default_rng([n, k, zlib.crc32(repr(float(b)).encode())])
    return solve(partial(draw_parameters, n, k), f"CIA({n}, {k}, {b:g})", b, rng)


def solve(draw: Draw, name: str, b: float, rng: np.random.Generator) -> float:
    """Concentration for which models as `draw` draws them have mean difficulty b; `name` is for the error."""
    low, high = np.log(LOWEST), np.log(HIGHEST)
    easiest, hardest = (mean_difficulty(draw, np.exp(edge), SEARCH_MODELS, rng) for edge in (low, high))
    if not hardest < b < easiest:
        raise FamilyError(
            f"{name} does not exist: with so many attributes and hidden values the mean difficulty lies between "
            f"{hardest:.3f} and {easiest:.3f} for every concentration; choose b in that range or change n."
        )
    for _ in range(12):
        middle = (low + high) / 2
        easy = mean_difficulty(draw, np.exp(middle), SEARCH_MODELS, rng) > b
        low, high = (middle, high) if easy else (low, middle)
    return _polish(draw, b, (low + high) / 2, rng)


def _polish(draw: Draw, b: float, center: float, rng: np.random.Generator) -> float:
    """Root near `center` of a quadratic fitted to difficulty as a function of log concentration."""
    offsets = np.linspace(-0.3, 0.3, POLISH_POINTS)
    means = [mean_difficulty(draw, np.exp(center + offset), POLISH_MODELS, rng) for offset in offsets]
    curve = np.polynomial.Polynomial.fit(offsets, means, 2)
    grid = np.linspace(-0.3, 0.3, 6001)
    return float(np.exp(center + grid[np.argmin(np.abs(curve(grid) - b))]))


@cache
def shipped_concentrations() -> dict[tuple[int, int, float], float]:
    """Shipped table: (n, k, b) → concentration."""
    with TABLE.open(encoding="utf-8") as lines:
        return {
            (int(row["n"]), int(row["k"]), float(row["b"])): float(row["concentration"])
            for row in csv.DictReader(lines)
        }


def concentration(n: int, k: int, b: float) -> float:
    """Calibrated concentration, from the shipped table if it is there."""
    known = shipped_concentrations().get((n, k, float(b)))
    return calibrate(n, k, float(b)) if known is None else known


def main() -> None:
    """Calibrate every shipped setting and write the table."""
    lines = [f"{n},{k},{b},{calibrate(n, k, b):.6g}\n" for n, k, b in SHIPPED]
    with written_whole(str(TABLE)) as unfinished:
        unfinished.write_text("".join(["n,k,b,concentration\n", *lines]), encoding="utf-8")


if __name__ == "__main__":
    main()
