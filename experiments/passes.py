"""Winnow's passes chosen on the data, beside one pass and passes set by hand: `python experiments/passes.py` (10 min).

First pairs of words that are in no figure, by which the margin beside n_passes="auto" was chosen. Then the 18 pairs of
experiments/spelling.toml: accuracy, and leads of "auto" with standard errors that allow for the overlap of the splits.
Last T on families that are in no figure, less that of one pass. All examples of a pair are used, and all learners see
the same splits and models. A number after the script's name sets the splits per pair and a fifth of the models.
"""

import sys

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ciabench import CIAFamily, Winnow, learning_curve
from ciabench.findings.spelling import OVERLAP
from ciabench.world.pairs import DEFAULT_PAIRS
from ciabench.world.spelling import SpellingPair

TUNING_PAIRS = ("their/there", "were/where", "know/no", "hear/here", "later/latter")
FAMILIES = [CIAFamily(n, k, 0.85) for n, k in ((20, 2), (20, 5), (40, 3), (60, 5))]
SIZES, ALL_EXAMPLES, TRIALS, SEED = (50, 100, 200, 500, 1000), 1_000_000, 20, 26
LEARNERS = {
    "one pass": Winnow(),
    "by hand": Winnow(n_passes=20, margin=0.01),
    "auto": Winnow(n_passes="auto"),
    "auto, 0.01": Winnow(n_passes="auto", margin=0.01),
}


def shown(lead: "pd.Series[float]") -> str:
    """Mean over splits and its standard error (Nadeau & Bengio 2003)."""
    return f"{lead.mean():+.3f} ± {lead.std() * np.sqrt(1 / len(lead) + OVERLAP):.3f}"


def of_pair(pair: str, trials: int) -> dict[str, object]:
    """Mean accuracy of every learner and of the majority, and the leads of "auto"."""
    rows = learning_curve(
        SpellingPair(pair), LEARNERS, sizes=[ALL_EXAMPLES], trials=trials, n_jobs=2, random_state=SEED
    )
    table = rows.pivot(index="trial", columns="learner", values="success")[list(LEARNERS)]
    table.insert(0, "majority", rows.groupby("trial")["constant"].first())
    rivals = [("auto", "majority"), ("auto, 0.01", "majority"), ("auto, 0.01", "by hand")]
    leads = {f"{name} − {rival}": shown(table[name] - table[rival]) for name, rival in rivals}
    return {"pair": pair, **table.mean(), **leads}


def print_pairs(title: str, pairs: tuple[str, ...], trials: int) -> None:
    table = pd.DataFrame([of_pair(pair, trials) for pair in pairs]).set_index("pair")
    print(f"\n{title}, {trials} splits\n{table.round(3).to_string()}")
    print(f"mean: {table.mean(numeric_only=True).round(4).to_dict()}")
    for name in ("auto", "auto, 0.01"):
        lead = table[name] - table["by hand"]
        print(f"{name} − by hand, mean and error over pairs: {lead.mean():+.4f} ± {lead.sem():.4f}", flush=True)


def of_family(family: CIAFamily, trials: int) -> pd.DataFrame:
    """One row per size: mean T with one pass, and what "auto" adds to it; both draw the same subsamples."""
    learners = {"one pass": Winnow(random_state=SEED), "auto": Winnow(n_passes="auto", random_state=SEED)}
    rows = learning_curve(family, learners, sizes=SIZES, trials=trials, n_jobs=2, random_state=SEED)
    table = rows.pivot(index=["size", "trial"], columns="learner", values="t")
    lead = (table["auto"] - table["one pass"]).groupby("size")
    means = table.groupby("size").mean().round(3).astype(object)
    means["auto − one pass"] = [f"{m:+.3f} ± {e:.3f}" for m, e in zip(lead.mean(), lead.sem(), strict=True)]
    return means


def main(trials: int) -> None:
    print_pairs("pairs that the margin was chosen by", TUNING_PAIRS, trials)
    print_pairs("pairs of the figures", DEFAULT_PAIRS, trials)
    for family in FAMILIES:
        print(f"\n{family.name}, {5 * trials} models\n{of_family(family, 5 * trials).to_string()}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
