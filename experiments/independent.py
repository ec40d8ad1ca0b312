"""T against that of two other implementations: `python experiments/independent.py` (half an hour).

Of the first only the means of 100 to 200 trials per family and their standard errors were reported, not the models. All
its learners and sizes share these models, so its deviations are correlated. The second is `plain_harness.py`, which
draws and accepts models by plain simulation and fits with StepMix and scikit-learn; its rules are tested on 100,000
simulated rows. It shares no code with the library except the calibrated concentration. z is the difference from ours in
units of both standard errors. A number after the script's name divides the numbers of trials.
"""

import sys

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.naive_bayes import BernoulliNB

import plain_harness
from ciabench import COV, EM, CIAFamily, NaiveBayes, Winnow, learning_curve

TRIALS, SEED, SIZES = 2_000, 1997, (200, 1000)
PLAIN_TRIALS, MIXTURE_TRIALS = 1_000, 200
"""Trials of the plain harness, and those in which StepMix, which is slow, is fitted as well."""

LEARNERS = {"EM": EM(), "NB": NaiveBayes(), "COV": COV(), "Winnow": Winnow()}
REPORTED = {
    (10, 2): {"EM": (0.82, 0.03, 0.98, 0.01), "COV": (0.78, 0.03, 0.96, 0.01)}
    | {"Winnow": (0.60, 0.03, 0.77, 0.02), "NB": (0.70, 0.03, 0.89, 0.01)},
    (10, 5): {"EM": (0.35, 0.04, 0.42, 0.03), "COV": (0.29, 0.04, 0.38, 0.04)}
    | {"Winnow": (0.55, 0.03, 0.71, 0.02), "NB": (0.45, 0.05, 0.63, 0.03)},
    (75, 5): {"EM": (0.20, 0.04, 0.31, 0.04), "COV": (0.02, 0.05, 0.21, 0.06)}
    | {"Winnow": (0.16, 0.03, 0.44, 0.02), "NB": (0.12, 0.05, 0.49, 0.03)},
}
Rows = list[dict[str, object]]


def plain_trial(family: CIAFamily, trial: int) -> Rows:
    """T of BernoulliNB and, in some trials, of StepMix."""
    rng = np.random.default_rng([SEED, trial])
    model = plain_harness.draw_model(family, rng)
    X, y = plain_harness.simulate(*model, max(SIZES), rng)
    X_test, _ = plain_harness.simulate(*model, 5 * plain_harness.TEST_ROWS, rng)
    target = plain_harness.chances(X_test, model[0], model[1][1:]) @ model[1][0]
    best, constant = np.maximum(target, 1 - target).mean(), max(target.mean(), 1 - target.mean())
    rows: Rows = []
    for size in SIZES:
        rules = {"NB": BernoulliNB().fit(X[:size], y[:size]).predict}
        if trial < MIXTURE_TRIALS:
            rules["EM"] = plain_harness.mixture_rule(X[:size], y[:size])
        for learner, rule in rules.items():
            success = np.where(rule(X_test), target, 1 - target).mean()
            rows.append({"learner": learner, "size": size, "t": (success - constant) / (best - constant)})
    return rows


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean T and its standard error by learner and size."""
    return rows.groupby(["learner", "size"])["t"].agg(["mean", "sem"])


def reported(n: int, k: int) -> pd.DataFrame:
    """Mean T and its standard error, as reported of the other implementation."""
    found = [
        (learner, size, *numbers[2 * place : 2 * place + 2])
        for learner, numbers in REPORTED[n, k].items()
        for place, size in enumerate(SIZES)
    ]
    return pd.DataFrame(found, columns=["learner", "size", "mean", "sem"]).set_index(["learner", "size"])


def compared(n: int, k: int, divisor: int) -> pd.DataFrame:
    """All three side by side."""
    family, trials = CIAFamily(n, k, 0.9), TRIALS // divisor
    ours = summary(learning_curve(family, LEARNERS, sizes=SIZES, trials=trials, n_jobs=2, random_state=SEED))
    plain = Parallel(n_jobs=2)(delayed(plain_trial)(family, trial) for trial in range(PLAIN_TRIALS // divisor))
    others = {"reported": reported(n, k), "plain": summary(pd.DataFrame([row for rows in plain for row in rows]))}
    table = ours.rename(columns={"mean": "T", "sem": "±"})
    for name, other in others.items():
        table[f"{name} T"], table[f"{name} ±"] = other["mean"], other["sem"]
        table[f"{name} z"] = (ours["mean"] - other["mean"]) / np.hypot(ours["sem"], other["sem"])
    return table


def main(divisor: int) -> None:
    for n, k in REPORTED:
        table = compared(n, k, divisor).round(3).to_string(na_rep="")
        print(f"CIA({n}, {k}, 0.9), {TRIALS // divisor} trials\n{table}\n", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
