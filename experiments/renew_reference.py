"""Renew `results/reference` from finished experiments: `make reference` runs them first.

Rows as CSV with their provenance beside them, the six figures and the overview as PNG, and the claims tested on all
rows together, with their verdicts in the README.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib

from ciabench import Results
from ciabench.findings import verdicts
from ciabench.findings.claims import Finding, check_claims
from ciabench.findings.figures import write_figures
from ciabench.findings.selection import combined
from ciabench.lab.storage.export import export
from ciabench.lab.storage.store import Store

EXPERIMENTS = ("paper", "omitted", "beyond", "spelling")
DRAWN = ("paper", "spelling")
RESULTS = Path("results")
REFERENCE = RESULTS / "reference"
README = Path("README.md")


def put_into_readme(findings: list[Finding]) -> None:
    """Renew the table of verdicts between its marks."""
    before, _, rest = README.read_text(encoding="utf-8").partition("<!-- claims -->\n")
    after = rest.partition("<!-- /claims -->")[2]
    lines = ["| id | claim | verdict |", "|---|---|---|"]
    lines += [f"| {finding.id} | {finding.claim} | {finding.verdict} |" for finding in findings]
    table = "\n".join(["", *lines, "", ""])
    README.write_text(f"{before}<!-- claims -->\n{table}<!-- /claims -->{after}", encoding="utf-8")


def main() -> None:
    matplotlib.use("agg")
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name in EXPERIMENTS:
        with Store(RESULTS / f"{name}.db") as store:
            export(store, "csv", REFERENCE / f"{name}.csv.gz", timings=False)
    tables = {name: Results(REFERENCE / f"{name}.csv.gz").rows() for name in EXPERIMENTS}
    with tempfile.TemporaryDirectory() as folder:
        for path in (path for name in DRAWN for path in write_figures(tables[name], folder)):
            if path.suffix == ".png":
                shutil.copy(path, REFERENCE / path.name)
    findings = check_claims(combined(tables.values()))
    (REFERENCE / "claims.md").write_text(verdicts.to_markdown(findings), encoding="utf-8")
    (REFERENCE / "claims.json").write_text(verdicts.to_json(findings), encoding="utf-8")
    put_into_readme(findings)
    sys.stdout.write(verdicts.to_markdown(findings))


if __name__ == "__main__":
    main()
