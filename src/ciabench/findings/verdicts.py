"""Findings on the claims as text: a table for the terminal, Markdown and JSON for files.

Each verdict is shown with that of the committed reference and its trials, because a few trials often decide nothing.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from ciabench.findings.tester import Finding, deciding

COLORS: dict[str, str] = {
    "reproduced": "green",
    "not reproduced": "red",
    "on the margin": "cyan",
    "undecided, leaning for": "yellow",
    "undecided, leaning against": "yellow",
    "no data": "dim",
}


def to_table(findings: Sequence[Finding]) -> Table:
    """Table for the terminal; what the reference found stands in a column of its own, if it is known."""
    has_reference = any(finding.reference_verdict for finding in findings)
    table = Table("id", "claim", "verdict", *(["reference"] if has_reference else []), "evidence", show_lines=True)
    for finding in findings:
        own = f"[{COLORS[finding.verdict]}]{finding.verdict}[/]{_trials(finding.trials)}"
        cells = ["\n".join([own, *_number(finding)]), *([_reference(finding)] if has_reference else [])]
        table.add_row(finding.id, finding.claim, *cells, escape(finding.note))
    return table


def to_markdown(findings: Sequence[Finding]) -> str:
    """Markdown table of the verdicts, followed by a table of all statements behind them."""
    has_reference = any(finding.reference_verdict for finding in findings)
    names = ["id", "claim", "verdict", *(["reference"] if has_reference else []), "evidence"]
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for one in findings:
        own = "; ".join([f"**{one.verdict}**{_trials(one.trials)}", *_number(one)])
        cells = [one.id, one.claim, own, *([_reference(one)] if has_reference else []), one.note]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "| id | statement | measured | interval that decides | outcome |", "|---|---|---|---|---|"]
    for finding in findings:
        lines += [
            f"| {finding.id} | {one.statement} | {one.measured} | {one.interval} | {one.outcome} |"
            for one in finding.evidence
        ]
    return "\n".join(lines) + "\n"


def to_json(findings: Sequence[Finding]) -> str:
    """JSON list of the findings with their evidence; non-finite numbers become null."""
    has_reference = any(finding.reference_verdict for finding in findings)
    entries = [
        {
            **{key: value for key, value in finding._asdict().items() if has_reference or "reference" not in key},
            "evidence": [_finite(one._asdict()) for one in finding.evidence],
        }
        for finding in findings
    ]
    return json.dumps(entries, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_reference(findings: Sequence[Finding]) -> str:
    """JSON of the verdicts and trials only, which the package ships as its reference."""
    kept = {finding.id: {"verdict": finding.verdict, "trials": finding.trials} for finding in findings}
    return json.dumps(kept, indent=2) + "\n"


def _trials(trials: str | None) -> str:
    return f" ({trials} trials)" if trials else ""


def _number(finding: Finding) -> list[str]:
    """The estimate that decides with its standard error, unless the claim is reproduced."""
    best = deciding(finding.evidence)
    return [] if best is None or finding.verdict == "reproduced" else [best.measured]


def _reference(finding: Finding) -> str:
    """Verdict of the reference with its trials, if there is one."""
    return f"{finding.reference_verdict or ''}{_trials(finding.reference_trials)}"


def _finite(evidence: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in evidence.items()
    }
