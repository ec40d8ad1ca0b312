import io
import json

import pytest
from rich.console import Console

from ciabench.findings import verdicts
from ciabench.findings.claims import Finding
from ciabench.findings.evidence import Evidence


@pytest.fixture
def findings():
    shown = Evidence("T of EM above 0.95", 0.98, 0.97, 0.99, "supports")
    never = Evidence("passing size at n = 75 over that at n = 10", float("nan"), 3.0, float("inf"), "undecided", 900)
    return [
        Finding("C1", "EM learns faster", "reproduced", [shown], "all 1 tests hold"),
        Finding("C9", "Winnow needs more", "not enough trials", [never], "about 900 trials would decide"),
        Finding("C8", "margin helps", "no data", [], "no rows of basic Winnow"),
    ]


def test_markdown_has_a_line_for_every_claim_and_every_test(findings):
    text = verdicts.to_markdown(findings)
    assert "| C1 | EM learns faster | **reproduced** | all 1 tests hold |" in text
    assert "| C9 | passing size at n = 75 over that at n = 10 | nan | 3.000 … inf | undecided |" in text
    assert text.count("\n| C") == 5


def test_json_is_strict_and_whole(findings):
    told = json.loads(verdicts.to_json(findings), parse_constant=pytest.fail)
    assert [finding["verdict"] for finding in told] == ["reproduced", "not enough trials", "no data"]
    assert told[1]["evidence"][0] == {
        "statement": "passing size at n = 75 over that at n = 10",
        "estimate": None,
        "low": 3.0,
        "high": None,
        "outcome": "undecided",
        "trials_needed": 900,
    }


def test_terminal_table_shows_verdicts(findings):
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(verdicts.to_table(findings))
    assert "not enough trials" in console.export_text()
