"""Choose BayesianMixture's defaults on families that are in none of the figures: `python experiments/tune_bayes.py`.

Prints T, averaged over trials, for some settings, and for EM and Winnow, on CIA(20, k, .85) and CIA(40, k, .85) with
k = 2, 3, 5; all see the same models and samples. The last columns are the mean over all cells, the worst lead over the
better of EM and Winnow, and seconds of processor time per fit. The table is printed again after every family. A number
after the script's name sets the number of trials.
"""

import sys
import time

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ciabench import EM, CIAFamily, Scorer, Winnow
from ciabench.learners.bayesian_mixture import BayesianMixture

FAMILIES = [CIAFamily(n, k, 0.85) for n in (20, 40) for k in (2, 3, 5)]
SIZES = (50, 200, 1000)
TRIALS = 20
CHANGES = [
    {},
    {"weight_concentration": 0.01},
    {"weight_concentration": 0.02},
    {"weight_concentration": 0.1},
    {"weight_concentration": 0.2},
    {"tol": 0.05},
    {"tol": 0.0},
    {"max_sweeps": 400},
]
OTHERS = {"EM": EM, "Winnow": Winnow}


def scores(family: CIAFamily, trial: int) -> list[dict[str, object]]:
    """T of every setting and size on one model."""
    rng = np.random.default_rng([31, trial])
    model = family.draw(rng)
    X, y = model.sample(max(SIZES), rng)
    scorer = Scorer(model, rng, t_target=0.05)
    learners = {str(change): BayesianMixture(random_state=trial, **change) for change in CHANGES}
    learners |= {name: learner(random_state=trial) for name, learner in OTHERS.items()}
    rows = []
    for size in SIZES:
        for name, learner in learners.items():
            began = time.process_time()
            learner.fit(X[:size], y[:size])
            spent = time.process_time() - began
            cell = f"{family.n},{family.k}@{size}"
            rows.append({"setting": name, "cell": cell, "t": scorer.t(learner.predict), "seconds": spent})
    return rows


def report(rows: pd.DataFrame) -> None:
    table = rows.pivot_table(index="setting", columns="cell", values="t", sort=False)
    worst = (table - table.loc[list(OTHERS)].max()).min(axis=1)
    table["mean"], table["worst lead"] = table.mean(axis=1), worst
    table["seconds"] = rows.groupby("setting")["seconds"].mean()
    print(table.round(3).to_string(), flush=True)


def main(trials: int) -> None:
    rows: list[dict[str, object]] = []
    for family in FAMILIES:
        rows += [row for trial in range(trials) for row in scores(family, trial)]
        report(pd.DataFrame(rows))


if __name__ == "__main__":
    with threadpool_limits(1):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
