"""The numbers of docs/science/averaging.md, from finished rows: `python experiments/averaging.py STORE_OR_TABLE …`.

By world and size, over the trials that all learners with rows of that cell have: mean T of every learner; the lead of
BayesianMixture over the best of the others (by its mean, so the comparison is a hard one) with its standard error,
paired over trials; and whether it is significantly (one-sided, 5%) more than .05 behind. `--write NAME` puts the table
into the page, where it says `<!-- NAME -->`.
"""

import argparse
import re
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from ciabench.lab.storage.rows import read

PAGE = Path(__file__).parents[1] / "docs" / "science" / "averaging.md"
OWN = "BayesianMixture"
OTHERS = ("EM", "COV", "COV factor", "Winnow", "NaiveBayes", "EM selected")
MARGIN, LEVEL = 0.05, 0.05


def paired(paths: list[str]) -> pd.DataFrame:
    """T by world, size and trial, one column per learner."""
    rows = pd.concat([read(path).rows for path in paths])
    wide = rows[rows["learner"].isin((OWN, *OTHERS))].pivot_table(
        index=["world", "size", "trial"], columns="learner", values="t", aggfunc="first"
    )
    return wide.loc[wide[OWN].notna(), [name for name in (OWN, *OTHERS) if name in wide]]


def cells(wide: pd.DataFrame) -> pd.DataFrame:
    """One row per world and size."""
    found = []
    for (world, size), rows in wide.groupby(level=["world", "size"]):
        own = rows.dropna(axis=1, how="all").dropna()
        means = own.mean()
        best = means.drop(OWN).idxmax()
        leads = own[OWN] - own[best]
        high = leads.mean() + stats.t.ppf(1 - LEVEL, len(leads) - 1) * leads.sem()
        found.append(
            {"world": world, "s": size, "trials": len(own), **means, "best other": best, "lead": leads.mean(),
             "error": leads.sem(), "behind": high < -MARGIN}
        )  # fmt: skip
    return pd.DataFrame(found)


def markdown(table: pd.DataFrame) -> str:
    """The cells as a table."""
    learners = [name for name in (OWN, *OTHERS) if name in table]
    lines = [f"| world | s | {' | '.join(learners)} | lead over the best other |", "|---" * (len(learners) + 3) + "|"]
    for cell in table.to_dict("records"):
        values = " | ".join("–" if np.isnan(cell[name]) else f"{cell[name]:.2f}" for name in learners)
        mark = ", **behind**" if cell["behind"] else ""
        lines.append(
            f"| {cell['world']} | {cell['s']} | {values} | {cell['lead']:+.3f} ± {cell['error']:.3f} "
            f"({cell['best other']}{mark}) |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="+", help="stores or tables")
    parser.add_argument("--write", metavar="NAME", help="put the table into the page")
    options = parser.parse_args()
    table = cells(paired(options.rows))
    trials = " to ".join(f"{number}" for number in sorted({table["trials"].min(), table["trials"].max()}))
    text = f"{markdown(table)}\n\nTrials per cell: {trials}.\n"
    print(f"{text}\n{int(np.sum(table['behind']))} of {len(table)} cells significantly more than {MARGIN} behind")
    if options.write:
        page, name = PAGE.read_text(encoding="utf-8"), options.write
        marked = rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)"
        PAGE.write_text(re.sub(marked, lambda m: f"{m[1]}\n{text}{m[2]}", page, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
