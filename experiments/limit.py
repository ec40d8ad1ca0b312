"""The numbers of docs/science/limit.md, from finished rows: `python experiments/limit.py [STORE or TABLE …]`.

By world and size: the limit with its standard error; the best learner and how far it is below; the T of the chains that
started at random less that of those that started at the truth; the lead over the unweighted rule. Two tests follow,
paired over trials, one-sided, with Holm's correction at 5%: is a learner above the limit, or the limit below the
unweighted rule? The default is the committed table; `--write` puts the first table into the page.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from ciabench.findings.looks import REFERENCES
from ciabench.findings.selection import combined
from ciabench.lab.storage.rows import read

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "reference" / "limit.csv.gz"
PAGE = ROOT / "docs" / "science" / "limit.md"
LEVEL, MARK = 0.05, 0.02


def points(rows: pd.DataFrame) -> dict[tuple[str, int], pd.DataFrame]:
    """T of all learners by world and size, one row per trial that has a limit."""
    limit = rows[rows["learner"] == "limit"]
    facts = limit.set_index(["world", "size", "trial"])[["limit_random", "limit_truth", "limit_unweighted"]]
    wide = rows.pivot(index=["world", "size", "trial"], columns="learner", values="t")
    joined = wide.join(facts).dropna(subset=["limit"])
    found: dict[tuple[str, int], pd.DataFrame] = {}
    for key, own in joined.groupby(["world", "size"], sort=False):
        world, size = key
        found[str(world), int(size)] = own  # type: ignore[call-overload]
    return found


def learners_of(own: pd.DataFrame) -> list[str]:
    """Learners that have a T at this point."""
    known = own.columns[own.notna().sum() > 1]
    return [name for name in known if name not in REFERENCES and not name.startswith("limit")]


def table(found: dict[tuple[str, int], pd.DataFrame]) -> str:
    """Markdown: a line per world and size."""
    head = "| world | examples | trials | limit | unweighted | best learner | below the limit by | random − truth |"
    lines = [head, "|" + "---|" * 8]
    for (world, size), own in found.items():
        names = learners_of(own)
        best = str(own[names].mean().idxmax()) if names else ""
        behind = _shown((own["limit"] - own[best]).dropna()) if names else ""
        halves = (own["limit_random"] - own["limit_truth"]).dropna()
        mark = " (marked)" if abs(halves.mean()) > max(MARK, 2 * float(halves.sem())) else ""
        lines.append(
            f"| {world} | {size:,} | {len(own)} | {_shown(own['limit'])} | {own['limit_unweighted'].mean():.3f} "
            f"| {best} | {behind} | {_shown(halves)}{mark} |"
        )
    return "\n".join(lines)


def _shown(values: "pd.Series[float]") -> str:
    return f"{values.mean():.3f} ± {values.sem():.3f}"


def significant(differences: dict[str, "pd.Series[float]"]) -> str:
    """How many mean differences are significantly above 0 (Holm), and the largest statistics."""
    tests = {name: stats.ttest_1samp(values, 0, alternative="greater") for name, values in differences.items()}
    order = sorted(tests, key=lambda name: tests[name].pvalue)
    n_found = 0
    while n_found < len(order) and tests[order[n_found]].pvalue < LEVEL / (len(order) - n_found):
        n_found += 1
    shown = [f"{name}: {differences[name].mean():+.3f}, p = {tests[name].pvalue:.2g}" for name in order[:3]]
    return f"{n_found} of {len(order)}; smallest p: {'; '.join(shown)}"


def main(arguments: list[str]) -> None:
    sources = [one for one in arguments if one != "--write"] or [str(REFERENCE)]
    found = points(combined(read(source).rows for source in sources))
    print(table(found), end="\n\n")
    above = {
        f"{name} at {world}, s = {size}": (own[name] - own["limit"]).dropna()
        for (world, size), own in found.items()
        for name in learners_of(own)
    }
    below = {
        f"{world}, s = {size}": (own["limit_unweighted"] - own["limit"]).dropna()
        for (world, size), own in found.items()
    }
    print(f"learners significantly above the limit: {significant(above)}")
    print(f"points at which the limit is significantly below the unweighted rule: {significant(below)}")
    loss = {
        size: np.concatenate(
            [
                own["limit"] - (own["limit_random"] + own["limit_truth"]) / 2
                for (_, at), own in found.items()
                if at == size
            ]
        )
        for size in dict.fromkeys(size for _, size in found)
    }
    print("the limit less the mean of its halves, which have at most half of the draws, by size:")
    print("; ".join(f"{size:,}: {np.mean(one):+.3f} ± {stats.sem(one):.3f}" for size, one in loss.items()))
    if "--write" in arguments:
        marked = f"<!-- points -->\n\n{table(found)}\n\n<!-- /points -->"
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(re.sub("<!-- points -->.*<!-- /points -->", marked, page, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
