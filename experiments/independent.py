"""T against that of an independent implementation: `python experiments/independent.py` (a few minutes).

The other numbers come from 100 to 200 trials a family, on models of its own; all learners of a family share them, so
that a family's deviations go together. z is the difference in units of both standard errors.

T at n = 75 hangs on how the least headroom is cut, which must be estimated there: models near the cut have the lowest T
by far. So CIA(75, 5, 0.9) is also run with a cut of 0.03 in place of 0.02.
"""

import numpy as np
import pandas as pd

from ciabench import COV, EM, CIAFamily, NaiveBayes, Winnow, learning_curve

TRIALS, SEED, SIZES = 400, 1997, [200, 1000]
LEARNERS = {"EM": EM(), "COV": COV(), "Winnow": Winnow(), "NB": NaiveBayes()}
OTHERS = {
    (10, 2): {"EM": (0.82, 0.03, 0.98, 0.01), "COV": (0.78, 0.03, 0.96, 0.01)}
    | {"Winnow": (0.60, 0.03, 0.77, 0.02), "NB": (0.70, 0.03, 0.89, 0.01)},
    (10, 5): {"EM": (0.35, 0.04, 0.42, 0.03), "COV": (0.29, 0.04, 0.38, 0.04)}
    | {"Winnow": (0.55, 0.03, 0.71, 0.02), "NB": (0.45, 0.05, 0.63, 0.03)},
    (75, 5): {"EM": (0.20, 0.04, 0.31, 0.04), "COV": (0.02, 0.05, 0.21, 0.06)}
    | {"Winnow": (0.16, 0.03, 0.44, 0.02), "NB": (0.12, 0.05, 0.49, 0.03)},
}


def compared(n: int, k: int, min_headroom: float) -> pd.DataFrame:
    """T of both implementations for one family."""
    family = CIAFamily(n, k, 0.9, min_headroom=min_headroom)
    rows = learning_curve(family, LEARNERS, sizes=SIZES, trials=TRIALS, n_jobs=2, random_state=SEED)
    ours = rows.groupby(["learner", "size"])["t"].agg(["mean", "sem"])
    found = []
    for learner, numbers in OTHERS[n, k].items():
        for size, t, error in zip(SIZES, numbers[::2], numbers[1::2], strict=True):
            mean, sem = ours.loc[(learner, size)]
            z = (mean - t) / np.hypot(sem, error)
            found.append(
                {"family": f"CIA({n}, {k}, 0.9)", "cut": min_headroom, "learner": learner, "size": size}
                | {"T": mean, "±": sem, "other T": t, "other ±": error, "z": z}
            )
    return pd.DataFrame(found)


def main() -> None:
    for setting in [(10, 2, 0.02), (10, 5, 0.02), (75, 5, 0.02), (75, 5, 0.03)]:
        table = compared(*setting)
        print(table.round(3).to_string(index=False))
        print(f"largest |z| {table['z'].abs().max():.1f}; beyond 2 in {(table['z'].abs() > 2).sum()} of {len(table)}\n")


if __name__ == "__main__":
    main()
