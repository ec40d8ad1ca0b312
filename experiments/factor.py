"""T of COV's two estimates beside EM's: `python experiments/factor.py` (about five minutes).

On the six families of the paper's figures at s = 100 … 1000. All learners see the same models and samples; the last two
columns are mean differences from EM's T with their paired standard errors. Then the size of a covariance, √(mean ψ²)
over pairs of attributes, beside the standard error of its estimate. A number after the script's name sets the trials.
"""

import sys

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ciabench import COV, EM, CIAFamily, learning_curve

FAMILIES = [CIAFamily(n, k, 0.9) for n in (10, 75) for k in (2, 3, 5)]
LEARNERS = {"EM": EM(), "paper": COV(), "factor": COV(estimate="factor")}
SIZES, TRIALS, SEED = (100, 200, 500, 1000), 300, 26
MODELS = 50


def differences(family: CIAFamily, trials: int) -> pd.DataFrame:
    """One row per size: mean T of every learner, and the differences from EM."""
    rows = learning_curve(family, LEARNERS, sizes=SIZES, trials=trials, n_jobs=2, random_state=SEED)
    table = rows.pivot(index=["size", "trial"], columns="learner", values="t")[list(LEARNERS)]
    means = table.groupby("size").mean().round(3).astype(object)
    for name in ("paper", "factor"):
        lead = (table[name] - table["EM"]).groupby("size")
        means[f"{name} − EM"] = [f"{m:+.3f} ± {e:.3f}" for m, e in zip(lead.mean(), lead.sem(), strict=True)]
    return means


def sizes_of_covariances(n: int) -> tuple[float, float]:
    """√(mean ψ²) over pairs of attributes of CIA(n, 2, 0.9), and an estimate's error for one row, √(mean ψ_ii ψ_jj)."""
    sizes, errors, off = [], [], ~np.eye(n + 1, dtype=bool)
    for seed in range(MODELS):
        model = CIAFamily(n, 2, 0.9).draw(rng=seed)
        alpha, delta, means = model.weights[1], model.probs[:, 1] - model.probs[:, 0], model.probs @ model.weights
        sizes.append((alpha * (1 - alpha) * np.outer(delta, delta))[off] ** 2)
        errors.append(np.outer(means * (1 - means), means * (1 - means))[off])
    return float(np.sqrt(np.mean(sizes))), float(np.sqrt(np.mean(errors)))


def main(trials: int) -> None:
    print(f"{trials} trials, seed {SEED}")
    for family in FAMILIES:
        print(f"\n{family.name}\n{differences(family, trials).to_string()}", flush=True)
    for n in (10, 75):
        size, error = sizes_of_covariances(n)
        noise = ", ".join(f"{error / np.sqrt(s):.4f} at s = {s}" for s in SIZES)
        print(f"\nCIA({n}, 2, 0.9): a covariance is about {size:.4f}, the standard error of its estimate {noise}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
