"""Renew `results/reference` from finished experiments: `make reference` runs them first.

Rows as CSV with their provenance beside them, the six figures and the overview as PNG, and the claims tested on all
rows together, with their verdicts in the README and in the package. `--learners EM "EM selected"` takes only the rows
of these learners from the finished experiments and keeps the committed rows of all others, which is what a new version
of one learner needs; `--experiments departures` renews the rows and figures of these experiments only. `--claims-only`
tests the claims on the committed rows again, and runs and draws nothing.
"""

import argparse
import csv
import gzip
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ciabench.findings import verdicts
from ciabench.findings.claims import Finding, check_claims
from ciabench.findings.selection import combined
from ciabench.findings.tester import REFERENCE as PACKAGE_DATA
from ciabench.lab.storage.rows import read

if TYPE_CHECKING:
    from ciabench.lab.storage.store import Store

EXPERIMENTS = ("paper", "omitted", "beyond", "spelling", "departures", "limit")
DRAWN = {"paper": "[fo]*.png", "spelling": "*.png", "departures": "departures.png", "limit": "losses.png"}
"""Experiments whose figures are committed, and which of their files."""

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
REFERENCE = RESULTS / "reference"
README = ROOT / "README.md"
PACKAGE = ROOT / "src" / "ciabench" / "findings"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--claims-only", action="store_true", help="Test the claims on the committed rows again.")
    parser.add_argument("--learners", nargs="+", help="Renew the rows of these learners only.")
    parser.add_argument("--experiments", nargs="+", choices=EXPERIMENTS, default=EXPERIMENTS, help="Renew these only.")
    options = parser.parse_args(arguments)
    if not options.claims_only:
        renew_rows(options.experiments, options.learners)
        renew_figures(options.experiments)
    findings = reference_findings()
    renew_claims(findings)
    sys.stdout.write(verdicts.to_markdown(findings))


def renew_rows(experiments: Sequence[str], learners: Sequence[str] | None) -> None:
    """Export the rows of experiments, or replace those of some learners."""
    from ciabench.lab.storage.export import export
    from ciabench.lab.storage.store import Store

    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name in experiments:
        with Store(RESULTS / f"{name}.db") as store:
            table = REFERENCE / f"{name}.csv.gz"
            if learners is None:
                export(store, "csv", table, timings=False)
            else:
                replace_learners(store, table, learners)


def replace_learners(store: "Store", path: Path, learners: Sequence[str]) -> None:
    """Put the rows of some learners into a committed table, whose other lines stay as they are."""
    from ciabench.lab.storage.export import write, write_beside

    exported = io.StringIO(newline="")
    write(store, "csv", exported, timings=False)
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
    write_beside(path, content, {**store.provenance(), "environments": [*kept, *here]})


def _lines(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def renew_figures(experiments: Sequence[str]) -> None:
    """Draw the figures of the reference; those of the paper show the limit, and are drawn again with it."""
    import matplotlib

    matplotlib.use("agg")
    from ciabench.findings.figures import write_figures
    from ciabench.findings.limits import limit_of

    chosen = {*experiments, "paper"} if "limit" in experiments else {*experiments}
    for name in (name for name in DRAWN if name in chosen):
        rows = read(REFERENCE / f"{name}.csv.gz").rows
        rows = combined([rows, limit_of(rows)]) if name == "paper" else rows
        with tempfile.TemporaryDirectory() as folder:
            for path in write_figures(rows, folder):
                if path.match(DRAWN[name]):
                    shutil.copy(path, REFERENCE / path.name)


def reference_findings() -> list[Finding]:
    """Findings on all committed rows together."""
    rows = combined(read(REFERENCE / f"{name}.csv.gz").rows for name in EXPERIMENTS)
    return check_claims(rows, beside_reference=False)


def renew_claims(findings: list[Finding]) -> None:
    """Write the findings beside the rows, their verdicts into the package and into the README."""
    (REFERENCE / "claims.md").write_text(verdicts.to_markdown(findings), encoding="utf-8")
    (REFERENCE / "claims.json").write_text(verdicts.to_json(findings), encoding="utf-8")
    (PACKAGE / PACKAGE_DATA).write_text(verdicts.to_reference(findings), encoding="utf-8")
    README.write_text(with_table(README.read_text(encoding="utf-8"), findings), encoding="utf-8")


def with_table(readme: str, findings: list[Finding]) -> str:
    """README with a new table of verdicts between its marks."""
    before, _, rest = readme.partition("<!-- claims -->\n")
    after = rest.partition("<!-- /claims -->")[2]
    lines = ["| id | claim | verdict | trials |", "|---|---|---|---|"]
    lines += [f"| {one.id} | {one.claim} | {one.verdict} | {one.trials} |" for one in findings]
    table = "\n".join(["", *lines, "", ""])
    return f"{before}<!-- claims -->\n{table}<!-- /claims -->{after}"


if __name__ == "__main__":
    main()
