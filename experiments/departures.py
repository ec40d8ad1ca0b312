"""The numbers of docs/science/departures.md, from finished rows: `python experiments/departures.py [STORE or TABLE]`.

By world the mean departure and T of every learner at the largest size; by kind the slope of EM's lead over Winnow on
the departure, and the departure at which it is lost, also by a smooth fit (cubic in the root of the departure); whether
the crossing points differ. The default is the committed table; `--write` puts its tables into the page.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from ciabench.findings.departure_figure import departure_table
from ciabench.findings.departures import crossing, heterogeneity, leads_by_departure, slope
from ciabench.lab.storage.rows import read

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "reference" / "departures.csv.gz"
PAGE = ROOT / "docs" / "science" / "departures.md"


def means(rows: pd.DataFrame) -> str:
    """Markdown table of mean departures and T by world."""
    found = departure_table(rows).drop(columns="trial").groupby("world", sort=False).mean()
    order = ["departure", "EM", "Winnow", "NaiveBayes", "projection"]
    lines = [
        "| world | departure (nats) | EM | Winnow | NaiveBayes | projection: EM's plateau |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| {world} | {' | '.join(f'{one[name]:.2f}' for name in order)} |" for world, one in found.iterrows()]
    return "\n".join(lines)


def crossings(rows: pd.DataFrame, sizes: list[int]) -> str:
    """Markdown table of slopes and crossing points by kind and size."""
    lines = [
        "| kind | examples | lead lost at (nats) | by a smooth fit | slope per nat | same parameters | mean lead |",
        "|---|---|---|---|---|---|---|",
    ]
    for size in sizes:
        for kind, own in leads_by_departure(rows, "EM", "Winnow", size).groupby("kind", sort=False):
            all_worlds, within = slope(own), slope(own, within_worlds=True)
            lines.append(
                f"| {kind} | {size:,} | {_interval(own)} | {_shown(smooth_crossing(own))} "
                f"| {all_worlds.mean:.2f} ± {all_worlds.error:.2f} | {within.mean:.2f} ± {within.error:.2f} "
                f"| {own['lead'].mean():+.2f} |"
            )
    return "\n".join(lines)


def _interval(leads: pd.DataFrame) -> str:
    """Crossing point with its interval, in words where there is none."""
    found = crossing(leads)
    if np.isfinite(found.log_error):
        return f"{found.nats:.3f} ({found.low:.3f} to {found.high:.3f})"
    least = leads["departure"].min()
    return f"nowhere: behind from {least:.2f} on" if found.high == 0 else f"not known: {found.high:.3f} at most"


def smooth_crossing(leads: pd.DataFrame) -> float:
    """Where a cubic in the root of the departure falls to zero; NaN if it does not where there are models."""
    roots = np.sqrt(leads["departure"])
    curve = np.polynomial.Polynomial.fit(roots, leads["lead"], 3)
    found = [one.real for one in curve.roots() if abs(one.imag) < 1e-9 and roots.min() <= one.real <= roots.max()]
    falling = [one for one in found if curve.deriv()(one) < 0]
    return float(np.min(falling)) ** 2 if falling else np.nan


def _shown(nats: float) -> str:
    return f"{nats:.3f}" if np.isfinite(nats) else "nowhere"


def with_tables(page: str, rows: pd.DataFrame) -> str:
    """Page with new tables between its marks."""
    for mark, table in (("means", means(rows)), ("crossings", crossings(rows, [1000, 200]))):
        page = re.sub(
            f"<!-- {mark} -->.*<!-- /{mark} -->", f"<!-- {mark} -->\n\n{table}\n\n<!-- /{mark} -->", page, flags=re.S
        )
    return page


def main(arguments: list[str]) -> None:
    sources = [one for one in arguments if one != "--write"]
    rows = read(sources[0] if sources else REFERENCE).rows
    print(means(rows), crossings(rows, sorted(rows["size"].unique())[-2:]), sep="\n\n", end="\n\n")
    leads = leads_by_departure(rows, "EM", "Winnow", int(rows["size"].max()))
    known = {kind: crossing(own) for kind, own in leads.groupby("kind", sort=False)}
    tested = heterogeneity([one for one in known.values() if np.isfinite(one.log_error)])
    print(f"crossing points at the largest size differ: Q = {tested.statistic:.1f}, p = {tested.p_value:.1g}")
    correlation = stats.spearmanr(leads["departure"], leads["lead"]).statistic
    print(f"Spearman's correlation of lead and departure over all {len(leads):,} models: {correlation:.2f}")
    if "--write" in arguments:
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
