"""Renew `results/reference` from finished experiments: `make reference` runs them first.

Rows as CSV with their provenance beside them, the six figures and the overview as PNG, and the claims tested on all
rows together.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import matplotlib

from ciabench import Results
from ciabench.findings import verdicts
from ciabench.findings.claims import check_claims
from ciabench.findings.figures import write_figures
from ciabench.findings.selection import combined
from ciabench.lab.export import export
from ciabench.lab.store import Store

EXPERIMENTS = ("paper", "omitted", "beyond", "spelling")
DRAWN = ("paper", "spelling")
RESULTS = Path("results")
REFERENCE = RESULTS / "reference"


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
    sys.stdout.write(verdicts.to_markdown(findings))


if __name__ == "__main__":
    main()
