"""Adaptive beside its members: `python experiments/adaptive.py FOLDER [--out FILE] [--worlds 50] [--cells NAME …]`.

Cells are families of random models at several sizes, and the tables of the folder (CSV files with a column `target`) at
two thirds of their rows and, where there are 300 rows or more, at 200; the most frequent label against the rest. In
each world, or split of a table, the members are fitted to the folds and to all rows once, and shared by three ways to
combine them: the rule of `Adaptive`, choosing the member of the least held-out log-loss, and stacking (the weights
with the largest held-out log-likelihood of the mixture). Families are scored by T, tables by accuracy.

Every world of a cell becomes a line of FILE (default: results/adaptive.jsonl); a run that was stopped goes on where it
was, one world of every cell after the other. `--report` computes nothing and prints the table; `--write` puts it into
docs/science/adaptive.md. Fifty worlds of every cell take about 35 minutes of processor time.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from ciabench import CIAFamily, ThresholdFamily, TreeFamily, TwoHiddenFamily
from ciabench.learners.adaptive import N_FOLDS, adaptive_weights, default_members, held_out_chances, prior_weights
from ciabench.seeds import Seed

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "science" / "adaptive.md"
SEED = 2018
T_TARGET = 0.02
"""Test error of T that is small enough: T of a world varies by much more."""

SMALL, FEWEST_ROWS = 200, 300
WAYS = ("rule", "selection", "stacking")
SHORT = {"BayesianMixture": "mixture", "LogisticRegression": "logistic", "NaiveBayes": "naive Bayes", "EM": "EM"}


class Problem(NamedTuple):
    """Training rows, and a function from a rule to its score."""

    X: Any
    y: Any
    score: Callable[[Any], float]


class Cell(NamedTuple):
    """A kind of world at one size, and a function from an index to a problem."""

    name: str
    size: int
    problem: Callable[[Seed], Problem]


class Combination:
    """Members with weights, as a judge sees them; what the members say about rows is kept."""

    t_target = T_TARGET

    def __init__(self, members: list[Any], weights: Any, kept: dict[Any, Any]) -> None:
        self.members, self.weights, self.kept = members, weights, kept

    def predict(self, X: Any) -> Any:
        """The label with the largest weighted mean of the members' probabilities."""
        place = (X.__array_interface__["data"][0], len(X)) if isinstance(X, np.ndarray) else (id(X), len(X))
        if place not in self.kept:
            self.kept[place] = [member.predict_proba(X)[:, 1] for member in self.members]
        mean = sum(weight * chances for weight, chances in zip(self.weights, self.kept[place], strict=True))
        return (mean > 0.5).astype(np.uint8)


def of_family(family: Any, size: int, seed: Seed) -> Problem:
    """A random model, its first rows, and T."""
    task = family.task(Seed((*seed.content, family.identity)))
    X, y = task.training(size)
    return Problem(X, y, lambda rule: task.judge.score(rule).t)


def of_table(X: pd.DataFrame, y: Any, size: int, seed: Seed) -> Problem:
    """A split of a table, and the accuracy on the other rows."""
    state = int(seed.rng("split").integers(2**31 - 1))
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=size, stratify=y, random_state=state)
    return Problem(X_train, y_train, lambda rule: float((rule.predict(X_test) == y_test).mean()))


def cells(folder: Path) -> Iterator[Cell]:
    """All cells in the order of the table."""
    small: list[Any] = [
        *(CIAFamily(10, k, 0.9) for k in (2, 3, 5, 8)),
        *(TreeFamily(10, d, 0.9) for d in (0.5, 1, 2)),
        TwoHiddenFamily(10, 0.9),
        *(ThresholdFamily(10, r, 0.05, 0.9) for r in (5, 7)),
    ]
    large = [CIAFamily(75, k, 0.9) for k in (2, 3, 5)]
    for families, sizes in ((small, (100, 300, 1000)), (large, (200, 1000))):
        yield from (Cell(one.name, size, partial(of_family, one, size)) for one in families for size in sizes)
    for path in sorted(folder.glob("*.csv")):
        table = pd.read_csv(path)
        if "target" in table:
            X, target = table.drop(columns="target"), table["target"]
            y = (target == target.mode()[0]).to_numpy().astype(np.uint8)
            smaller = [SMALL] if len(X) >= FEWEST_ROWS else []
            for size in (2 * len(X) // 3, *smaller):
                yield Cell(path.stem, size, partial(of_table, X, y, size))


def stacking_weights(chances: Any) -> Any:
    """Weights (m,) with the largest Σ_i log Σ_m w_m P_im, by EM."""
    weights = np.full(chances.shape[1], 1 / chances.shape[1])
    for _ in range(1_000):
        shares = weights * chances
        weights = (shares / shares.sum(axis=1, keepdims=True)).mean(axis=0)
    return weights


def measured(cell: Cell, index: int) -> dict[str, Any]:
    """Scores of the members and of the three ways to combine them, in one world."""
    started, seed = time.process_time(), Seed((SEED, cell.name, cell.size, index))
    X, y, score = cell.problem(Seed((SEED, index)))
    random = np.random.RandomState(int(seed.rng("adaptive").integers(2**31 - 1)))
    named = {name: clone(member) for name, member in default_members()}
    for member in named.values():
        states = [key for key in member.get_params() if key.endswith("random_state")]
        member.set_params(**{key: int(random.randint(2**31 - 1)) for key in states})
    n_folds = min(N_FOLDS, int(np.bincount(y).min()))
    chances = held_out_chances(list(named.values()), X, y, n_folds, random)
    losses = -np.log(chances).mean(axis=(0, 1))
    members = [member.fit(X, y) for member in named.values()]
    kept: dict[Any, Any] = {}
    units = np.eye(len(members))
    weights = {
        "rule": adaptive_weights(np.log(chances).mean(axis=0), prior_weights(len(members)), random),
        "selection": units[losses.argmin()],
        "stacking": stacking_weights(chances.mean(axis=0)),
        **dict(zip(named, units, strict=True)),
    }
    scores = {name: score(Combination(members, one, kept)) for name, one in weights.items()}
    shares = {way: np.round(weights[way], 4).tolist() for way in WAYS}
    return {"cell": cell.name, "size": cell.size, "world": index, "scores": scores, "weights": shares,
            "losses": losses.tolist(), "seconds": round(time.process_time() - started, 2)}  # fmt: skip


def run(chosen: list[Cell], worlds: int, out: Path) -> None:
    """Append what is missing, one world of every cell after the other."""
    done = {(line["cell"], line["size"], line["world"]) for line in lines_of(out)}
    out.parent.mkdir(parents=True, exist_ok=True)
    for index in range(worlds):
        for cell in chosen:
            if (cell.name, cell.size, index) not in done:
                line = json.dumps(measured(cell, index))
                with out.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")


def lines_of(out: Path) -> list[dict[str, Any]]:
    """Lines that are finished; one that was cut short is left out."""
    text = out.read_text(encoding="utf-8") if out.exists() else ""
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def summary(lines: list[dict[str, Any]]) -> pd.DataFrame:
    """One row per cell: worlds, the best member, and the ways less that member, with errors."""
    found = []
    for (name, size), own in pd.DataFrame(lines).groupby(["cell", "size"], sort=False):
        scores = pd.DataFrame(own["scores"].tolist())
        best = scores.drop(columns=list(WAYS)).mean().idxmax()
        leads = scores[list(WAYS)].sub(scores[best], axis=0)
        errors = leads.sem().add_suffix(" error")
        weight = np.mean([line["rule"][0] for line in own["weights"]])
        row = {"cell": name, "size": size, "worlds": len(own), "best": best, "of the best": scores[best].mean()}
        found.append({**row, **leads.mean(), **errors, "mixture": weight})
    return pd.DataFrame(found)


def as_text(table: pd.DataFrame) -> str:
    """Markdown: a line per cell, and what the thresholds say about all of them."""
    lines = ["| cell | examples | worlds | best member | its score | rule | selection | stacking | mixture's weight |"]
    lines.append("|" + "---|" * 9)
    for _, row in table.iterrows():
        ways = " | ".join(f"{row[way]:+.3f} ± {row[f'{way} error']:.3f}" for way in WAYS)
        start = f"| {row['cell']} | {row['size']:,} | {row['worlds']} | {SHORT[row['best']]} | {row['of the best']:.3f}"
        lines.append(f"{start} | {ways} | {row['mixture']:.2f} |")
    lines += ["", "| less the best member, over cells | mean | within .03 | within .05 | worst |", "|" + "---|" * 5]
    for way in WAYS:
        lead = table[way]
        shares = " | ".join(f"{(lead >= -near).mean():.0%}" for near in (0.03, 0.05))
        lines.append(f"| {way} | {lead.mean():+.3f} | {shares} | {lead.min():+.3f} |")
    return "\n".join(lines)


def write_page(text: str) -> None:
    """Put the table between the marks of the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- cells -->\n")
    after = rest.partition("<!-- /cells -->")[2]
    PAGE.write_text(f"{before}<!-- cells -->\n\n{text}\n\n<!-- /cells -->{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "adaptive.jsonl")
    parser.add_argument("--worlds", type=int, default=50)
    parser.add_argument("--cells", nargs="+", help="Names of cells (default: all).")
    parser.add_argument("--report", action="store_true", help="Compute nothing.")
    parser.add_argument("--write", action="store_true", help="Put the table into the page.")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    all_cells = list(cells(options.folder))
    if not options.report:
        run([one for one in all_cells if not options.cells or one.name in options.cells], options.worlds, options.out)
    order = {(one.name, one.size): place for place, one in enumerate(all_cells)}
    lines = sorted(lines_of(options.out), key=lambda line: order[line["cell"], line["size"]])
    text = as_text(summary(lines))
    print(text)
    if options.write:
        write_page(text)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
