"""Where EM starts matters on text: `python experiments/starts.py` (about ten minutes; `--trials 0`: three).

For three pairs of words and the training examples of each of the five splits of `spelling.toml`: the best of 20
restarts with six seeds. *before* are the starts of EM's version 1 (attribute means, shifted by standard normal noise on
the logit scale), *now* those of version 2 (rows blended with the means, and one start by the label). Medians, best
values and spreads (largest less smallest) of the six log-likelihoods and the numbers of evaluations are averaged over
splits. Then the same on all examples of each pair, and, on CIA worlds, the mean T of EM from both kinds of starts, on
the same samples.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from threadpoolctl import threadpool_limits

from ciabench import EM, CIAFamily, Scorer
from ciabench.arrays import Floats
from ciabench.errors import SearchWarning
from ciabench.lab.spelling import ALL_EXAMPLES, SEED, SPLITS
from ciabench.seeds import Seed
from ciabench.world.spelling import SpellingPair

PAIRS = ("passed/past", "amount/number", "quiet/quite")
SEEDS, RESTARTS = range(6), 20
FAMILIES = ((10, 2), (10, 5), (75, 2), (75, 5))
SIZES = (10, 20, 50, 100, 200, 500, 1000)

Starts = list[tuple[Floats, Floats]]
Rule = Callable[[Floats, int], Starts | None]


def shifted_means(means: Floats, seed: int) -> Starts:
    """Starts of version 1: weights and probabilities of two classes."""
    rng = np.random.RandomState(seed)
    probs = expit(logit(means) + rng.standard_normal((RESTARTS, 2, means.size)))
    return [(rng.dirichlet([5.0, 5.0]), one.T) for one in probs]


def own_rule(means: Floats, seed: int) -> None:
    """Starts of today: those of EM itself."""


RULES: dict[str, Rule] = {"before": shifted_means, "now": own_rule}


def fitted(X: Any, y: Floats, rule: Rule, seed: int) -> EM:
    """EM by one of the rules."""
    ones = np.append(y.sum(), np.asarray(X.sum(axis=0)).ravel())
    init = rule((ones + 0.5) / (y.size + 1), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchWarning)
        return EM(init=init, n_init=RESTARTS, random_state=seed).fit(X, y)


def on_text(pair: str) -> pd.DataFrame:
    """Best log-likelihoods and evaluations of both rules on every split of a pair."""
    world, found = SpellingPair(pair), []
    for split in range(SPLITS):
        task = world.task(Seed((SEED, world.identity, split)))
        X, y = task.training(ALL_EXAMPLES)
        found += [{"pair": pair, "split": split, **one} for one in compared(task.view(ALL_EXAMPLES)(X), y)]
    return pd.DataFrame(found)


def on_all_examples(pair: str) -> pd.DataFrame:
    """The same on all examples of a pair, held-out documents included."""
    world = SpellingPair(pair)
    X, y, *_ = world.examples()
    return pd.DataFrame({"pair": pair, **one} for one in compared(X[:, world.vocabulary(np.arange(y.size))], y))


def compared(X: object, y: Floats) -> list[dict[str, object]]:
    """Median, best and spread of the log-likelihoods of both rules, and their evaluations."""
    found = []
    for name, rule in RULES.items():
        fits = [fitted(X, y, rule, seed) for seed in SEEDS]
        best = np.array([em.log_likelihood_ for em in fits])
        values = {"median": np.median(best), "best": best.max(), "spread": np.ptp(best)}
        once = np.mean([not em.is_reproduced_ for em in fits])
        evaluations = np.mean([sum(path.size for path in em.restart_paths_) for em in fits])
        found.append({"starts": name, **values, "once": once, "evaluations": evaluations})
    return found


def on_models(n: int, k: int, trials: int) -> pd.DataFrame:
    """Mean T of both rules at every size, their paired difference and its standard error."""
    scores = np.empty((trials, len(SIZES), len(RULES)))
    for trial in range(trials):
        rng = np.random.default_rng([n, k, trial])
        model = CIAFamily(n, k, 0.9).draw(rng)
        X, y = model.sample(max(SIZES), rng)
        scorer = Scorer(model, rng)
        for row, size in enumerate(SIZES):
            fits = (fitted(X[:size], y[:size], rule, trial) for rule in RULES.values())
            scores[trial, row] = [scorer.t(em.predict) for em in fits]
    difference = scores[:, :, 1] - scores[:, :, 0]
    columns = {"family": f"CIA({n}, {k}, 0.9)", "s": SIZES, **dict(zip(RULES, scores.mean(axis=0).T, strict=True))}
    error = difference.std(axis=0, ddof=1) / np.sqrt(trials)
    return pd.DataFrame({**columns, "difference": difference.mean(axis=0), "±": error})


def verdict(text: pd.DataFrame) -> str:
    """Whether today's starts are better on every pair, and on how many of the splits."""
    by_split = text.set_index(["starts", "pair", "split"])
    lines = []
    for rows in (by_split.groupby(["starts", "pair"]).mean(), by_split):
        before, now = (rows.loc[name] for name in RULES)
        checks = {
            "spread at most half": now["spread"] <= before["spread"] / 2,
            "median at or above the best before": now["median"] >= before["best"],
            "no more evaluations": now["evaluations"] <= before["evaluations"],
        }
        unit = "pairs" if rows is not by_split else "splits of pairs"
        lines += [f"{what}: {holds.sum()} of {holds.size} {unit}" for what, holds in checks.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=60, help="Models per family (0: text only).")
    trials = parser.parse_args().trials
    with threadpool_limits(1):
        text = pd.concat([on_text(pair) for pair in PAIRS], ignore_index=True)
        means = text.drop(columns="split").groupby(["pair", "starts"], sort=False).mean()
        print(means.to_string(float_format="{:,.1f}".format), verdict(text), sep="\n\n", flush=True)
        whole = pd.concat([on_all_examples(pair) for pair in PAIRS]).set_index(["pair", "starts"])
        print("\non all examples:\n" + whole.to_string(float_format="{:,.1f}".format), flush=True)
        for n, k in FAMILIES if trials else ():
            print("\n" + on_models(n, k, trials).to_string(index=False, float_format="{:.3f}".format), flush=True)


if __name__ == "__main__":
    main()
