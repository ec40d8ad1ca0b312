"""False alarms and power of regression-testing T curves: `python experiments/regression_power.py [PAIRS [JOBS]]`.

Trials come from a pool on three families of the paper, where EM and Winnow were fitted twice, with independent
randomness (a parameter was changed too little to matter, which changes the seed). A pair of result sets is

- unpaired: two disjoint draws of 100 trials from the pool,
- paired: one draw of 100 trials; a coin toss decides for each which of its fits goes into which set. COV is
  deterministic and equal in both.

A false alarm is any change that is found in any of the 45 points and 9 curves of a pair. To measure power, T of one
curve of EM or Winnow in a paired set is lowered: by 0.05 everywhere, or by 1 in a twentieth of the trials; what counts
is the verdict on that very curve.
"""

import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from ciabench import COV, EM, CIAFamily, Winnow
from ciabench.findings.regression import compare
from ciabench.lab.session import learning_curve

FAMILIES = [(10, 2, 0.9), (10, 5, 0.9), (75, 3, 0.9)]
SIZES = [10, 30, 100, 300, 1000]
POOL, TRIALS, PAIRS = 400, 100, 1_000
DROP = 0.05
FITS = [
    {"EM": EM(), "Winnow": Winnow(), "COV": COV()},
    {"EM": EM(max_iter=10_001), "Winnow": Winnow(subsample=0.8 + 1e-12), "COV": COV()},
]


def make_pool(jobs: int) -> list[pd.DataFrame]:
    """Rows of the pool, of the first fits and of the second."""
    return [
        pd.concat(
            [
                learning_curve(CIAFamily(*family), fits, sizes=SIZES, trials=POOL, n_jobs=jobs, random_state=1)
                for family in FAMILIES
            ]
        )
        for fits in FITS
    ]


def drawn(rows: pd.DataFrame, trials: np.ndarray) -> pd.DataFrame:
    """These trials, renumbered."""
    numbers = pd.Series(range(len(trials)), index=trials)
    return rows[rows["trial"].isin(trials)].assign(trial=lambda found: found["trial"].map(numbers))


def outcomes(pool: list[pd.DataFrame], pair: int) -> Iterator[tuple[str, str]]:
    """Verdicts on one pair of each kind."""
    rng = np.random.default_rng([1997, pair])
    trials = rng.permutation(POOL)[: 2 * TRIALS]
    first, other = drawn(pool[0], trials[:TRIALS]), drawn(pool[0], trials[TRIALS:])
    yield "identically distributed, unpaired", compare(first, other).verdict
    old, new = exchanged(first, drawn(pool[1], trials[:TRIALS]), rng)
    yield "identically distributed, paired", compare(new, old).verdict
    world, learner = CIAFamily(*FAMILIES[rng.integers(len(FAMILIES))]).name, ("EM", "Winnow")[rng.integers(2)]
    curve = f"world == '{world}' and learner == '{learner}'"
    unlucky = new["trial"].isin(np.flatnonzero(rng.random(TRIALS) < DROP))
    for kind, drop in {f"drop of {DROP} everywhere": DROP, "drop of 1 in a twentieth of the trials": unlucky}.items():
        found = compare(new.assign(t=new["t"] - drop * new.eval(curve)), old).curves.query(curve)["verdict"].item()
        yield kind, found
        yield f"{kind}, {learner} on {world}", found


def exchanged(first: pd.DataFrame, second: pd.DataFrame, rng: np.random.Generator) -> list[pd.DataFrame]:
    """Two sets that share their trials; a coin toss decides whether the rows of a trial are exchanged."""
    is_kept = rng.random(TRIALS) < 0.5
    return [
        pd.concat([first[is_first[first["trial"]]], second[~is_first[second["trial"]]]])
        for is_first in (is_kept, ~is_kept)
    ]


def all_outcomes(pool: list[pd.DataFrame], pairs: np.ndarray) -> list[tuple[str, str]]:
    """Verdicts on all of these pairs."""
    return [outcome for pair in pairs for outcome in outcomes(pool, int(pair))]


def main(pairs: int, jobs: int) -> None:
    pool = make_pool(jobs)
    shares = np.array_split(np.arange(pairs), 10 * jobs)
    found = Parallel(n_jobs=jobs)(delayed(all_outcomes)(pool, share) for share in shares)
    table = pd.DataFrame([outcome for share in found for outcome in share], columns=["pair", "verdict"])
    counts = table.value_counts().unstack(fill_value=0).sort_index()
    print(counts.assign(pairs=counts.sum(axis=1), changed_rate=counts["changed"] / counts.sum(axis=1)).to_string())


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*given, *(PAIRS, 2)[len(given) :])
