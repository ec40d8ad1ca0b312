"""T against that of an independent implementation: `python experiments/independent.py` (a few minutes).

The other numbers come from 100 to 200 trials a family, on models of its own; all learners of a family share them, so
that a family's deviations go together. z is the difference in units of both standard errors.
"""

import numpy as np
import pandas as pd

from ciabench import COV, EM, CIAFamily, NaiveBayes, Winnow, learning_curve

TRIALS, SEED, SIZES = 400, 2, [200, 1000]
LEARNERS = {"EM": EM(), "COV": COV(), "Winnow": Winnow(), "NB": NaiveBayes()}
OTHERS = {
    (10, 2): {"EM": (0.82, 0.03, 0.98, 0.01), "COV": (0.78, 0.03, 0.96, 0.01)}
    | {"Winnow": (0.60, 0.03, 0.77, 0.02), "NB": (0.70, 0.03, 0.89, 0.01)},
    (10, 5): {"EM": (0.35, 0.04, 0.42, 0.03), "COV": (0.29, 0.04, 0.38, 0.04)}
    | {"Winnow": (0.55, 0.03, 0.71, 0.02), "NB": (0.45, 0.05, 0.63, 0.03)},
    (75, 5): {"EM": (0.20, 0.04, 0.31, 0.04), "COV": (0.02, 0.05, 0.21, 0.06)}
    | {"Winnow": (0.16, 0.03, 0.44, 0.02), "NB": (0.12, 0.05, 0.49, 0.03)},
}


def compared(n: int, k: int) -> pd.DataFrame:
    """T of both implementations for one family."""
    rows = learning_curve(CIAFamily(n, k, 0.9), LEARNERS, sizes=SIZES, trials=TRIALS, n_jobs=2, random_state=SEED)
    ours = rows.groupby(["learner", "size"])["t"].agg(["mean", "sem"])
    found = []
    for learner, numbers in OTHERS[n, k].items():
        for size, t, error in zip(SIZES, numbers[::2], numbers[1::2], strict=True):
            mean, sem = ours.loc[(learner, size)]
            z = (mean - t) / np.hypot(sem, error)
            found.append(
                {"family": f"CIA({n}, {k}, 0.9)", "learner": learner, "size": size}
                | {"T": mean, "±": sem, "other T": t, "other ±": error, "z": z}
            )
    return pd.DataFrame(found)


def main() -> None:
    table = pd.concat([compared(n, k) for n, k in OTHERS])
    print(table.round(3).to_string(index=False))
    print(f"largest |z| {table['z'].abs().max():.1f}; beyond 2 in {(table['z'].abs() > 2).sum()} of {len(table)}")


if __name__ == "__main__":
    main()
