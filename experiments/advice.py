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

from advice_page import append, lines_of, write_part
from ciabench.findings.advice_learners import learners_for
from ciabench.findings.advice_runs import Scores, plan_of, run, scores_of
from ciabench.findings.advice_table import TEST_SHARE, as_meant
from ciabench.lab.compute.fitting import Bench
from ciabench.lab.plan.learner import Learner, from_estimator
from ciabench.seeds import Seed
from ciabench.world.table import TableByRow
from ciabench.world.table_file import read_table

ROOT = Path(__file__).parents[1]
SEED, INNER, FOLDS = 1997, 5, 5
WAYS = {"advice": "the advice", "cv": "5-fold CV", "LogisticRegression": "always logistic regression",
        "GradientBoosting": "always gradient boosting"}  # fmt: skip
MEAN_BEHIND, TABLE_BEHIND, BEHIND_CV = 0.7, 2.5, 0.3
"""Points that the advice may be behind the best learner on average, and on a table (plus two standard errors), and
behind the pick of cross-validation on average."""


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
    learners = learners_for(asked.world.attributes, len(np.unique(asked.world.labels)))
    scores = inner(asked.world, learners, index)
    hits = partial(shares_right, [from_estimator(*pair) for pair in learners.items()], world, state=index)
    return {"table": name, "split": index, "rows": len(rows), "best": scores.best,
            "inner": scores.means("success").to_dict(), "cv": hits(list(folds(world.labels[rows], rows, index))),
            "outer": hits([(rows, test)]), "seconds": round(time.process_time() - started, 2)}  # fmt: skip


def inner(world: TableByRow, learners: dict[str, Any], index: int) -> Scores:
    """Scores on the splits of the advice, at the largest size, which is all that its pick depends on."""
    plan = plan_of(world, world.most_examples, learners, SEED + index, INNER, shares=(1,))
    with TemporaryDirectory() as folder:
        run(plan, Path(folder) / "inner.db", 1, budget=None)
        return scores_of(plan, Path(folder) / "inner.db")


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


def compute(folder: Path, splits: int, out: Path) -> None:
    """Append what is missing, one split of every table after the other."""
    done = {(line["table"], line["split"]) for line in lines_of(out)}
    for index in range(splits):
        for name, table in tables(folder).items():
            if (name, index) not in done:
                append(out, measured(name, table, index))


def points_behind(lines: list[dict[str, Any]]) -> pd.DataFrame:
    """One row per table: its best learner, and the points that each pick is behind it, with standard errors."""
    found = []
    for name, own in pd.DataFrame(lines).groupby("table"):
        outer = 100 * pd.DataFrame(own["outer"].tolist(), index=own.index)
        best = str(outer.mean().idxmax())
        row = {"table": name, "rows": own["rows"].iloc[0], "splits": len(own), "best": best,
               "accuracy": outer[best].mean(), "pick": own["best"].mode()[0]}  # fmt: skip
        for way, picks in picks_of(own).items():
            behind = outer[best] - [outer.at[line, pick] for line, pick in picks.items()]
            row |= {way: behind.mean(), f"{way} error": behind.sem()}
        found.append(row)
    return pd.DataFrame(found)


def picks_of(lines: pd.DataFrame) -> dict[str, "pd.Series[Any]"]:
    """The learner that each way to choose one takes in each split."""
    by_folds = lines["cv"].map(lambda shares: max(shares, key=shares.get))
    return {"advice": lines["best"], "cv": by_folds,
            **{way: pd.Series(way, index=lines.index) for way in WAYS if way not in ("advice", "cv")}}  # fmt: skip


def as_text(behind: pd.DataFrame) -> str:
    """Markdown: points behind the best learner, by table, and on average."""
    names = ["table", "rows", "best learner", "accuracy", "the advice's pick, most often", *WAYS.values()]
    found = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for _, row in behind.iterrows():
        cells = [row["table"], row["rows"], row["best"], f"{row['accuracy']:.1f}%", row["pick"]]
        cells += [f"{row[way]:.2f} ± {row[f'{way} error']:.2f}" for way in WAYS]
        found.append(f"| {' | '.join(map(str, cells))} |")
    for name, statistic in (("mean", "mean"), ("worst", "max")):
        cells = [f"**{name}**", "", "", "", "", *(f"**{one:.2f}**" for one in behind[list(WAYS)].agg(statistic))]
        found.append(f"| {' | '.join(cells)} |")
    return "\n".join(found)


def judged(behind: pd.DataFrame) -> str:
    """Markdown: what was asked, and what came."""
    behind = behind.assign(allowed=TABLE_BEHIND + 2 * behind["advice error"])
    nearest = behind.loc[int((behind["advice"] - behind["allowed"]).to_numpy().argmax())]
    beyond, over_cv = (behind["advice"] > behind["allowed"]).sum(), (behind["advice"] - behind["cv"]).mean()
    return f"""Over {len(behind)} tables, {behind["splits"].min()} splits of each, the advice's pick is

- behind the best learner by {behind["advice"].mean():.2f} points on average (asked: at most {MEAN_BEHIND});
- behind it by more than {TABLE_BEHIND} points and two standard errors on {beyond} tables (asked: none); nearest is
  {nearest["table"]}, {nearest["advice"]:.2f} points where {nearest["allowed"]:.2f} are allowed;
- behind the pick of 5-fold CV by {over_cv:.2f} points on average (asked: at most {BEHIND_CV})."""


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
        compute(options.folder, options.splits, options.out)
    behind = points_behind(lines_of(options.out))
    text = f"{as_text(behind)}\n\n{judged(behind)}"
    print(text)
    if options.write:
        write_part("advice", text)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
