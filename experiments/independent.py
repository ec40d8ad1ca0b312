"""T against that of an independent implementation: `python experiments/independent.py` (a quarter of an hour).

The other numbers come from 100 to 200 trials a family, on models of its own. All its learners and sizes share them, so
that the deviations of a family go together and are judged together: D² = d' (C / N + C / M + rounding)⁻¹ d, where C is
the covariance of T over our N trials and M the number of theirs that fits their standard errors best; it is χ² for equal
laws. EM at maximum likelihood and naive Bayes leave no room to differ and are judged so. COV and Winnow have choices of
their own, and may be better: for them z, the difference in units of both standard errors, tells.
"""

import numpy as np
import pandas as pd
from scipy.stats import chi2

from ciabench import COV, EM, CIAFamily, NaiveBayes, Winnow, learning_curve

TRIALS, SEED, SIZES = 2_000, 1997, [200, 1000]
ROUNDING = 0.01 / np.sqrt(12)
"""Standard error of a number that is given to two places."""

LEARNERS = {"EM": EM(), "NB": NaiveBayes(), "COV": COV(), "Winnow": Winnow()}
OTHERS = {
    (10, 2): {"EM": (0.82, 0.03, 0.98, 0.01), "COV": (0.78, 0.03, 0.96, 0.01)}
    | {"Winnow": (0.60, 0.03, 0.77, 0.02), "NB": (0.70, 0.03, 0.89, 0.01)},
    (10, 5): {"EM": (0.35, 0.04, 0.42, 0.03), "COV": (0.29, 0.04, 0.38, 0.04)}
    | {"Winnow": (0.55, 0.03, 0.71, 0.02), "NB": (0.45, 0.05, 0.63, 0.03)},
    (75, 5): {"EM": (0.20, 0.04, 0.31, 0.04), "COV": (0.02, 0.05, 0.21, 0.06)}
    | {"Winnow": (0.16, 0.03, 0.44, 0.02), "NB": (0.12, 0.05, 0.49, 0.03)},
}


def trials_of(n: int, k: int) -> pd.DataFrame:
    """T of our learners, one line a trial, one column a learner and size."""
    rows = learning_curve(CIAFamily(n, k, 0.9), LEARNERS, sizes=SIZES, trials=TRIALS, n_jobs=2, random_state=SEED)
    return rows.pivot_table(index="trial", columns=["learner", "size"], values="t")


def compared(ours: pd.DataFrame, others: dict[str, tuple[float, ...]]) -> pd.DataFrame:
    """Both implementations side by side."""
    found = [
        (learner, size, t, error)
        for learner in LEARNERS
        for size, t, error in zip(SIZES, others[learner][::2], others[learner][1::2], strict=True)
    ]
    table = pd.DataFrame(found, columns=["learner", "size", "other T", "other ±"]).set_index(["learner", "size"])
    table.insert(0, "T", ours.mean())
    table.insert(1, "±", ours.sem())
    table["z"] = (table["T"] - table["other T"]) / np.hypot(table["±"], table["other ±"])
    return table


def joint(ours: pd.DataFrame, table: pd.DataFrame, learners: list[str]) -> str:
    """Judge all deviations of some learners together."""
    points = [(learner, size) for learner in learners for size in SIZES]
    theirs = np.clip(np.median(ours[points].var() / table.loc[points, "other ±"] ** 2), 100, 200)
    noise = ours[points].cov() * (1 / len(ours) + 1 / theirs) + ROUNDING**2 * np.eye(len(points))
    apart = (table["T"] - table["other T"])[points].to_numpy()
    distance = float(apart @ np.linalg.solve(noise, apart))
    p = chi2.sf(distance, len(points))
    return f"{' and '.join(learners)} together: D² = {distance:.1f} of {len(points)}, p = {p:.3f} (M = {theirs:.0f})"


def main() -> None:
    for (n, k), others in OTHERS.items():
        ours = trials_of(n, k)
        table = compared(ours, others)
        print(f"CIA({n}, {k}, 0.9), {TRIALS} trials\n{table.round(3)}")
        print(f"{joint(ours, table, ['EM', 'NB'])}; {joint(ours, table, list(LEARNERS))}\n", flush=True)


if __name__ == "__main__":
    main()
