"""How often latent classes are said not to fit, rightly and wrongly: `python experiments/advice_misfit.py`.

Tables of 1,000 rows and eleven binary columns, the target among them, are drawn from random mixtures of three classes,
where an alarm is wrong, and from worlds in which attributes depend on each other along a tree, where it is right; and
tables of 1,000 rows and 20 columns of all kinds, with a tenth of their cells missing, from mixtures of three classes.

Every table becomes a line of FILE (default: results/advice_misfit.jsonl); a run that was stopped goes on where it was.
`--report` computes nothing and prints the table; `--write` puts it into docs/science/advice.md.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from advice_page import append, lines_of, write_part
from ciabench import CIAFamily, TreeFamily
from ciabench.findings.misfit import misfit
from ciabench.seeds import Seed

ROOT = Path(__file__).parents[1]
SEED, N_ROWS, MISSING = 1997, 1_000, 0.1
FAMILIES: dict[str, Any] = {
    "3 classes": CIAFamily(10, 3, 0.9),
    "5 classes": CIAFamily(10, 5, 0.9),
    "tree(1)": TreeFamily(10, 1, 0.9),
    "tree(2)": TreeFamily(10, 2, 0.9),
}
MIXED = "3 classes, mixed columns"
TABLES = {"3 classes": 200, "5 classes": 100, MIXED: 50, "tree(1)": 200, "tree(2)": 200}


def table_of(kind: str, seed: Seed) -> Any:
    """A table of a kind."""
    if kind == MIXED:
        return mixed(seed.rng("table"))
    X, y = FAMILIES[kind].draw(rng=seed.rng("model")).sample(N_ROWS, rng=seed.rng("rows"))
    return np.column_stack([y, X])


def mixed(rng: np.random.Generator) -> pd.DataFrame:
    """A mixture of three classes with eight binary, six categorical and six numeric columns, and missing cells."""
    hidden = rng.choice(3, N_ROWS, p=[0.5, 0.3, 0.2])
    columns: dict[str, Any] = {}
    for place in range(8):
        columns[f"binary {place}"] = rng.random(N_ROWS) < rng.beta(1, 1, 3)[hidden]
    for place in range(6):
        chances = rng.dirichlet(np.ones(4), 3).cumsum(axis=1)[:, :3]
        columns[f"text {place}"] = np.array(list("abcd"))[(rng.random(N_ROWS)[:, None] > chances[hidden]).sum(axis=1)]
    for place in range(6):
        columns[f"number {place}"] = rng.normal(rng.normal(0, 1.5, 3)[hidden], rng.uniform(0.5, 1.5, 3)[hidden])
    frame = pd.DataFrame(columns).astype({f"binary {place}": object for place in range(8)})
    return frame.mask(rng.random(frame.shape) < MISSING)


def measured(kind: str, index: int) -> dict[str, Any]:
    """What the test says of one table."""
    table, started = table_of(kind, Seed((SEED, kind, index))), time.process_time()
    found = misfit(table, random_state=index)
    return {"kind": kind, "table": index, "alarm": found.is_alarm, "chosen": found.n_chosen, "classes": found.n_classes,
            "unexplained": len(found.unexplained), "seconds": round(time.process_time() - started, 2)}  # fmt: skip


def run(out: Path) -> None:
    """Append the tables that are missing."""
    done = {(line["kind"], line["table"]) for line in lines_of(out)}
    for kind, tables in TABLES.items():
        for index in range(tables):
            if (kind, index) not in done:
                append(out, measured(kind, index))


def as_text(lines: list[dict[str, Any]]) -> str:
    """Markdown: a line per kind of table."""
    names = ["tables", "number", "alarm", "at the number by BIC", "classes by BIC", "pairs named", "seconds"]
    found = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    for kind, own in pd.DataFrame(lines).groupby("kind", sort=False):
        at_first = own["classes"] > own["chosen"]
        shares = [f"{one:.1%}" for one in (own["alarm"].mean(), at_first.mean())]
        named = own.loc[own["alarm"], "unexplained"].mean()
        rest = [
            f"{own['chosen'].mean():.1f}",
            "–" if np.isnan(named) else f"{named:.1f}",
            f"{own['seconds'].mean():.1f}",
        ]
        found.append(f"| {' | '.join([str(kind), f'{len(own):,}', *shares, *rest])} |")
    return "\n".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "advice_misfit.jsonl")
    parser.add_argument("--report", action="store_true", help="Compute nothing.")
    parser.add_argument("--write", action="store_true", help="Put the table into the page.")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if not options.report:
        run(options.out)
    order = list(TABLES)
    text = as_text(sorted(lines_of(options.out), key=lambda line: order.index(line["kind"])))
    print(text)
    if options.write:
        write_part("misfit", text)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
