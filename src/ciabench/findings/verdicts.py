"""Findings on the claims as text: a table for the terminal, Markdown and JSON for files."""

import json
import math
from collections.abc import Sequence
from typing import Any

from rich.table import Table

from ciabench.findings.claims import Finding

COLORS = {"reproduced": "green", "not reproduced": "red", "not enough trials": "yellow", "no data": "dim"}


def to_table(findings: Sequence[Finding]) -> Table:
    """Table for the terminal."""
    table = Table("id", "claim", "verdict", "evidence", show_lines=True)
    for finding in findings:
        told = f"[{COLORS[finding.verdict]}]{finding.verdict}[/]"
        table.add_row(finding.id, finding.claim, told, finding.note)
    return table


def to_markdown(findings: Sequence[Finding]) -> str:
    """Markdown table of the verdicts, then one of every test behind them."""
    lines = ["| id | claim | verdict | evidence |", "|---|---|---|---|"]
    lines += [f"| {one.id} | {one.claim} | **{one.verdict}** | {one.note} |" for one in findings]
    lines += ["", "| id | test | measured | 95% interval | outcome |", "|---|---|---|---|---|"]
    for finding in findings:
        lines += [
            f"| {finding.id} | {one.statement} | {one.estimate:.3f} | {one.low:.3f} … {one.high:.3f} | {one.outcome} |"
            for one in finding.evidence
        ]
    return "\n".join(lines) + "\n"


def to_json(findings: Sequence[Finding]) -> str:
    """JSON list of the findings, each with its evidence; what is not finite becomes null."""
    told = [
        {**finding._asdict(), "evidence": [_finite(one._asdict()) for one in finding.evidence]} for finding in findings
    ]
    return json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(evidence: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in evidence.items()
    }
