"""Numbers behind docs/science/method.md: `python experiments/choices.py` (about a minute).

First the mean difficulty of unselected CIA(10, 3, ·) models at two concentrations, exact for each model. Then the
headroom trap on CIA(10, k, 0.9) without `min_headroom`: how many models have little headroom, and what becomes of
mean T. Finally the share of the variance of T's test error that the regression on P(z | x) leaves, on CIA(75, k, 0.9).
"""

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ciabench import EM, CIAFamily, Scorer, Winnow

MODELS, TRIALS, SIZE = 20_000, 500, 300
MODELS_TESTED = 30


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
    found = {"none": 1 - len(some) / len(rows), "below 0.02": 1 - len(enough) / len(rows)}
    for name in ("EM", "Winnow"):
        t_some, t_enough = some[name] / some["headroom"], enough[name] / enough["headroom"]
        found |= {f"T {name}, any": t_some.mean(), f"± {name}, any": t_some.sem(), f"lowest {name}": t_some.min()}
        found |= {f"T {name}, ≥ 0.02": t_enough.mean(), f"± {name}, ≥ 0.02": t_enough.sem()}
        found |= {f"pooled {name}": rows[name].sum() / rows["headroom"].sum()}
    return found


def variance_left(k: int, size: int) -> dict[str, float]:
    """Share of the variance of d_h − T d_best that P(z | x) does not explain, mean over models."""
    shares: dict[str, list[float]] = {"EM": [], "Winnow": []}
    for seed in range(MODELS_TESTED):
        model = CIAFamily(75, k, 0.9).draw(seed)
        (X, y), patterns = model.sample(size, seed), model.sample_attributes(20_000, np.random.default_rng(seed))
        posterior = model.posterior(patterns)
        advantage = (1 - 2 * posterior @ model.probs[0]) * (1 if model.constant else -1)
        best_gain = np.maximum(advantage, 0)
        for name, learner in {"EM": EM(random_state=seed), "Winnow": Winnow(random_state=seed)}.items():
            gain = np.where(learner.fit(X, y).predict(patterns) == model.constant, 0, advantage)
            surplus = gain - gain.mean() / best_gain.mean() * best_gain
            if surplus.any():
                residual = surplus - posterior @ np.linalg.lstsq(posterior, surplus)[0]
                shares[name].append(float(residual.var() / surplus.var()))
    return {f"{name}, s = {size}": float(np.mean(found)) for name, found in shares.items()}


def main() -> None:
    for concentration in (1.05, CIAFamily(10, 3, 0.9).concentration):
        mean, error = mean_difficulty(concentration)
        print(f"CIA(10, 3, ·), concentration {concentration:g}: mean difficulty {mean:.4f} ± {error:.4f}")
    summaries = {}
    for k in (2, 3, 5):
        family = CIAFamily(10, k, 0.9, min_headroom=0)
        summaries[f"k = {k}"] = summary(pd.DataFrame([trial(family, seed) for seed in range(TRIALS)]))
    print(f"\nCIA(10, k, 0.9) without min_headroom, {TRIALS} models, {SIZE} examples:")
    print(pd.DataFrame(summaries).round(3).to_string())
    left = {f"k = {k}": variance_left(k, 30) | variance_left(k, 1000) for k in (2, 3, 5)}
    print(f"\nCIA(75, k, 0.9), {MODELS_TESTED} models, variance of the test error left by the regression on P(z | x):")
    print(pd.DataFrame(left).round(2).to_string())


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
