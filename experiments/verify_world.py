"""Accepted models against an independent, larger estimate: `python experiments/verify_world.py`.

For 1,000 accepted models of three families: how far the difficulty is from b, and the least headroom, from all patterns
where they can be summed and from 200,000 fresh draws where they cannot. A number after the script's name sets how
many models are drawn.
"""

import sys

import numpy as np
from threadpoolctl import threadpool_limits

from ciabench import CIAFamily, CIAModel
from ciabench.probability import bernoulli

MODELS, DRAWS = 1_000, 200_000


def measured(model: CIAModel, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Difficulty and headroom of a model, each with its standard error."""
    if model.enumerable:
        X, masses = bernoulli.all_patterns(model.n), model.enumeration.masses
        chance = model.target_probability(X)
        best = masses @ np.maximum(chance, 1 - chance)
        return masses @ model.posterior(X).max(axis=1), 0.0, best - model.constant_success, 0.0
    confidence, success = [], []
    for _ in range(DRAWS // 20_000):
        X, _ = model.sample(20_000, rng)
        chance = model.target_probability(X)
        confidence.append(model.posterior(X).max(axis=1))
        success.append(np.maximum(chance, 1 - chance))
    certain, right = np.concatenate(confidence), np.concatenate(success)
    errors = certain.std() / np.sqrt(DRAWS), right.std() / np.sqrt(DRAWS)
    return certain.mean(), errors[0], right.mean() - model.constant_success, errors[1]


def main(models: int) -> None:
    for n, k in [(10, 2), (10, 5), (75, 5)]:
        family, rng = CIAFamily(n, k, 0.9), np.random.default_rng(2026)
        found = np.array([measured(family.draw(rng), rng) for _ in range(models)])
        distance, headroom = np.abs(found[:, 0] - 0.9), found[:, 2]
        print(
            f"CIA({n}, {k}, 0.9): {models} models, "
            f"largest |B − b| {distance.max():.5f} (error {found[:, 1].max():.5f}), "
            f"beyond 0.01 by more than 3 errors: {(distance > 0.01 + 3 * found[:, 1] + 1e-12).sum()}; "
            f"least headroom {headroom.min():.5f} (error {found[:, 3].max():.5f}), "
            f"below 0.02 by more than 3 errors: {(headroom < 0.02 - 3 * found[:, 3] - 1e-12).sum()}"
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else MODELS)
