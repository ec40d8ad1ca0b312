"""Is the advice right? `python experiments/advice.py FOLDER [--out FILE] [--splits 20] [--report] [--write]`.

FOLDER has tables: CSV files with a column `target`. Each is split repeatedly, stratified: two thirds of its rows are
the table of a person who asks for advice, with a fixed number of inner splits (5); the rest says how well each learner,
fitted to these two thirds, does on new rows. The advice's pick is compared with the best learner of the table (in the
mean over all splits), with the pick of plain 5-fold cross-validation among the same learners, and with two habits:
always logistic regression, and always gradient boosting.

Every split of a table becomes a line of FILE (default: results/advice.jsonl), one split of every table after the other;
a run that was stopped goes on where it was. `--report` computes nothing and prints the table; `--write` puts it into
docs/science/advice.md. Twenty splits of 14 tables with up to 3,200 rows take about 45 minutes of processor time.
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from ciabench.findings.advice_learners import learners_for
from ciabench.findings.advice_table import TEST_SHARE, as_meant
from ciabench.lab.compute.fitting import Bench
from ciabench.lab.plan.learner import Learner, from_estimator
from ciabench.lab.plan.plan import Plan
from ciabench.lab.session import run_plan
from ciabench.seeds import Seed
from ciabench.world.table import TableByRow
from ciabench.world.table_file import read_table

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "science" / "advice.md"
SEED, INNER, FOLDS = 1997, 5, 5
WAYS = {"advice": "the advice", "cv": "5-fold CV", "LogisticRegression": "always logistic regression",
        "GradientBoosting": "always gradient boosting"}  # fmt: skip
POINTS = 100


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """Tables of the folder that have a target."""
    found = {path.stem: read_table(path) for path in sorted(folder.glob("*.csv"))}
    return {name: table for name, table in found.items() if "target" in table}


def measured(name: str, table: pd.DataFrame, index: int) -> dict[str, Any]:
    """Accuracies in one split: of all learners on the inner splits, by cross-validation, and on the rows held out."""
    started = time.process_time()
    whole = TableByRow(table, target="target", test_share=TEST_SHARE, name=name)
    rows, test = whole.split(Seed((SEED, name, index)))
    kept = table[table["target"].isin(whole.labels)]  # the world leaves out classes with one row
    asked = as_meant(kept.iloc[rows].reset_index(drop=True), "target", name=name)
    world = TableByRow(table.drop(columns=[one.column for one in asked.left_out]), target="target")
    n_classes = len(np.unique(world.labels))
    learners = [from_estimator(*pair) for pair in learners_for(asked.world.attributes, n_classes).items()]
    hits = partial(shares_right, learners, world, state=index)
    return {"table": name, "split": index, "rows": len(rows), "inner": inner(asked.world, learners, index),
            "cv": hits(list(folds(world.labels[rows], rows, index))), "outer": hits([(rows, test)]),
            "seconds": round(time.process_time() - started, 2)}  # fmt: skip


def inner(world: TableByRow, learners: list[Learner], index: int) -> dict[str, list[float]]:
    """Accuracies on the splits of the advice."""
    plan = Plan(SEED + index, INNER, (world.most_examples,), (world,), tuple(learners), guard_foreign=False)
    with TemporaryDirectory() as folder:
        scores = run_plan(plan, Path(folder) / "inner.db", 1)
    return {name: np.round(own["success"], 6).tolist() for name, own in scores.groupby("learner", sort=False)}


def folds(labels: Any, rows: Any, index: int) -> Iterator[tuple[Any, Any]]:
    """Training and test rows of plain cross-validation."""
    for training, test in StratifiedKFold(FOLDS, shuffle=True, random_state=index).split(labels, labels):
        yield rows[training], rows[test]


def shares_right(learners: list[Learner], world: TableByRow, parts: list[Any], state: int) -> dict[str, float]:
    """Share of all test rows on which each learner is right."""
    labels, found = world.labels, {}
    classes, bench = np.unique(labels), Bench()
    for learner in learners:
        right = 0
        for training, test in parts:
            bench.fit(learner, state, world.attributes.iloc[training], labels[training], classes)
            right += int((classes[bench.predict(world.attributes.iloc[test])] == labels[test]).sum())
        found[learner.name] = right / sum(len(test) for _, test in parts)
    return found


def run(folder: Path, splits: int, out: Path) -> None:
    """Append what is missing, one split of every table after the other."""
    done = {(line["table"], line["split"]) for line in lines_of(out)}
    out.parent.mkdir(parents=True, exist_ok=True)
    for index in range(splits):
        for name, table in tables(folder).items():
            if (name, index) not in done:
                line = json.dumps(measured(name, table, index))
                with out.open("a", encoding="utf-8") as file:
                    file.write(line + "\n")


def lines_of(out: Path) -> list[dict[str, Any]]:
    """Lines that are finished; one that was cut short is left out."""
    text = out.read_text(encoding="utf-8") if out.exists() else ""
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "advice.jsonl")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--report", action="store_true", help="Compute nothing.")
    parser.add_argument("--write", action="store_true", help="Put the table into the page.")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if not options.report:
        run(options.folder, options.splits, options.out)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
