import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ciabench.errors import StoreError
from ciabench.findings import tester
from ciabench.findings.claims import CLAIMS, check_claims
from ciabench.findings.evidence import Estimate, IntervalStatement, Level, Statement, Trials, judge, verdict
from ciabench.findings.paper import named
from ciabench.findings.selection import MEASURED_WORLDS, PAIRS, Data, combined
from ciabench.lab.storage.rows import read

LEVEL = Level(0.01, 0.01)
SIZES = (10, 20, 50, 100, 200, 500, 1000, 3000, 10000)
PAPER = [(n, k, 0.9) for n in (10, 75) for k in (2, 3, 5)]
NO_MIXTURES = [f"Tree(10, {d}, 0.9)" for d in (1, 2)] + [f"Threshold(10, {r}, 0.05, 0.9)" for r in (5, 7)]
BESIDE = {named(n, k) for n in (10, 75) for k in (2, 5)}
"""Families that claim L3 compares with worlds that are no mixtures; without those it is not shown."""

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


def estimate(mean, trials=100, spread=0.2, seed=0):
    values = np.random.default_rng(seed).normal(0, spread, trials)
    return Estimate.of(values - values.mean() + mean)


def outcome(mean, bound=0.0, direction="above", **kwargs):
    return judge(Statement("", estimate(mean, **kwargs), bound, direction), LEVEL).outcome


@pytest.mark.parametrize(("mean", "expected"), [(0.2, "supports"), (-0.2, "contradicts"), (0.02, "undecided")])
def test_a_mean_above_a_bound_is_shown_refuted_or_neither(mean, expected):
    assert outcome(mean) == expected
    assert outcome(-mean, direction="below") == expected


@pytest.mark.parametrize(("mean", "expected"), [(0.0, "supports"), (0.2, "contradicts"), (-0.09, "undecided")])
def test_equivalence_needs_both_sides(mean, expected):
    assert outcome(mean, 0.1, "within") == expected


def test_trials_needed_would_decide():
    undecided = judge(Statement("", estimate(0.03), 0.0), LEVEL)
    assert undecided.outcome == "undecided"
    settled = [
        judge(
            Statement("", Estimate.of(np.random.default_rng(seed).normal(0.03, 0.2, undecided.trials_needed)), 0.0),
            LEVEL,
        )
        for seed in range(200)
    ]
    assert 0.7 < np.mean([one.outcome == "supports" for one in settled]) < 0.9


def test_trials_needed_are_trials_of_each_mean_also_for_a_difference():
    difference = estimate(0.03, seed=1) - estimate(0.0, seed=2)
    needed = judge(Statement("", difference, 0.0), LEVEL).trials_needed
    more = estimate(0.03, needed, seed=1) - estimate(0.0, needed, seed=2)
    assert more.mean / more.error == pytest.approx(2.326 + 0.842, rel=0.1)


def test_error_rate_of_a_test_is_what_it_says():
    level = Level(0.05, 0.05)
    outcomes = [
        judge(Statement("", Estimate.of(np.random.default_rng(seed).normal(0, 1, 50)), 0.0), level).outcome
        for seed in range(2_000)
    ]
    assert 0.035 < outcomes.count("supports") / 2_000 < 0.065
    assert 0.035 < outcomes.count("contradicts") / 2_000 < 0.065


def test_means_without_any_spread_are_decided():
    same = Estimate.of(np.ones(5))
    assert judge(Statement("", same, 0.5), LEVEL).outcome == "supports"
    assert judge(Statement("", same, 2.0), LEVEL).outcome == "contradicts"
    assert (same.standardized, Estimate.of(np.zeros(5)).standardized) == (np.inf, 0)


def test_one_trial_is_too_few():
    with pytest.raises(StoreError, match=r"^At least two trials are needed to estimate an error\.$"):
        Estimate.of(np.ones(1))


def test_the_clearest_of_many_must_be_clearer():
    one = Statement("", estimate(0.2, spread=0.8), 0.0)
    assert judge(one, LEVEL).outcome == "supports"
    assert judge(one._replace(candidates=9), LEVEL).outcome == "undecided"


def test_one_contradiction_outweighs_doubt_and_support():
    yes, no, perhaps = (judge(IntervalStatement("", 0, *ends, 0.0), LEVEL) for ends in ((1, 2), (-2, -1), (-1, 1)))
    assert verdict([yes, yes]) == "reproduced"
    assert verdict([yes, perhaps]) == "not enough trials"
    assert verdict([yes, perhaps, no]) == "not reproduced"


def test_no_evidence_reproduces_nothing():
    assert verdict([]) == "no data"


def test_difference_of_independent_means_is_that_of_welch():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0, 1, 30), rng.normal(1, 3, 50)
    difference = Estimate.of(first) - Estimate.of(second)
    assert difference.error == pytest.approx(np.sqrt(first.var(ddof=1) / 30 + second.var(ddof=1) / 50))
    assert 50 < difference.freedom < 78
    assert difference.trials == Trials(30, 50)


def rows_of(world, means, trials=100, sizes=SIZES):
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


@pytest.mark.parametrize(("t", "expected"), [(0.7, "reproduced"), (0.3, "not reproduced"), (0.5, "not enough trials")])
def test_claim_three_follows_the_rows(t, expected):
    finding = by_id(paper_like(t))["C3"]
    assert finding.verdict == expected
    assert len(finding.evidence) == 7
    if expected == "not reproduced":
        assert finding.note.startswith("7 of 7 statements contradicted: CIA(10, 5, 0.9), s = 50: Winnow ahead of EM")


@pytest.mark.parametrize(("t", "expected"), [(0.45, "reproduced"), (0.9, "reproduced"), (0.3, "not reproduced")])
def test_claim_of_the_factor_asks_only_that_it_is_not_far_behind(t, expected):
    rows = paper_like(learners=("EM", "COV factor"), trials=50)
    is_one = (rows["world"] == named(75, 3)) & (rows["size"] == 200) & (rows["learner"] == "COV factor")
    finding = by_id(rows.assign(t=rows["t"] + (t - 0.5) * is_one))["B4"]
    assert (finding.verdict, len(finding.evidence)) == (expected, 6 * 6)
    if expected == "not reproduced":
        assert "CIA(75, 3, 0.9), s = 200: COV factor less than 0.1 behind EM" in finding.note


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
        "C6": 3,
        "C10": 6,
        "B1": 2,
    }


def test_claims_beyond_the_paper_have_a_budget_of_their_own():
    paper = [identity for identity in CLAIMS if identity.startswith("C")]
    assert tester.error_rate("C1", CLAIMS) == tester.error_rate("C1", [*CLAIMS, "B99"]) == 0.05 / len(paper)
    assert sum(tester.error_rate(identity, CLAIMS) for identity in CLAIMS) == pytest.approx(0.15)


def test_the_worlds_of_a_claim_are_those_that_it_asks_for(everything, monkeypatch):
    asked, select = set(), Data.select
    monkeypatch.setattr(Data, "select", lambda self, world, *who: asked.add(world) or select(self, world, *who))
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
        "C8": "no rows of basic Winnow for CIA(10, 2, 0.9)",
        "B1": "no rows of EM selected for CIA(10, 5, 0.9)",
        "B4": "no rows of COV factor for CIA(10, 2, 0.9)",
        "L1": "no rows of limit for CIA(10, 2, 0.9)",
        "L2": "no rows of limit for CIA(10, 2, 0.9)",
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
        ("C3", (10, 20), "no rows of Winnow and EM at sizes of at least 50 for CIA(10, 5, 0.9)"),
        ("C4", (100, 1000), "no rows of Winnow and EM at sizes from 0 to 99 for CIA(75, 5, 0.9)"),
        ("C5", (100, 1000), "no rows at sizes up to 74 for CIA(75, 2, 0.9)"),
        ("C7", (10, 100), "no rows of EM at size 1000 for CIA(10, 2, 0.9)"),
    ],
)
def test_sizes_that_a_claim_needs_and_rows_lack_are_named(identity, sizes, note):
    finding = by_id(paper_like(0.7, trials=5, sizes=sizes))[identity]
    assert (finding.verdict, finding.note, finding.evidence) == ("no data", note, [])


def test_two_trials_do_not_contradict_passing_sizes():
    families = [(n, k, 0.9) for n in (10, 75) for k in (3, 5)]
    later_at_ten = [
        rows_of(named(n, k), {"EM": 0.5, "Winnow": 0.6 if n == 75 else 0.4}, trials=2) for n, k, _ in families
    ]
    assert by_id(pd.concat(later_at_ten))["C9"].verdict == "not enough trials"


def test_trials_without_t_are_left_out():
    rows = paper_like(0.7)
    rows.loc[rows["trial"] < 30, "t"] = np.nan
    findings = by_id(rows)
    assert (findings["C3"].verdict, findings["C3"].trials) == ("reproduced", "70")
    assert findings["C7"].trials == "70"


def test_a_finding_says_how_many_trials_it_rests_on(everything):
    rows = combined([everything, paper_like(trials=50)])
    findings = by_id(rows)
    assert {findings[identity].trials for identity in ("C1", "C6", "C9")} == {"50"}
    assert (findings["C8"].trials, findings["C11"].trials, findings["C12"].trials) == ("20", "", "5")
    few = rows[(rows["world"] != named(10, 2)) | (rows["trial"] < 10)]
    assert by_id(few)["C7"].trials == "10 to 50"


def test_the_verdict_of_the_reference_stands_beside_ones_own():
    finding = by_id(paper_like())["C3"]
    assert (finding.verdict, finding.reference_verdict, finding.reference_trials) == (
        "not enough trials",
        "reproduced",
        "300",
    )
    alone = by_id(paper_like(), beside_reference=False)["C3"]
    assert (alone.reference_verdict, alone.reference_trials) == (None, None)


def test_the_package_keeps_the_verdicts_of_the_committed_rows():
    names = ("paper", "omitted", "beyond", "spelling", "departures", "limit")
    rows = combined(read(REFERENCE / f"{name}.csv.gz").rows for name in names)
    found = {one.id: {"verdict": one.verdict, "trials": one.trials} for one in check_claims(rows)}
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
