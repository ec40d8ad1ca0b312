"""Is there a setting of Winnow that passes EM at about 100 examples, as C4 says? `python experiments/early_winnow.py`.

Settings are compared on CIA(60, 5, 0.9) and CIA(90, 5, 0.9), which no figure shows, at 100 and 200 examples. The best
one by its mean T, and the default, then meet EM on CIA(75, 5, 0.9): the lead over EM, paired over new models.
"""

import argparse
import warnings
from itertools import product

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from ciabench import EM, CIAFamily, Scorer, Winnow

TUNED_ON = [(60, 5, 0.9), (90, 5, 0.9)]
TUNED_AT, COMPARED_AT = (100, 200), (50, 100, 150, 200, 300, 500, 1000)
FIGURE = (75, 5, 0.9)
SETTINGS = [
    dict(zip(("promotion", "margin", "n_passes", "n_members", "subsample"), values, strict=True))
    for values in product((1.02, 1.05, 1.1), (0.05, 0.1, 0.2, 0.4), (1, 3), (10, 30), (0.5, 0.8))
]
DEFAULT = {"promotion": 1.05, "margin": 0.1, "n_passes": 1, "n_members": 10, "subsample": 0.8}


def tuned(family: tuple[int, int, float], trial: int) -> list[float]:
    """T of every setting on one model, averaged over sizes."""
    with threadpool_limits(1):
        rng = np.random.default_rng([4, trial])
        model = CIAFamily(*family).draw(rng)
        X, y = model.sample(max(TUNED_AT), rng)
        scorer = Scorer(model, rng, t_target=0.05)
        learners = [[Winnow(random_state=trial, **one).fit(X[:s], y[:s]) for s in TUNED_AT] for one in SETTINGS]
        return [float(np.mean([scorer.t(learner.predict) for learner in own])) for own in learners]


def compared(best: dict[str, float], trial: int) -> list[dict[str, object]]:
    """T of EM, the default and the tuned Winnow on one model of the figure's family."""
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
        rng = np.random.default_rng([44, trial])
        model = CIAFamily(*FIGURE).draw(rng)
        X, y = model.sample(max(COMPARED_AT), rng)
        scorer = Scorer(model, rng, t_target=0.02)
        learners = {"EM": EM(random_state=trial), "default": Winnow(random_state=trial)}
        learners["tuned"] = Winnow(random_state=trial, **best)
        return [
            {"trial": trial, "s": s, "learner": name, "t": scorer.t(learner.fit(X[:s], y[:s]).predict)}
            for s in COMPARED_AT
            for name, learner in learners.items()
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=60, help="models per family that settings are compared on")
    parser.add_argument("--models", type=int, default=1_000, help="models of the figure's family")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    run = Parallel(n_jobs=options.jobs)
    found = np.array(run(delayed(tuned)(family, trial) for family in TUNED_ON for trial in range(options.trials)))
    means, order = found.mean(axis=0), np.argsort(-found.mean(axis=0))
    for place in order[:5]:
        print(f"T {means[place]:+.3f}  {SETTINGS[place]}")
    print(f"T {means[SETTINGS.index(DEFAULT)]:+.3f}  the default")
    best = SETTINGS[order[0]]
    rows = pd.DataFrame(
        [row for cell in run(delayed(compared)(best, trial) for trial in range(options.models)) for row in cell]
    )
    wide = rows.pivot_table(index=["s", "trial"], columns="learner", values="t")
    leads = pd.DataFrame({name: wide[name] - wide["EM"] for name in ("default", "tuned")}).groupby("s")
    print(f"\nlead of Winnow over EM on CIA{FIGURE}, {options.models} models")
    print(pd.concat({"lead": leads.mean(), "error": leads.sem()}, axis=1).round(3).to_string())


if __name__ == "__main__":
    main()
