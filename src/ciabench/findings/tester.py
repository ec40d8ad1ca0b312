"""Judges claims: applies error rates to the statements that claims make about results.

The probability of ever judging any statement of the paper's claims wrongly is at most 5% for those that support it, and
likewise for those that contradict it, at all numbers of trials at once; claims beyond the paper, whose ids start with
B, have another 5%, and those about the limit of learning, with L, a third. So a claim has 5% / (number of claims of its
kind). All statements of a claim must be shown, each at that level, which needs no further correction. A single one
suffices to contradict it: that needs the level of the claim / (number of statements that it makes about these results).
A statement about one of several sizes has the level / (number of sizes). Statements with an interval of their own are
judged by it, whatever the level.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Literal, NamedTuple

from ciabench.errors import StoreError
from ciabench.findings.evidence import Evidence, Level, Outcome, Trials
from ciabench.findings.selection import Data
from ciabench.findings.statements import Anything, judge

ERROR_RATE = 0.05
"""Error rate of all claims of the paper together, of all beyond it, and of all about the limit."""

REFERENCE = "reference_claims.json"
SHOWN_CULPRITS = 3

DECIDING: dict[Outcome, str] = {
    "contradicts": "contradicted",
    "undecided": "undecided",
    "on the margin": "on the margin",
    "supports": "shown",
}
"""Outcomes in the order in which they decide a verdict, in words."""

Statements = Sequence[Anything]
Verdict = Literal[
    "reproduced", "not reproduced", "on the margin", "undecided, leaning for", "undecided, leaning against", "no data"
]
Test = Callable[[Data], Statements]


class Claim(NamedTuple):
    """A claim: its text, worlds (none if it needs no rows), the test that makes its statements, and its experiment."""

    text: str
    worlds: tuple[str, ...]
    test: Test
    experiment: str


class Finding(NamedTuple):
    """The verdict on a claim, the tests behind it, and the verdict of the committed reference.

    Parameters
    ----------
    id : str
    claim : str
    verdict : str
        "reproduced", "not reproduced", "on the margin", "undecided, leaning for", "undecided, leaning against" or "no
        data".
    evidence : list of Evidence
        One test per statement.
    note : str
        What decided the verdict, in words.
    trials : str
        Trials behind the evidence, such as "100", or "40 to 300" from fewest to most; empty if there are none.
    reference_verdict : str, optional
        Verdict of the committed reference; None when the reference itself is tested.
    reference_trials : str, optional
        Trials of the committed reference; None when the reference itself is tested.
    """

    id: str
    claim: str
    verdict: Verdict
    evidence: list[Evidence]
    note: str
    trials: str = ""
    reference_verdict: str | None = None
    reference_trials: str | None = None


CLAIMS: dict[str, Claim] = {}


def claim(identity: str, text: str, *worlds: str, experiment: str = "paper") -> Callable[[Test], Test]:
    """Enter a test into the table of claims, with the experiment that gives its rows; without worlds it needs none."""

    def enter(test: Test) -> Test:
        CLAIMS[identity] = Claim(text, worlds, test, experiment)
        return test

    return enter


def findings_of(claims: Mapping[str, Claim], data: Data, reference: Mapping[str, Mapping[str, str]]) -> list[Finding]:
    """Test the claims with at least one world among the rows; if there are any, also the claims that need no rows."""
    about = claims_about(claims, data)
    if not about:
        return []
    shown = [identity for identity, claim in claims.items() if identity in about or not claim.worlds]
    findings = [_finding(identity, claims[identity], data, error_rate(identity, claims)) for identity in shown]
    return [_beside(finding, reference.get(finding.id)) for finding in findings]


def claims_about(claims: Mapping[str, Claim], data: Data) -> list[str]:
    """Ids of the claims of which at least one world is among the results."""
    return [identity for identity, claim in claims.items() if any(map(data.holds, claim.worlds))]


def error_rate(identity: str, claims: Iterable[str]) -> float:
    """Level of a claim: 5%, shared by all whose ids start with the same letter.

    Examples
    --------
    >>> error_rate("C1", ["C1", "C2", "B1"]), error_rate("B1", ["C1", "C2", "B1"])
    (0.025, 0.05)
    """
    return ERROR_RATE / sum(other[0] == identity[0] for other in claims)


def reference_verdicts() -> dict[str, dict[str, str]]:
    """Verdicts of the committed reference and their trials, by id of the claim."""
    text = (files("ciabench.findings") / REFERENCE).read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = json.loads(text)
    return found


def _beside(finding: Finding, reference: Mapping[str, str] | None) -> Finding:
    """Finding with the verdict of the reference, if there is one."""
    if reference is None:
        return finding
    return finding._replace(reference_verdict=reference["verdict"], reference_trials=reference["trials"])


def _finding(identity: str, claim: Claim, data: Data, error_rate: float) -> Finding:
    try:
        statements = claim.test(data)
    except StoreError as missing:
        note = f"{str(missing).rstrip('.')}; `ciabench run {claim.experiment}` computes what is missing"
        return Finding(identity, claim.text, "no data", [], note)
    level = Level.of_claim(error_rate, len(statements))
    evidence = [judge(statement, level) for statement in statements]
    trials = Trials.joined(statement.trials for statement in statements)
    return Finding(identity, claim.text, verdict(evidence), evidence, _note(evidence), str(trials))


def verdict(evidence: Sequence[Evidence]) -> Verdict:
    """Verdict on a claim from all its evidence."""
    outcomes = {one.outcome for one in evidence}
    if not outcomes:
        return "no data"
    if "contradicts" in outcomes:
        return "not reproduced"
    if "undecided" in outcomes:
        is_for = all(one.distance > 0 for one in evidence if one.outcome == "undecided")
        return "undecided, leaning for" if is_for else "undecided, leaning against"
    return "on the margin" if "on the margin" in outcomes else "reproduced"


def deciding(evidence: Sequence[Evidence]) -> Evidence | None:
    """The evidence that says best why a verdict is as it is: of what decides it, the least favourable to the claim."""
    for outcome in DECIDING:
        culprits = [one for one in evidence if one.outcome == outcome]
        if culprits:
            return min(culprits, key=lambda one: one.distance)
    return None


def trials_needed(evidence: Sequence[Evidence]) -> int | None:
    """Trials that would decide all undecided statements that trials can decide; None if there is no such statement."""
    return max((one.trials_needed for one in evidence if one.trials_needed is not None), default=None)


def _note(evidence: list[Evidence]) -> str:
    """What decided the verdict, in words."""
    for outcome, participle in DECIDING.items():
        culprits = [one for one in evidence if one.outcome == outcome]
        if culprits and outcome != "supports":
            found = f"{len(culprits)} of {_counted(len(evidence))} {participle}: "
            note = found + "; ".join(one.statement for one in culprits[:SHOWN_CULPRITS])
            needed = trials_needed(culprits)
            return f"{note}; at these estimates {needed:,} trials would decide" if needed else note
    return f"all {_counted(len(evidence))} hold" if len(evidence) > 1 else "its one statement holds"


def _counted(statements: int) -> str:
    return f"{statements} statement" if statements == 1 else f"{statements} statements"
