"""Numbers behind docs/method.md: `python experiments/choices.py` (about a minute).

First the mean difficulty of unselected CIA(10, 3, ·) models at two concentrations, exact for each model. Then the
headroom trap on CIA(10, k, 0.9) without `min_headroom`: how many models have little, and what becomes of mean T.
"""

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ciabench import EM, CIAFamily, Scorer, Winnow

MODELS, TRIALS, SIZE = 20_000, 500, 300


def mean_difficulty(concentration: float) -> tuple[float, float]:
    """Mean over unselected models of CIA(10, 3, 0.9), and its standard error."""
    family, rng = CIAFamily(10, 3, 0.9, concentration=concentration), np.random.default_rng(0)
    values = np.array([family.draw_unselected(rng).difficulty() for _ in range(MODELS)])
    return float(values.mean()), float(values.std() / np.sqrt(MODELS))


def trial(family: CIAFamily, seed: int) -> dict[str, float]:
    """Headroom of one model, and the gains of two learners on it."""
    rng = np.random.default_rng([97, seed])
    model = family.draw(rng)
    X, y = model.sample(SIZE, rng)
    scorer = Scorer(model)
    learners = {"EM": EM(random_state=seed), "Winnow": Winnow(random_state=seed)}
    gains = {name: scorer.success(learner.fit(X, y).predict) - scorer.constant for name, learner in learners.items()}
    return {"headroom": scorer.headroom, **gains}


def summary(rows: pd.DataFrame) -> dict[str, float]:
    """Mean T with its error over models with any headroom and with enough, the lowest T, and the pooled ratio."""
    some, enough = rows[rows["headroom"] > 1e-9], rows[rows["headroom"] >= 0.02]
    told = {"none": 1 - len(some) / len(rows), "below 0.02": 1 - len(enough) / len(rows)}
    for name in ("EM", "Winnow"):
        t_some, t_enough = some[name] / some["headroom"], enough[name] / enough["headroom"]
        told |= {f"T {name}, any": t_some.mean(), f"± {name}, any": t_some.sem(), f"lowest {name}": t_some.min()}
        told |= {f"T {name}, ≥ 0.02": t_enough.mean(), f"± {name}, ≥ 0.02": t_enough.sem()}
        told |= {f"pooled {name}": rows[name].sum() / rows["headroom"].sum()}
    return told


def main() -> None:
    for concentration in (1.05, CIAFamily(10, 3, 0.9).concentration):
        mean, error = mean_difficulty(concentration)
        print(f"CIA(10, 3, ·), concentration {concentration:g}: mean difficulty {mean:.4f} ± {error:.4f}")
    told = {}
    for k in (2, 3, 5):
        family = CIAFamily(10, k, 0.9, min_headroom=0)
        told[f"k = {k}"] = summary(pd.DataFrame([trial(family, seed) for seed in range(TRIALS)]))
    print(f"\nCIA(10, k, 0.9) without min_headroom, {TRIALS} models, {SIZE} examples:")
    print(pd.DataFrame(told).round(3).to_string())


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
