import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ciabench.errors import StoreError
from ciabench.findings import tester
from ciabench.findings.claims import CLAIMS, check_claims
from ciabench.findings.evidence import Level
from ciabench.findings.paper import named
from ciabench.findings.selection import MEASURED_WORLDS, PAIRS, Data, combined
from ciabench.findings.statements import judge
from ciabench.findings.statistics import reference_findings

SIZES = (10, 20, 50, 100, 200, 500, 1000, 3000, 10000)
PAPER = [(n, k, 0.9) for n in (10, 75) for k in (2, 3, 5)]
NO_MIXTURES = [f"Tree(10, {d}, 0.9)" for d in (1, 2)] + [f"Threshold(10, {r}, 0.05, 0.9)" for r in (5, 7)]
BESIDE = {named(n, k) for n in (10, 75) for k in (2, 5)}
"""Families that claim L3 compares with worlds that are no mixtures; without those it is not shown."""

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


def rows_of(world, means, trials=600, sizes=SIZES):
    """Rows of a world with T around `means[learner]` at all sizes."""
    rng, parts = np.random.default_rng(len(world)), []
    for learner, mean in means.items():
        for size in sizes:
            t = mean + rng.normal(0, 0.1, trials)
            parts.append(pd.DataFrame({"trial": range(trials), "size": size, "learner": learner, "t": t}))
    rows = pd.concat(parts, ignore_index=True).assign(world=world, best=0.9, constant=0.6, t_error=0.0)
    return rows.assign(success=rows["constant"] + rows["t"] * 0.3)


def paper_like(winnow_at_five=0.5, families=PAPER, learners=("EM", "COV", "Winnow"), **kwargs):
    """Rows of the paper's families in which all T are 0.5, but Winnow's at k = 5, n = 10."""
    parts = []
    for n, k, b in families:
        own = dict.fromkeys(learners, 0.5) | ({"Winnow": winnow_at_five} if (n, k, b) == (10, 5, 0.9) else {})
        parts.append(rows_of(named(n, k, b), own, **kwargs))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def everything():
    """Rows that every claim finds what it needs in."""
    families = [(n, k, b) for n in (10, 75) for k in (2, 3, 5) for b in (0.8, 0.9, 0.95)]
    learners = (
        *("EM", "COV", "Winnow", "basic Winnow", "Perceptron", "EM selected", "COV factor"),
        *("BayesianMixture", "limit"),
    )
    no_mixtures = [rows_of(world, {"Winnow": 0.9, "BayesianMixture": 0.6}, 20, (1000,)) for world in NO_MIXTURES]
    pairs = [
        rows_of(pair, {"EM": 0.0, "Winnow": 0.5}, 5, (100, 10_000)).assign(pair=pair, examples=500)
        for pair in ("accept/except", "passed/past", "raise/rise")
    ]
    rows = pd.concat(
        [paper_like(families=families, learners=learners, trials=20), *no_mixtures, *pairs], ignore_index=True
    )
    return rows.assign(departure=(rows["trial"] / 50).where(rows["pair"].isna()))


def by_id(rows, **kwargs):
    return {finding.id: finding for finding in check_claims(rows, **kwargs)}


@pytest.mark.parametrize(("t", "expected"), [(0.7, "reproduced"), (0.3, "not reproduced")])
def test_claim_three_follows_the_rows(t, expected):
    finding = by_id(paper_like(t))["C3"]
    assert finding.verdict == expected
    assert len(finding.evidence) == 7
    if expected == "not reproduced":
        assert finding.note.startswith("7 of 7 statements contradicted: CIA(10, 5, 0.9), s = 50: Winnow ahead of EM")


@pytest.mark.parametrize(("t", "leaning"), [(0.7, "for"), (0.3, "against")])
def test_few_trials_decide_nothing_but_lean(t, leaning):
    finding = by_id(paper_like(t, trials=499))["C3"]
    assert finding.verdict == f"undecided, leaning {leaning}"
    assert {one.outcome for one in finding.evidence} == {"undecided"}
    assert {one.interval for one in finding.evidence} == {"none before 500 trials"}
    assert "at these estimates 500 trials would decide" in finding.note


@pytest.mark.parametrize(("t", "expected"), [(0.45, "reproduced"), (0.9, "reproduced"), (0.3, "not reproduced")])
def test_claim_of_the_factor_asks_only_that_it_is_not_far_behind(t, expected):
    rows = paper_like(learners=("EM", "COV factor"))
    is_one = (rows["world"] == named(75, 3)) & (rows["size"] == 200) & (rows["learner"] == "COV factor")
    finding = by_id(rows.assign(t=rows["t"] + (t - 0.5) * is_one))["B4"]
    assert (finding.verdict, len(finding.evidence)) == (expected, 6 * 6)
    if expected == "not reproduced":
        assert "CIA(75, 3, 0.9), s = 200: COV factor less than 0.1 behind EM" in finding.note


@pytest.mark.parametrize(("gap", "expected"), [(0.02, "reproduced"), (0.3, "not reproduced")])
def test_similar_on_average_is_not_enough_where_one_family_differs(gap, expected):
    rows = paper_like()
    is_cov = rows["learner"] == "COV"
    for world, sign in ((named(75, 2), -1), (named(75, 3), 1)):
        rows.loc[is_cov & (rows["world"] == world), "t"] += sign * gap
    for n in (10, 75):
        rows.loc[(rows["world"] == named(n, 5)) & rows["learner"].isin(["EM", "COV"]), "t"] -= 0.4
    finding = by_id(rows)["C6"]
    assert finding.verdict == expected
    assert finding.evidence[0].outcome == "supports"


def passing(few, many, **kwargs):
    """Rows of n = 10 and n = 75 in which Winnow leads EM from a size on: `few` at n = 10, `many` at n = 75."""
    parts = []
    for k in (3, 5):
        for n, size in ((10, few), (75, many)):
            rows = rows_of(named(n, k), {"EM": 0.5, "Winnow": 0.4}, **kwargs)
            parts.append(rows.assign(t=rows["t"] + 0.2 * ((rows["learner"] == "Winnow") & (rows["size"] >= size))))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize(("few", "many", "expected"), [(50, 500, "reproduced"), (500, 50, "not reproduced")])
def test_winnow_passes_later_where_there_is_a_size_at_which_the_leader_differs(few, many, expected):
    finding = by_id(passing(few, many))["C9"]
    assert finding.verdict == expected
    assert "k = 3: Winnow ahead at n = 10, EM at n = 75 (clearest: s = " in finding.evidence[0].statement


def test_more_attributes_are_compared_where_there_are_results():
    larger = [rows_of(named(n, k), {"EM": 0.5, "Winnow": 0.4}, trials=20) for n in (25, 200) for k in (3, 5)]
    rows = pd.concat([passing(50, 500, trials=20), *larger], ignore_index=True)
    statements = [one.statement for one in by_id(rows)["C9"].evidence]
    assert [text.partition(" (")[0] for text in statements] == [
        f"k = {k}: Winnow ahead at n = {few}, EM at n = {many}" for few, many in ((10, 75), (25, 200)) for k in (3, 5)
    ]


def test_levels_follow_from_the_statements_that_a_claim_makes(everything, monkeypatch):
    levels = []
    monkeypatch.setattr(tester, "judge", lambda statement, level: levels.append(level) or judge(statement, level))
    for identity, claim in CLAIMS.items():
        levels.clear()
        finding = tester._finding(identity, claim, Data(everything), 0.004)
        assert set(levels) == {Level(0.004, 0.004 / len(finding.evidence))}


def test_statements_are_counted(everything):
    counts = {finding.id: len(finding.evidence) for finding in check_claims(everything)}
    assert list(counts) == list(CLAIMS)
    assert {identity: counts[identity] for identity in ("C1", "C6", "C10", "B1")} == {
        "C1": 14,
        "C6": 9,
        "C10": 8,
        "B1": 2,
    }


def test_claims_beyond_the_paper_have_a_budget_of_their_own():
    paper = [identity for identity in CLAIMS if identity.startswith("C")]
    assert tester.error_rate("C1", CLAIMS) == tester.error_rate("C1", [*CLAIMS, "B99"]) == 0.05 / len(paper)
    assert sum(tester.error_rate(identity, CLAIMS) for identity in CLAIMS) == pytest.approx(0.15)


def test_the_worlds_of_a_claim_are_those_that_it_asks_for(everything, monkeypatch):
    asked, learners = set(), Data._learners
    monkeypatch.setattr(Data, "_learners", lambda self, world, *who: asked.add(world) or learners(self, world, *who))
    for identity, claim in CLAIMS.items():
        asked.clear()
        claim.test(Data(everything))
        beside = BESIDE if identity == "L3" else set()
        assert asked | ({PAIRS, MEASURED_WORLDS} & set(claim.worlds)) == set(claim.worlds) | beside, identity


def test_only_claims_about_the_worlds_of_the_rows_are_shown():
    findings = by_id(paper_like(0.7))
    assert set(findings) == set(CLAIMS) - {"C10", "C12", "B2", "B3", "L3"}
    without = {identity: finding.note for identity, finding in findings.items() if finding.verdict == "no data"}
    assert without == {
        "C8": "no rows of basic Winnow for CIA(10, 2, 0.9); `ciabench run omitted` computes what is missing",
        "B1": "no rows of EM selected for CIA(10, 5, 0.9); `ciabench run beyond` computes what is missing",
        "B4": "no rows of COV factor for CIA(10, 2, 0.9); `ciabench run beyond` computes what is missing",
        "L1": "no rows of limit for CIA(10, 2, 0.9); `ciabench run limit` computes what is missing",
        "L2": "no rows of limit for CIA(10, 2, 0.9); `ciabench run limit` computes what is missing",
    }
    assert set(by_id(paper_like(families=[(10, 3, 0.95)]))) == {"C10", "C11"}


@pytest.mark.parametrize("world", ["titanic.csv", "CIA(10, 2, 0.9, min_headroom=0.05)", "a/b"])
def test_a_world_of_ones_own_has_no_claims(world):
    assert check_claims(rows_of(world, {"EM": 0.5, "Winnow": 0.7}, sizes=(10,))) == []
    assert check_claims(paper_like(trials=2, sizes=(10,))[:0]) == []


def test_pairs_of_words_are_known_by_their_parameter(everything):
    assert set(by_id(everything[everything["pair"].notna()])) == {"C11", "C12", "B3"}


@pytest.mark.parametrize(
    ("identity", "sizes", "note"),
    [
        ("C1", (100, 1000), "no rows of EM at sizes of at least 3,000 for CIA(10, 2, 0.9)"),
        ("C3", (10, 20), "no rows of Winnow and EM at sizes of at least 50 for CIA(10, 5, 0.9)"),
        ("C4", (100, 1000), "no rows of Winnow and EM at sizes from 0 to 99 for CIA(75, 5, 0.9)"),
        ("C5", (100, 1000), "no rows at sizes up to 74 for CIA(75, 2, 0.9)"),
        ("C7", (10, 100), "no rows of EM at size 1000 for CIA(10, 2, 0.9)"),
    ],
)
def test_sizes_that_a_claim_needs_and_rows_lack_are_named(identity, sizes, note):
    finding = by_id(paper_like(0.7, trials=5, sizes=sizes))[identity]
    assert (finding.verdict, finding.evidence) == ("no data", [])
    assert finding.note == f"{note}; `ciabench run paper` computes what is missing"


def test_trials_without_t_are_left_out():
    rows = paper_like(0.7)
    rows.loc[rows["trial"] < 70, "t"] = np.nan
    findings = by_id(rows)
    assert (findings["C3"].verdict, findings["C3"].trials) == ("reproduced", "530")
    assert findings["C7"].trials == "530"


def test_a_finding_says_how_many_trials_it_rests_on(everything):
    rows = combined([everything, paper_like(trials=50)])
    findings = by_id(rows)
    assert {findings[identity].trials for identity in ("C1", "C6", "C9")} == {"50"}
    assert (findings["C8"].trials, findings["C11"].trials, findings["C12"].trials) == ("20", "", "5")
    few = rows[(rows["world"] != named(10, 2)) | (rows["trial"] < 10)]
    assert by_id(few)["C7"].trials == "10 to 50"


def test_the_verdict_of_the_reference_stands_beside_ones_own():
    finding = by_id(paper_like(0.7, trials=20))["C3"]
    assert (finding.verdict, finding.reference_verdict, finding.reference_trials) == (
        "undecided, leaning for",
        tester.reference_verdicts()["C3"]["verdict"],
        tester.reference_verdicts()["C3"]["trials"],
    )
    alone = by_id(paper_like(), beside_reference=False)["C3"]
    assert (alone.reference_verdict, alone.reference_trials) == (None, None)


def test_the_package_keeps_the_verdicts_of_the_committed_statistics():
    found = {one.id: {"verdict": one.verdict, "trials": one.trials} for one in reference_findings()}
    assert found == tester.reference_verdicts()
    committed = json.loads((REFERENCE / "claims.json").read_text(encoding="utf-8"))
    assert found == {one["id"]: {"verdict": one["verdict"], "trials": one["trials"]} for one in committed}
    assert not any("reference_verdict" in one for one in committed)


def test_results_with_different_seeds_are_not_mixed():
    first, second = rows_of("my own", {"EM": 0.5}), rows_of("my own", {"Winnow": 0.5}).assign(best=0.95)
    with pytest.raises(StoreError, match=r"disagree about trial 0 of my own: they were made with different seeds\."):
        combined([first, second])


def test_results_of_two_platforms_are_joined():
    first = rows_of("my own", {"EM": 0.5})
    second = rows_of("my own", {"Winnow": 0.5}).assign(best=np.nextafter(0.9, 1))
    assert len(combined([first, second])) == 2 * len(first)


def test_results_with_the_same_seed_are_joined_without_doubles():
    rows = rows_of("a", {"EM": 0.5, "Winnow": 0.4}).assign(n=10)
    other = rows_of("b", {"EM": 0.5}).assign(pair="b/c")
    joined = combined([rows, other, rows[rows["learner"] == "EM"]])
    assert len(joined) == len(rows) + len(other)
    assert joined.index.is_unique
