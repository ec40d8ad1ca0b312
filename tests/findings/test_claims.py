import numpy as np
import pandas as pd
import pytest

from ciabench.errors import StoreError
from ciabench.findings.claims import CLAIMS, check_claims
from ciabench.findings.evidence import Estimate, Level, above, below, decided, verdict, within
from ciabench.findings.selection import combined

LEVEL = Level(0.01, 0.01)
SIZES = (10, 20, 50, 100, 200, 500, 1000, 3000, 10000)


def estimate(mean, trials=100, spread=0.2, seed=0):
    values = np.random.default_rng(seed).normal(0, spread, trials)
    return Estimate.of(values - values.mean() + mean)


@pytest.mark.parametrize(("mean", "outcome"), [(0.2, "supports"), (-0.2, "contradicts"), (0.02, "undecided")])
def test_a_mean_above_a_bound_is_shown_refuted_or_neither(mean, outcome):
    assert above("", estimate(mean), 0.0, LEVEL).outcome == outcome
    assert below("", estimate(-mean), 0.0, LEVEL).outcome == outcome


@pytest.mark.parametrize(("mean", "outcome"), [(0.0, "supports"), (0.2, "contradicts"), (-0.09, "undecided")])
def test_equivalence_needs_both_sides(mean, outcome):
    assert within("", estimate(mean), 0.1, LEVEL).outcome == outcome


def test_trials_needed_would_decide():
    undecided = above("", estimate(0.03), 0.0, LEVEL)
    assert undecided.outcome == "undecided"
    settled = [
        above(
            "", Estimate.of(np.random.default_rng(seed).normal(0.03, 0.2, undecided.trials_needed)), 0.0, LEVEL
        ).outcome
        for seed in range(200)
    ]
    assert 0.7 < np.mean([outcome == "supports" for outcome in settled]) < 0.9


def test_error_rate_of_a_test_is_what_it_says():
    outcomes = [
        above("", Estimate.of(np.random.default_rng(seed).normal(0, 1, 50)), 0.0, Level(0.05, 0.05)).outcome
        for seed in range(2_000)
    ]
    assert 0.035 < outcomes.count("supports") / 2_000 < 0.065
    assert 0.035 < outcomes.count("contradicts") / 2_000 < 0.065


def test_means_without_any_spread_are_decided():
    same = Estimate.of(np.ones(5))
    assert above("", same, 0.5, LEVEL).outcome == "supports"
    assert above("", same, 2.0, LEVEL).outcome == "contradicts"


def test_one_contradiction_outweighs_doubt_and_support():
    yes, no, perhaps = (decided("", 0, interval, 0.0) for interval in ((1, 2), (-2, -1), (-1, 1)))
    assert verdict([yes, yes]) == "reproduced"
    assert verdict([yes, perhaps]) == "not enough trials"
    assert verdict([yes, perhaps, no]) == "not reproduced"


def test_difference_of_independent_means_is_that_of_welch():
    rng = np.random.default_rng(0)
    first, second = rng.normal(0, 1, 30), rng.normal(1, 3, 50)
    difference = Estimate.of(first) - Estimate.of(second)
    assert difference.error == pytest.approx(np.sqrt(first.var(ddof=1) / 30 + second.var(ddof=1) / 50))
    assert 50 < difference.freedom < 78


@pytest.fixture
def paper_like(made_rows):
    """Rows of the paper's families in which all T are 0.5, but Winnow's at k = 5, n = 10."""
    return lambda winnow_at_five: _paper_like(made_rows, winnow_at_five)


def _paper_like(made_rows, winnow_at_five):
    curve = dict.fromkeys(SIZES, 0.5)
    parts = [
        made_rows(
            {"EM": curve, "COV": curve, "Winnow": dict.fromkeys(SIZES, winnow_at_five if (n, k) == (10, 5) else 0.5)},
            family=(n, k, 0.9),
            spread=0.1,
            seed=n + k,
        )
        for n in (10, 75)
        for k in (2, 3, 5)
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize(("t", "told"), [(0.7, "reproduced"), (0.3, "not reproduced"), (0.5, "not enough trials")])
def test_claim_three_follows_the_rows(paper_like, t, told):
    findings = {finding.id: finding for finding in check_claims(paper_like(t))}
    assert findings["C3"].verdict == told
    assert len(findings["C3"].evidence) == 7
    if told == "not reproduced":
        assert "CIA(10, 5, 0.9), s = 50: Winnow ahead of EM" in findings["C3"].note


def test_every_claim_is_told_even_without_its_rows(paper_like):
    findings = check_claims(paper_like(0.7))
    assert [finding.id for finding in findings] == list(CLAIMS)
    without = {finding.id: finding.note for finding in findings if finding.verdict == "no data"}
    assert set(without) == {"C8", "C10", "C12", "B1"}
    assert without["C8"] == "no rows of basic Winnow for CIA(10, 2, 0.9)"


def test_results_with_different_seeds_are_not_mixed(made_rows):
    first = made_rows({"EM": {10: 0.5}})
    second = made_rows({"Winnow": {10: 0.5}}).assign(best=0.95)
    with pytest.raises(StoreError, match=r"disagree about trial 0 of CIA\(10, 2, 0.9\)"):
        combined([first, second])


def test_results_with_the_same_seed_are_joined_without_doubles(made_rows):
    rows = made_rows({"EM": {10: 0.5}, "Winnow": {10: 0.4}})
    joined = combined([rows, rows[rows["learner"] == "EM"]])
    assert len(joined) == len(rows)
