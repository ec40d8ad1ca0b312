import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ciabench.errors import DataError, ParameterError
from ciabench.findings.leads import Interval, SplitHits, compare_ways, paired

WAYS = {"model": ["mixture", "EM"], "direct": ["linear", "forest", "Winnow"]}
NAMES = [name for way in WAYS.values() for name in way]
N_ROWS = 90


def random_splits(rng, n_splits=7, right=0.8):
    """Splits with test parts of different sizes, and learners that are right at random."""
    tested = [rng.choice(N_ROWS, size, replace=False) for size in rng.integers(20, 40, n_splits)]
    return [SplitHits(rows, {name: rng.random(rows.size) < right for name in NAMES}) for rows in tested]


def of_fixed_rules(rng, rights, n_rows=N_ROWS, n_splits=15):
    """Splits of rules that do not depend on the training rows."""
    hits = {name: rng.random(n_rows) < right for name, right in rights.items()}
    tested = [rng.choice(n_rows, n_rows // 3, replace=False) for _ in range(n_splits)]
    return [SplitHits(rows, {name: one[rows] for name, one in hits.items()}) for rows in tested]


def best_outside(splits, test_part, way):
    """By the definition, row by row: the learner that is right most often on rows outside a test part."""
    right = dict.fromkeys(way, 0)
    for split in splits:
        for place, row in enumerate(split.rows):
            if row not in test_part:
                for name in way:
                    right[name] += int(split.hits[name][place])
    return max(way, key=right.__getitem__)


@given(seed=st.integers(0, 50))
def test_ways_are_represented_by_the_best_learner_on_other_rows(seed):
    splits = random_splits(np.random.default_rng(seed))
    differences = []
    for split in splits:
        first, second = (best_outside(splits, set(split.rows), way) for way in WAYS.values())
        differences.append(split.hits[first].mean() - split.hits[second].mean())
    lead = compare_ways(splits, WAYS, n_train=60)
    sign = 1 if lead.leader == "model" else -1
    assert lead.difference == pytest.approx(abs(np.mean(differences)))
    assert sign * np.mean(differences) >= 0


def test_interval_is_the_corrected_resampled_t():
    rng = np.random.default_rng(0)
    splits = random_splits(rng, n_splits=10)
    d = np.array([split.hits["EM"].mean() - split.hits["linear"].mean() for split in splits])
    n_test = np.mean([split.rows.size for split in splits])
    error = np.sqrt(d.var(ddof=1) * (1 / 10 + n_test / 40))
    low, high = stats.t.interval(0.9, df=9, loc=d.mean(), scale=error)
    found = paired(splits, "EM", "linear", n_train=40, level=0.9)
    assert (found.difference, found.low, found.high) == pytest.approx((d.mean(), low, high))
    assert (found.n_splits, found.n_rows) == (10, 40 + n_test)


def test_splits_that_agree_by_chance_do_not_make_a_difference_certain():
    hits = {"a": np.repeat([True, False], [6, 4]), "b": np.repeat([True, False], [5, 5])}
    found = paired([SplitHits(np.arange(10) + start, hits) for start in (0, 5)], "a", "b", n_train=20)
    error = np.sqrt((0.1 - 0.1**2) / 15)
    assert found.high - found.difference == pytest.approx(stats.t.ppf(0.975, 1) * error)


def test_order_of_the_ways_and_of_the_splits_does_not_matter():
    splits = of_fixed_rules(np.random.default_rng(1), dict(zip(NAMES, (0.5, 0.7, 0.5, 0.6, 0.9), strict=True)))
    lead = compare_ways(splits, WAYS, n_train=60)
    other = compare_ways(splits[::-1], dict(reversed(WAYS.items())), n_train=60)
    assert lead.leader == other.leader == "direct"
    assert lead.representatives == other.representatives == {"model": "EM", "direct": "Winnow"}
    assert (lead.low, lead.high) == pytest.approx((other.low, other.high))


def test_of_equally_good_learners_the_first_represents_its_way():
    rows, hits = np.arange(10), np.ones(10, dtype=bool)
    splits = [SplitHits(rows + start, dict.fromkeys(NAMES, hits)) for start in (0, 10, 20)]
    lead = compare_ways(splits, WAYS, n_train=20)
    assert lead.representatives == {"model": "mixture", "direct": "linear"}
    assert (lead.answer, lead.low, lead.high) == ("same", 0, 0)


def test_one_split_decides_nothing():
    lead = compare_ways(random_splits(np.random.default_rng(0), n_splits=1), WAYS, n_train=60)
    assert (lead.answer, lead.low, lead.high, lead.rows_needed) == ("undecided", -np.inf, np.inf, None)


def test_if_all_splits_test_the_same_rows_the_best_on_them_represents_its_way():
    hits = {name: np.arange(20) < place for place, name in enumerate(NAMES, 10)}
    lead = compare_ways([SplitHits(np.arange(20), hits)] * 3, WAYS, n_train=60)
    assert lead.representatives == {"model": "EM", "direct": "Winnow"}


@pytest.mark.parametrize(
    ("low", "high", "margin", "answer"),
    [
        (0.002, 0.006, 0.01, "lead"),
        (-0.06, -0.01, 0.01, "lead"),
        (-0.01, 0.004, 0.01, "same"),
        (-0.01, 0.004, 0.005, "undecided"),
        (0.0, 0.03, 0.01, "undecided"),
    ],
)
def test_three_answers(low, high, margin, answer):
    interval = Interval((low + high) / 2, low, high, 15, 1000)
    assert interval.answer(margin) == answer
    assert (interval.rows_needed(margin) is None) == (answer != "undecided")


def test_rows_needed_make_the_half_width_as_small_as_the_difference_or_what_it_leaves_of_the_margin():
    half_width = 0.03
    for difference, target in ((0.02, 0.02), (0.004, 0.006), (-0.002, 0.008)):
        interval = Interval(difference, difference - half_width, difference + half_width, 15, 900)
        exact = 900 * (half_width / target) ** 2
        assert exact <= interval.rows_needed(0.01) <= exact * 1.1


def test_false_leads_are_rare_and_clear_leads_are_found():
    rng = np.random.default_rng(5)
    answers = {0.8: [], 0.92: []}
    for right, found in answers.items():
        for _ in range(150):
            splits = of_fixed_rules(rng, {name: right if name == "mixture" else 0.8 for name in NAMES}, n_rows=600)
            found.append(compare_ways(splits, WAYS, n_train=400).answer)
    assert answers[0.8].count("lead") <= 12
    assert answers[0.92].count("lead") >= 140


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(DataError, match="no splits"):
        compare_ways([], WAYS, n_train=60)
    with pytest.raises(DataError, match="no splits"):
        paired([], "EM", "linear", n_train=60)
    with pytest.raises(ParameterError, match="two ways"):
        compare_ways(random_splits(np.random.default_rng(0)), {"one": NAMES}, n_train=60)
