"""Accepted models against an independent, larger estimate: `python experiments/verify_world.py`.

For 1,000 accepted models of every kind of family: how far the difficulty is from b, and the least headroom, from all
patterns where they can be summed and from 200,000 fresh draws where they cannot. The difficulty of a tree is that of
the model without its tree; of a threshold world S_best is also compared with 1 − noise. A number
after the script's name sets how many models are drawn.
"""

import sys

import numpy as np
from threadpoolctl import threadpool_limits

from ciabench import CIAFamily, ThresholdFamily, TreeFamily, TwoHiddenFamily
from ciabench.probability import bernoulli
from ciabench.world.bit_model import BitModel
from ciabench.world.model_family import ModelFamily
from ciabench.world.threshold import ThresholdModel
from ciabench.world.tree import TreeModel

MODELS, DRAWS = 1_000, 200_000


def families() -> list[ModelFamily]:
    """The families whose models are measured."""
    return [
        CIAFamily(10, 2, 0.9),
        CIAFamily(10, 5, 0.9),
        TreeFamily(10, 0.5, 0.9),
        TreeFamily(10, 2, 0.9),
        TwoHiddenFamily(10, 0.9),
        ThresholdFamily(10, 5, 0.05, 0.9),
        ThresholdFamily(75, 7, 0.05, 0.9),
        TreeFamily(75, 0.5, 0.9),
        TwoHiddenFamily(75, 0.9),
        CIAFamily(75, 5, 0.9),
    ]


def of_difficulty(model: BitModel) -> BitModel:
    """The model whose difficulty counts."""
    return model.base if isinstance(model, TreeModel) else model


def measured(model: BitModel, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Difficulty and headroom of a model, each with its standard error."""
    judged = of_difficulty(model)
    if model.enumerable:
        X = bernoulli.all_patterns(model.n)
        masses, own_masses = (np.exp(bernoulli.normalize(one.log_joint(X))[1]) for one in (model, judged))
        chance = model.target_probability(X)
        best = float(masses @ np.maximum(chance, 1 - chance))
        if isinstance(model, ThresholdModel):
            assert abs(best - (1 - model.noise)) < 1e-12
        return float(own_masses @ judged.posterior(X).max(axis=1)), 0.0, best - model.constant_success, 0.0
    confidence, success = [], []
    for _ in range(DRAWS // 20_000):
        X, _ = model.sample(20_000, rng)
        confidence.append(judged.posterior(judged.sample(20_000, rng)[0]).max(axis=1))
        chance = model.target_probability(X)
        success.append(np.maximum(chance, 1 - chance))
    certain, right = np.concatenate(confidence), np.concatenate(success)
    errors = certain.std() / np.sqrt(DRAWS), right.std() / np.sqrt(DRAWS)
    return certain.mean(), errors[0], right.mean() - model.constant_success, errors[1]


def main(models: int) -> None:
    for family in families():
        rng = np.random.default_rng(2026)
        found = np.array([measured(family.draw(rng), rng) for _ in range(models)])
        distance, headroom = np.abs(found[:, 0] - 0.9), found[:, 2]
        print(
            f"{family.name}: {models} models, "
            f"largest |B − b| {distance.max():.5f} (error {found[:, 1].max():.5f}), "
            f"beyond 0.01 by more than 3 errors: {(distance > 0.01 + 3 * found[:, 1] + 1e-12).sum()}; "
            f"least headroom {headroom.min():.5f} (error {found[:, 3].max():.5f}), "
            f"below 0.02 by more than 3 errors: {(headroom < 0.02 - 3 * found[:, 3] - 1e-12).sum()}",
            flush=True,
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else MODELS)
