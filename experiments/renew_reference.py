"""Renew `results/reference` from finished experiments: `make reference` runs them first.

The first trials of every experiment as rows, with their provenance beside them; sufficient statistics of all trials,
with digests of the rows that they are of; learning curves and figures; and the claims, judged on the statistics, with
their verdicts in the README and in the package. An experiment without a store in `results/` keeps its committed rows.
`--learners EM "EM selected"` takes only the rows of these learners from the finished experiments and keeps the
committed rows of all others, which is what a new version of one learner needs; `--experiments departures` renews the
rows and figures of these experiments only. `--claims-only` judges the claims on the committed statistics again, and
runs and draws nothing.
"""

import argparse
import csv
import gzip
import hashlib
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ciabench.findings import paper, verdicts
from ciabench.findings.claims import Finding
from ciabench.findings.curves import worlds_of
from ciabench.findings.selection import combined
from ciabench.findings.statistics import Statistics, reference_findings
from ciabench.findings.tester import REFERENCE as PACKAGE_DATA
from ciabench.findings.tester import deciding, trials_needed
from ciabench.lab.storage.rows import read

if TYPE_CHECKING:
    from ciabench.lab.storage.store import Store

ROWS = {
    "paper": 300,
    "omitted": 40,
    "larger": 20,
    "beyond": 100,
    "spelling": 100,
    "brown": 100,
    "departures": 300,
    "limit": 200,
    "averaging": 100,
}
"""Experiments, and how many of their first trials are committed as rows."""

DRAWN = {"spelling": "*.png", "departures": "departures.png", "limit": "losses.png"}
"""Experiments whose figures are drawn from rows, and which of their files are committed."""

PAPER_LEARNERS = ("EM", "COV", "Winnow", "limit")
PASSED = [paper.named(n, k) for k in (3, 5) for n in (10, 25, 75, 200, 500)] + [
    paper.named(n, k, b) for k in (3, 5) for n in (10, 75) for b in (0.8, 0.95)
]
"""Worlds of which the size is listed at which Winnow passes EM."""

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
REFERENCE = RESULTS / "reference"
README = ROOT / "README.md"
PACKAGE = ROOT / "src" / "ciabench" / "findings"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims-only", action="store_true", help="Test the claims on the committed rows again.")
    parser.add_argument("--learners", nargs="+", help="Renew the rows of these learners only.")
    parser.add_argument("--experiments", nargs="+", choices=list(ROWS), default=list(ROWS), help="Renew these only.")
    options = parser.parse_args(arguments)
    if not options.claims_only:
        renew_rows(options.experiments, options.learners)
        renew_statistics()
        renew_figures(options.experiments)
    findings = reference_findings()
    renew_claims(findings)
    sys.stdout.write(verdicts.to_markdown(findings))


def renew_rows(experiments: Sequence[str], learners: Sequence[str] | None) -> None:
    """Export the first rows of experiments that have a store, or replace those of some learners."""
    from ciabench.lab.storage.export import export
    from ciabench.lab.storage.store import Store

    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name in experiments:
        if not (path := RESULTS / f"{name}.db").exists():
            continue
        with Store(path) as store:
            table = REFERENCE / f"{name}.csv.gz"
            if learners is None:
                view = replace(store.view(), trials=min(store.view().trials, ROWS[name]))
                export(store, "csv", table, timings=False, view=view)
            else:
                replace_learners(store, table, learners, ROWS[name])


class Digest(io.TextIOBase):
    """A stream that keeps only the digest of what is written to it, and counts the lines."""

    def __init__(self) -> None:
        self.hash, self.lines = hashlib.sha256(), 0

    def write(self, text: str) -> int:
        """Add text to the digest."""
        self.hash.update(text.encode())
        self.lines += text.count("\n")
        return len(text)


def renew_statistics() -> None:
    """Write the statistics of all rows: of a store where there is one, else of the committed table."""
    from ciabench.lab.storage.export import write
    from ciabench.lab.storage.store import Store

    parts, digests = [], dict[str, Any]()
    for name in ROWS:
        path, table = RESULTS / f"{name}.db", REFERENCE / f"{name}.csv.gz"
        if not path.exists() and not table.exists():
            continue
        parts.append(read(path if path.exists() else table).rows)
        if path.exists():
            with Store(path) as store:
                write(store, "csv", stream := Digest(), timings=False)
            digests[name] = {"rows": stream.lines - 1, "sha256": stream.hash.hexdigest()}
        else:
            digests[name] = {"rows": len(parts[-1]), "sha256": hashlib.sha256(table.read_bytes()).hexdigest()}
    Statistics.of_rows(combined(parts)).write(REFERENCE, digests)


def replace_learners(store: "Store", path: Path, learners: Sequence[str], trials: int) -> None:
    """Put the rows of some learners into a committed table, whose other lines stay as they are."""
    from ciabench.lab.storage.export import describe, write

    exported = io.StringIO(newline="")
    write(store, "csv", exported, timings=False, view=replace(store.view(), trials=trials))
    (header, *old), (new_header, *new) = (
        _lines(gzip.decompress(path.read_bytes()).decode()),
        _lines(exported.getvalue()),
    )
    assert header == new_header, (path, header, new_header)
    place = header.index("learner")
    keys = [header.index(key) for key in ("trial", "size")]
    order = {world: number for number, world in enumerate(dict.fromkeys(line[0] for line in new))}
    lines = [line for line in old if line[place] not in learners] + [line for line in new if line[place] in learners]
    lines.sort(key=lambda line: (order[line[0]], *(int(line[key]) for key in keys), line[place]))
    plain = io.StringIO(newline="")
    csv.writer(plain, lineterminator="\n").writerows([header, *lines])
    content = gzip.compress(plain.getvalue().encode(), mtime=0)
    kept = json.loads(path.with_name(f"{path.name}.json").read_text(encoding="utf-8"))["environments"]
    here = [{**made, "learners": list(learners)} for made in store.provenance()["environments"]]
    path.write_bytes(content)
    describe(path.with_name(f"{path.name}.json"), content, {**store.provenance(), "environments": [*kept, *here]})


def _lines(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def renew_figures(experiments: Sequence[str]) -> None:
    """Draw the figures of the reference: curves from the statistics, everything else from rows."""
    import matplotlib

    matplotlib.use("agg")
    from ciabench.findings.figures import write_curves, write_figures, write_overview

    with tempfile.TemporaryDirectory() as folder:
        for name in (name for name in DRAWN if name in experiments):
            paths = write_figures(read(REFERENCE / f"{name}.csv.gz").rows, folder)
            copied(path for path in paths if path.match(DRAWN[name]))
        curves = Statistics.read(REFERENCE).curves
        worlds = worlds_of(curves[["world", *paper.PARAMETERS]])
        chosen = curves[curves["learner"].isin(PAPER_LEARNERS)].drop(columns=paper.PARAMETERS)
        six = chosen[chosen["world"].isin(paper.SIX)]
        copied(path for path in write_curves(worlds.loc[list(paper.SIX)], six, Path(folder)) if path.suffix == ".png")
        shown = chosen[chosen["learner"] != "limit"]
        for stem, grid in grids(worlds).items():
            paths = write_overview(shown, shown, grid, Path(folder) / stem)
            copied(path for path in paths if path.suffix == ".png")


def copied(paths: Any) -> None:
    """Copy files into the reference."""
    for path in paths:
        shutil.copy(path, REFERENCE / path.name)


def grids(worlds: pd.DataFrame) -> dict[str, paper.Grid]:
    """Arrangements of what the paper mentions and omits: n by k at b = 0.9, and n and k by b."""
    known = set(worlds.index)
    larger = [[paper.named(n, k) for k in (2, 3, 5)] for n in (10, 25, 75, 200, 500)]
    omitted = [[paper.named(n, k, b) for b in (0.8, 0.9, 0.95)] for n in (10, 75) for k in (2, 3, 5)]
    grids: dict[str, paper.Grid] = {"larger": [], "omitted": []}
    for name, lines in (("larger", larger), ("omitted", omitted)):
        shown = [[world if world in known else None for world in line] for line in lines]
        grids[name] = [line for line in shown if any(line)]
    return grids


def renew_claims(findings: list[Finding]) -> None:
    """Write the findings beside the rows, their verdicts into the package and into the README."""
    (REFERENCE / "claims.md").write_text(
        f"{at_the_budget(verdicts.to_markdown(findings))}\n{passing_table()}\n{trials_table()}", encoding="utf-8"
    )
    (REFERENCE / "claims.json").write_text(verdicts.to_json(findings), encoding="utf-8")
    (PACKAGE / PACKAGE_DATA).write_text(verdicts.to_reference(findings), encoding="utf-8")
    README.write_text(with_table(README.read_text(encoding="utf-8"), findings), encoding="utf-8")


def at_the_budget(text: str) -> str:
    """Text in which a verdict that is undecided is said to be so at the budget: the reference adds no more trials."""
    return text.replace("undecided, leaning", "undecided at the budget, leaning")


def passing_table() -> str:
    """Markdown table of the sizes at which Winnow passes EM, by resampling from the covariances of mean leads."""
    statistics = Statistics.read(REFERENCE)
    lines = ["| world | size at which Winnow passes EM for good | 95% interval |", "|---|---|---|"]
    for world in (world for world in PASSED if world in statistics.moments):
        size, low, high = map(in_words, statistics.passing_size(world, "EM", "Winnow"))
        lines.append(f"| {world} | {size} | {low} … {high} |")
    return "\n".join(lines) + "\n"


def trials_table() -> str:
    """Markdown table of the trials of each world and size: the most that a learner has."""
    counts: dict[str, dict[int, int]] = {}
    for world, moments in Statistics.read(REFERENCE).moments.items():
        own = counts.setdefault(world, {})
        for (_, size), count in zip(moments.points, moments.trials.diagonal(), strict=True):
            own[size] = max(int(count), own.get(size, 0))
    sizes = sorted({size for own in counts.values() for size in own})
    lines = [f"| trials | {' | '.join(f's = {size:,}' for size in sizes)} |", "|---" * (len(sizes) + 1) + "|"]
    for world, own in counts.items():
        lines.append(f"| {world} | {' | '.join(f'{own[size]:,}' if size in own else '' for size in sizes)} |")
    return "\n".join(lines) + "\n"


def in_words(size: float) -> str:
    """A size, or that the leader was never passed."""
    return "never" if size == float("inf") else f"{size:,.0f}"


def robustness() -> dict[str, str]:
    """Share of the universes of the multiverse in which each claim holds, if it has been made."""
    path = REFERENCE / "multiverse.csv"
    if not path.exists():
        return {}
    table = pd.read_csv(path)
    holds = table.assign(holds=table["verdict"] == "holds").groupby("id")["holds"].agg(["sum", "count"])
    return {str(identity): f"{row['sum']} of {row['count']}" for identity, row in holds.iterrows()}


def with_table(readme: str, findings: list[Finding]) -> str:
    """README with a new table of verdicts between its marks."""
    before, _, rest = readme.partition("<!-- claims -->\n")
    after = rest.partition("<!-- /claims -->")[2]
    shares = robustness()
    columns = ["id", "claim", "verdict", "number", "interval", *(["robustness"] if shares else [])]
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for one in findings:
        best = deciding(one.evidence)
        number, interval = (f"{best.measured} ({best.statement})", best.interval) if best else (one.note, "")
        cells = [one.id, one.claim, verdict_of(one), number, interval, *([shares.get(one.id, "")] if shares else [])]
        lines.append(f"| {' | '.join(cells)} |")
    table = "\n".join(["", *lines, "", ""])
    return f"{before}<!-- claims -->\n{table}<!-- /claims -->{after}"


def verdict_of(finding: Finding) -> str:
    """Verdict for the README; of an undecided claim also how many trials would decide it, were its estimates true."""
    needed = trials_needed(finding.evidence) if finding.verdict.startswith("undecided") else None
    return at_the_budget(finding.verdict) + (f"; about {needed:,} trials would decide" if needed else "")


if __name__ == "__main__":
    main()
