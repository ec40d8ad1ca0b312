"""Choose Winnow's defaults on families that are in none of the paper's figures: `python experiments/tune_winnow.py`.

Prints T, averaged over trials, for the default and for one or two changes to it, on CIA(20, 2…5, .85) and
CIA(40, 2…5, .85); all settings see the same models and samples. The last column is the mean over all cells. A number
after the script's name sets the number of trials.
"""

import sys

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ciabench import CIAFamily, Scorer
from ciabench.learners.winnow import Winnow

FAMILIES = [CIAFamily(n, k, 0.85) for n in (20, 40) for k in (2, 3, 4, 5)]
SIZES = (50, 200, 1000)
TRIALS = 40
CHANGES = [
    {},
    {"promotion": 1.02},
    {"promotion": 1.1},
    {"margin": 0.05},
    {"margin": 0.2},
    {"promotion": 1.03, "margin": 0.05},
    {"promotion": 1.08, "margin": 0.2},
    {"n_passes": 3},
    {"promotion": 1.02, "n_passes": 3},
    {"subsample": 0.5},
    {"subsample": 1.0},
    {"n_members": 20},
    {"n_members": 1},
    {"n_members": 1, "margin": 0.0},
]


def scores(family: CIAFamily, trial: int) -> list[dict[str, object]]:
    """T of every setting and size on one model."""
    rng = np.random.default_rng([85, trial])
    model = family.draw(rng)
    X, y = model.sample(max(SIZES), rng)
    scorer = Scorer(model, rng, t_target=0.05)
    return [
        {"setting": str(change), "cell": f"{family.n},{family.k}@{size}", "t": scorer.t(learner.predict)}
        for size in SIZES
        for change in CHANGES
        for learner in [Winnow(random_state=trial, **change).fit(X[:size], y[:size])]
    ]


def main(trials: int) -> None:
    rows = pd.DataFrame([row for family in FAMILIES for trial in range(trials) for row in scores(family, trial)])
    table = rows.pivot_table(index="setting", columns="cell", values="t", sort=False)
    table["mean"] = table.mean(axis=1)
    print(table.round(2).to_string())


if __name__ == "__main__":
    with threadpool_limits(1):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
