"""How statements are judged: ends, levels, margins, several sizes, and how many trials it would take."""

import numpy as np
import pytest

from ciabench.errors import StoreError
from ciabench.findings.evidence import Estimate, Level, Sample, Trials
from ciabench.findings.statements import IntervalStatement, Somewhere, Statement, judge
from ciabench.findings.tester import deciding, verdict

LEVEL = Level(0.05 / 12, 0.05 / 48)


def estimate(mean, trials=1_000, deviation=0.3, skewness=0.0):
    return Estimate(trials, mean, deviation, skewness)


def judged(mean, bound=0.0, direction="above", **kwargs):
    return judge(Statement("", estimate(mean, **kwargs), bound, direction), LEVEL)


@pytest.mark.parametrize(("mean", "expected"), [(0.2, "supports"), (-0.2, "contradicts"), (0.03, "undecided")])
def test_a_mean_above_a_bound_is_shown_refuted_or_neither(mean, expected):
    assert judged(mean).outcome == expected
    assert judged(-mean, direction="below").outcome == expected


@pytest.mark.parametrize(("mean", "expected"), [(0.0, "supports"), (0.3, "contradicts"), (-0.09, "undecided")])
def test_equivalence_needs_both_sides(mean, expected):
    assert judged(mean, 0.1, "within").outcome == expected
    assert judged(-mean, 0.1, "within").outcome == expected


def test_equivalence_is_refuted_on_either_side_alike():
    left, right = judged(-0.3, 0.1, "within"), judged(0.3, 0.1, "within")
    assert (left.low, left.high) == pytest.approx((-right.high, -right.low))
    assert judged(1.0, 0.1, "within").outcome == "contradicts"


def test_below_a_negative_bound_is_undecided_where_the_interval_holds_the_bound():
    assert judged(-0.33, -0.3, "below").outcome == "undecided"
    assert judged(0.33, 0.3).outcome == "undecided"


def test_an_interval_of_its_own_is_compared_with_the_bound():
    found = judge(IntervalStatement("share", 0.1, 0.0, 0.2, 0.5), LEVEL)
    assert (found.low, found.high, found.outcome, found.distance, found.kind) == (0.0, 0.2, "contradicts", -0.4, "95%")
    below = judge(IntervalStatement("share", 0.1, 0.1, 0.1, 0.5, "below"), LEVEL)
    assert (below.outcome, below.distance, below.kind) == ("supports", 0.4, "exact")


def test_an_estimate_has_the_moments_of_its_values():
    assert Estimate.of(np.array([0.0, 0.0, 0.0, 4.0])) == (4, 1.0, 2.0, 0.75, ())
    assert Estimate.of(np.ones(2)) == (2, 1.0, 0.0, 0.0, ())


def test_the_interval_that_is_printed_is_the_one_that_decides():
    for mean in np.linspace(-0.3, 0.3, 601):
        above, within = judged(mean), judged(mean, 0.1, "within")
        assert (above.low > 0, above.high < 0) == (above.outcome == "supports", above.outcome == "contradicts")
        is_inside = -0.1 < within.low and within.high < 0.1
        is_outside = within.low > 0.1 or within.high < -0.1
        assert (is_inside, is_outside) == (within.outcome == "supports", within.outcome == "contradicts")


def test_the_end_that_contradicts_is_further_away_than_the_one_that_supports():
    one = judged(0.03)
    assert one.high - one.estimate > one.estimate - one.low
    assert one.low == estimate(0.03).low(LEVEL.support)
    assert one.high == estimate(0.03).high(LEVEL.contradict)


def test_a_statement_is_on_the_margin_where_more_trials_would_hardly_matter():
    assert judged(0.001, trials=9_999, deviation=1.0).outcome == "undecided"
    assert judged(0.001, trials=10_000, deviation=1.0).outcome == "on the margin"
    assert judged(0.001, trials=4_000, deviation=0.3).outcome == "on the margin"
    assert judged(0.001, trials=499, deviation=0.001).outcome == "undecided"


def test_trials_needed_are_enough_if_the_estimate_is_true():
    needed = judged(0.03).trials_needed
    assert 1_000 < needed < 10_000
    assert judged(0.03, trials=needed).outcome == "supports"
    assert judged(0.03, trials=needed - 200).outcome == "undecided"
    assert judged(0.0, deviation=5.0).trials_needed == 10_000
    assert judged(0.2).trials_needed is None


def test_means_without_any_spread_are_decided():
    same = Estimate.of(np.ones(500))
    assert judge(Statement("", same, 0.5), LEVEL).outcome == "supports"
    assert judge(Statement("", same, 2.0), LEVEL).outcome == "contradicts"


def test_one_trial_is_too_few():
    with pytest.raises(StoreError, match=r"^At least two trials are needed to estimate an error\.$"):
        Estimate.of(np.ones(1))


def somewhere(*leads):
    """There is a size at which all parts are above zero; one tuple of means per size."""
    sizes = (10, 100, 1000)
    return Somewhere("", {sizes[i]: [Statement("", estimate(one), 0.0) for one in own] for i, own in enumerate(leads)})


@pytest.mark.parametrize(
    ("leads", "expected"),
    [
        ([(0.2, 0.2), (-0.2, 0.2)], "supports"),
        ([(0.2, -0.2), (-0.2, 0.2)], "contradicts"),
        ([(0.2, 0.01), (-0.2, 0.2)], "undecided"),
        ([(0.01,), (-0.2,)], "undecided"),
        ([(-0.2,), (-0.2,)], "contradicts"),
    ],
)
def test_one_size_at_which_all_parts_hold_suffices(leads, expected):
    assert judge(somewhere(*leads), LEVEL).outcome == expected


def test_one_of_several_sizes_must_be_clearer_than_a_single_one():
    assert judge(somewhere((0.038,)), LEVEL).outcome == "supports"
    assert judge(somewhere((0.038,), (-0.2,), (-0.2,)), LEVEL).outcome == "undecided"


def test_more_trials_are_needed_only_of_sizes_at_which_it_may_hold():
    named = {
        size: [Statement("", estimate(mean)._replace(points=(("w", "EM", size),)), 0.0)]
        for size, mean in ((10, 0.01), (100, -0.2), (1000, -0.01))
    }
    assert [point[2] for point in Somewhere("", named).open_points(LEVEL)] == [10, 1000]


def test_one_contradiction_outweighs_doubt_and_support():
    yes, no, perhaps = (judge(IntervalStatement("", 0.5, *ends, 0.0), LEVEL) for ends in ((1, 2), (-2, -1), (-1, 1)))
    margin = judged(0.001, trials=10_000)
    assert verdict([yes, yes]) == "reproduced"
    assert verdict([yes, margin]) == "on the margin"
    assert verdict([yes, margin, perhaps]) == "undecided, leaning for"
    assert verdict([yes, perhaps, judged(-0.01)]) == "undecided, leaning against"
    assert verdict([yes, perhaps, no]) == "not reproduced"
    assert verdict([]) == "no data"


def test_the_number_that_says_it_best_is_the_worst_of_those_that_decide():
    evidence = [judged(0.3), judged(0.2), judged(-0.2), judged(-0.3)]
    assert deciding(evidence[:2]) is evidence[1]
    assert deciding(evidence) is evidence[3]
    assert deciding([]) is None


def test_a_sample_of_units_that_are_not_trials_has_t_intervals():
    values = np.random.default_rng(0).normal(0.3, 0.2, 10)
    found = Sample.of(values)
    assert (found.low(0.025), found.high(0.025)) == pytest.approx(
        (values.mean() - 2.262157 * found.error, values.mean() + 2.262157 * found.error)
    )
    assert judge(Statement("", found, 0.0), LEVEL).interval.endswith("(t)")
    assert found.trials == Trials(10, 10)
