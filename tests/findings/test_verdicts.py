import io
import json
import math

import pytest
from rich.console import Console

from ciabench.findings import verdicts
from ciabench.findings.claims import Finding
from ciabench.findings.evidence import Evidence


@pytest.fixture
def findings():
    shown = Evidence("T of EM above 0.95", 0.98, 0.005, 0.97, 0.99, "supports", 0.03, "always valid")
    infinite = -math.inf, math.inf
    never = Evidence("Winnow ahead somewhere", 0.1, 0.02, *infinite, "undecided", 0.1, "always valid", 900)
    return [
        Finding("C1", "EM learns faster", "reproduced", [shown], "its one statement holds", "100", "reproduced", "300"),
        Finding(
            "C9", "Winnow needs more", "undecided, leaning for", [never], "[few]", "40 to 100", "reproduced", "300"
        ),
        Finding("C8", "margin helps", "no data", [], "no rows of basic Winnow", "", "reproduced", "40"),
        Finding("C11", "linear", "reproduced", [shown], "its one statement holds", "", "reproduced", ""),
        Finding("B9", "new", "reproduced", [shown], "its one statement holds", "20"),
    ]


@pytest.fixture
def alone(findings):
    """Findings of the reference itself."""
    return [finding._replace(reference_verdict=None, reference_trials=None) for finding in findings]


def test_markdown_has_a_line_for_every_claim_and_every_test(findings):
    text = verdicts.to_markdown(findings)
    assert "| C1 | T of EM above 0.95 | 0.980 ± 0.005 | 0.970 … 0.990 | supports |" in text
    assert "| C9 | Winnow ahead somewhere | 0.100 ± 0.020 | none before 500 trials | undecided |" in text
    assert text.count("\n| C") == 7


def test_markdown_shows_the_reference_beside_every_verdict(findings, alone):
    lines = verdicts.to_markdown(findings).splitlines()
    assert lines[0] == "| id | claim | verdict | reference | evidence |"
    reference, note = "reproduced (300 trials)", "its one statement holds"
    assert lines[2] == f"| C1 | EM learns faster | **reproduced** (100 trials) | {reference} | {note} |"
    assert f"**undecided, leaning for** (40 to 100 trials); 0.100 ± 0.020 | {reference} |" in lines[3]
    assert "| **no data** | reproduced (40 trials) |" in lines[4]
    assert "| **reproduced** | reproduced |" in lines[5]
    assert "| **reproduced** (20 trials) |  |" in lines[6]
    assert "reference" not in verdicts.to_markdown(alone)


def test_all_lines_of_a_markdown_table_have_as_many_cells(findings, alone):
    for shown in (findings, alone):
        for table in verdicts.to_markdown(shown).split("\n\n"):
            lines = table.splitlines()
            assert set(lines[1]) == {"|", "-"}
            assert len({line.count("|") for line in lines}) == 1


def test_json_is_strict_and_whole(findings):
    entries = json.loads(verdicts.to_json(findings), parse_constant=pytest.fail)
    assert [entry["verdict"] for entry in entries][:3] == ["reproduced", "undecided, leaning for", "no data"]
    assert entries[1]["evidence"][0] == {
        "statement": "Winnow ahead somewhere",
        "estimate": 0.1,
        "error": 0.02,
        "low": None,
        "high": None,
        "outcome": "undecided",
        "distance": 0.1,
        "kind": "always valid",
        "trials_needed": 900,
    }


def test_json_has_trials_and_the_reference(findings, alone):
    keys = ("trials", "reference_verdict", "reference_trials")
    entries = json.loads(verdicts.to_json(findings))
    assert [entries[1][key] for key in keys] == ["40 to 100", "reproduced", "300"]
    assert [entries[4][key] for key in keys] == ["20", None, None]
    assert set(keys) & set(json.loads(verdicts.to_json(alone))[0]) == {"trials"}


def test_what_the_package_keeps_is_verdict_and_trials(alone):
    kept = json.loads(verdicts.to_reference(alone))
    assert kept["C9"] == {"verdict": "undecided, leaning for", "trials": "40 to 100"}
    assert list(kept) == ["C1", "C9", "C8", "C11", "B9"]


def test_terminal_table_shows_verdicts_and_the_reference(findings):
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(verdicts.to_table(findings))
    text = console.export_text()
    assert "undecided, leaning for (40 to 100 trials)" in text
    assert "0.100 ± 0.020" in text
    assert "reproduced (300 trials)" in text
    assert "[few]" in text
    assert "reference" in text
    assert "EM learns faster" in text


def test_terminal_table_without_a_reference_has_no_column_for_it(findings, alone):
    titles = ["id", "claim", "verdict", "evidence"]
    assert [column.header for column in verdicts.to_table(alone).columns] == titles
    assert [column.header for column in verdicts.to_table(findings).columns] == [*titles[:3], "reference", "evidence"]
    assert {len(list(column.cells)) for column in verdicts.to_table(alone).columns} == {5}
