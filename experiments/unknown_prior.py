"""BayesianMixture where its prior is not that of the world: `python experiments/unknown_prior.py`.

Prints mean T, and the lead over each other learner with its standard error (paired over trials), in three worlds that
its defaults were not chosen for: models with 15 hidden classes, more than its 10; models with 5 where it is allowed 3;
and models in which half of the attributes are rare, with a tenth of the probability that CIA(20, 3, 0.9) gives them. A
number after the script's name sets the number of trials.
"""

import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ciabench import EM, CIAFamily, CIAModel, NaiveBayes, Scorer, Winnow
from ciabench.learners.bayesian_mixture import BayesianMixture

SIZES = (100, 300, 1000)
TRIALS = 100
LEAST_HEADROOM, RARITY = 0.02, 0.1
OWN = "BayesianMixture"


def half_rare(rng: np.random.Generator) -> CIAModel:
    """Model of CIA(20, 3, 0.9) in which every second attribute is rare, with the headroom that the family asks for."""
    family = CIAFamily(20, 3, 0.9)
    while True:
        model = family.draw(rng)
        probs = model.probs.copy()
        probs[1::2] *= RARITY
        found = CIAModel(model.weights, probs)
        if Scorer(found, 0).headroom >= LEAST_HEADROOM:
            return found


WORLDS: dict[str, tuple[Callable[[np.random.Generator], CIAModel], dict[str, int]]] = {
    "CIA(10, 15, 0.9)": (CIAFamily(10, 15, 0.9).draw, {}),
    "CIA(10, 5, 0.9), max_classes=3": (CIAFamily(10, 5, 0.9).draw, {"max_classes": 3}),
    "half rare": (half_rare, {}),
}


def scores(world: str, trial: int) -> list[dict[str, object]]:
    """T of every learner and size on one model."""
    rng = np.random.default_rng([47, trial])
    draw, own = WORLDS[world]
    model = draw(rng)
    X, y = model.sample(max(SIZES), rng)
    scorer = Scorer(model, rng, t_target=0.02)
    learners = {
        OWN: BayesianMixture(random_state=trial, **own),
        "EM": EM(random_state=trial),
        "EM selected": EM(n_classes="bic", random_state=trial),
        "Winnow": Winnow(random_state=trial),
        "NaiveBayes": NaiveBayes(),
    }
    return [
        {
            "world": world,
            "size": size,
            "trial": trial,
            "learner": name,
            "t": scorer.t(one.fit(X[:size], y[:size]).predict),
        }
        for size in SIZES
        for name, one in learners.items()
    ]


def report(rows: pd.DataFrame) -> None:
    """Means, and paired leads."""
    wide = rows.pivot_table(index=["world", "size", "trial"], columns="learner", values="t", sort=False)
    leads = wide.drop(columns=OWN).rsub(wide[OWN], axis=0).groupby(level=["world", "size"], sort=False)
    lead, error = leads.mean(), leads.sem()
    means = wide.groupby(level=["world", "size"], sort=False).mean()
    print(f"| world | s | {' | '.join(wide.columns)} | {' | '.join(f'over {name}' for name in lead)} |")
    print("|---" * (2 + wide.shape[1] + lead.shape[1]) + "|")
    table = np.concatenate([means, lead, error], axis=1)
    for (world, size), line in zip(means.index, table, strict=True):
        values = [f"{value:.2f}" for value in line[: means.shape[1]]]
        pairs = line[means.shape[1] :].reshape(2, -1).T
        values += [f"{value:+.2f} ± {spread:.2f}" for value, spread in pairs]
        print(f"| {world} | {size} | {' | '.join(values)} |")


if __name__ == "__main__":
    with threadpool_limits(1):
        trials = int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS
        report(pd.DataFrame([row for world in WORLDS for trial in range(trials) for row in scores(world, trial)]))
