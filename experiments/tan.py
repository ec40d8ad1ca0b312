"""TAN beside other learners on tables: `python experiments/tan.py FOLDER [TABLE …]` (about fifteen minutes).

Every CSV file of the folder that has a column `target`, or those that are named. All learners see the same ten splits
into 80% training and 20% test rows. "textbook" is the plain TAN of tests/learners/textbook_tan.py; it takes missing
cells as a level. Naive Bayes is the network in which the class is the only parent of every column. The others see bits
(BitEncoder, five intervals), one class against the rest where there are more than two. Accuracies in percent; the last
column is the difference between TAN and the textbook with its standard error over the splits.
"""

import sys
import warnings
from pathlib import Path

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from ciabench import EM, BitEncoder, NetworkClassifier, Table, Winnow, learning_curve

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "learners"))
from textbook_tan import TextbookTAN

TRIALS, SEED = 10, 30
LEAST_ROWS = 2
"""Rows of a label that is kept."""


def on_bits(learner, n_classes):
    rule = learner if n_classes == 2 else OneVsRestClassifier(learner)
    return make_pipeline(BitEncoder(n_bins=5), rule)


def measured(path: Path) -> dict[str, object]:
    """A line of the table."""
    table = pd.read_csv(path)
    table = table[table.groupby("target")["target"].transform("size") >= LEAST_ROWS]
    X, y = table.drop(columns="target"), table["target"].to_numpy()
    n_classes = len(set(y))
    learners = {
        "TAN": NetworkClassifier(),
        "textbook": TextbookTAN(),
        "naive Bayes": NetworkClassifier(structure=[("y", name) for name in X.columns]),
        "EM": on_bits(EM(n_init=5, tol=1e-4, random_state=SEED), n_classes),
        "Winnow": on_bits(Winnow(n_passes="auto", random_state=SEED), n_classes),
        "logistic": on_bits(LogisticRegression(max_iter=1000), n_classes),
    }
    rows = learning_curve(Table(X, y), learners, sizes=[len(table)], trials=TRIALS, random_state=SEED)
    wide = rows.pivot(index="trial", columns="learner", values="success")[list(learners)] * 100
    lead = wide["TAN"] - wide["textbook"]
    missing = X.isna().to_numpy().mean()
    shape = {"table": path.stem, "rows": len(X), "columns": X.shape[1], "classes": n_classes}
    means = {name: f"{value:.1f}" for name, value in wide.mean().items()}
    return {**shape, "missing": f"{missing:.1%}", **means, "TAN − textbook": f"{lead.mean():+.2f} ± {lead.sem():.2f}"}


def main() -> None:
    warnings.filterwarnings("ignore")
    folder, *names = sys.argv[1:]
    lines = []
    for path in sorted(Path(folder).glob("*.csv")):
        has_target = "target" in pd.read_csv(path, nrows=1).columns
        if has_target and (not names or path.stem in names):
            lines.append(measured(path))
            line = lines[-1]
            if len(lines) == 1:
                print(f"| {' | '.join(line)} |\n|{'---|' * len(line)}")
            print(f"| {' | '.join(map(str, line.values()))} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
