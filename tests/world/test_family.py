from functools import partial

import numpy as np
import pytest

from ciabench import CIAFamily
from ciabench.errors import FamilyError, ParameterError
from ciabench.probability.bernoulli import all_patterns
from ciabench.seeds import Seed, canonical
from ciabench.world import calibration

PUBLISHED = {(10, 2): 1.73, (10, 5): 0.756, (75, 2): 11.7, (75, 3): 7.7, (75, 5): 5.7}


@pytest.mark.parametrize(("n", "k"), PUBLISHED)
def test_concentrations_agree_with_independent_estimates(n, k):
    assert CIAFamily(n, k, 0.9).concentration == pytest.approx(PUBLISHED[n, k], rel=0.03)


@pytest.mark.parametrize("n", [10, 75])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_unselected_models_have_mean_difficulty_b(n, k):
    concentration = CIAFamily(n, k, 0.9).concentration
    mean = calibration.mean_difficulty(
        partial(calibration.draw_parameters, n, k), concentration, 2_000, np.random.default_rng(7)
    )
    assert mean == pytest.approx(0.9, abs=0.005)


def test_mean_of_exact_difficulties_settles_the_concentration_of_ten_three():
    """At 1.05, an earlier estimate, the mean is 0.907; see docs/science/method.md."""
    rng = np.random.default_rng(3)
    family = CIAFamily(10, 3, 0.9)
    exact = [family.draw_unselected(rng).difficulty() for _ in range(4_000)]
    assert np.mean(exact) == pytest.approx(0.9, abs=4 * np.std(exact) / np.sqrt(4_000))


def test_shipped_table_is_what_calibration_gives():
    table = calibration.shipped_concentrations()
    assert set(table) == set(calibration.SHIPPED)
    for setting in [(10, 2, 0.9), (10, 5, 0.8), (25, 3, 0.95)]:
        assert table[setting] == pytest.approx(calibration.calibrate(*setting), rel=1e-5)


@pytest.mark.parametrize(("n", "k", "models"), [(10, 2, 300), (10, 5, 300), (75, 5, 20)])
def test_accepted_models_are_as_difficult_as_they_should_and_have_headroom(n, k, models):
    family, rng = CIAFamily(n, k, 0.9), np.random.default_rng(11)
    for _ in range(models):
        model = family.draw(rng)
        assert abs(model.difficulty() - 0.9) <= 0.01 + (0 if model.enumerable else 4 * 0.15 / np.sqrt(100_000))
        estimate, error = headroom(model)
        assert estimate >= 0.02 - 4 * error


def headroom(model):
    """S_best − S_const with its error, from the success of the Bayes rule: another path than the family's own."""
    if model.enumerable:
        chance, masses = model.target_probability(all_patterns(model.n)), model.enumeration.masses
        return masses @ np.maximum(chance, 1 - chance) - model.constant_success, 0.0
    chance = model.target_probability(model.sample(100_000, rng=5)[0])
    success = np.maximum(chance, 1 - chance)
    return success.mean() - model.constant_success, success.std() / np.sqrt(100_000)


def test_without_headroom_condition_most_binary_models_have_none():
    family, rng = CIAFamily(10, 2, 0.9, min_headroom=0), np.random.default_rng(0)
    models = [family.draw(rng) for _ in range(200)]
    assert 0.57 < np.mean([headroom(model)[0] < 0.02 for model in models]) < 0.77


def test_rejections_of_both_kinds_are_counted():
    rates = CIAFamily(10, 2, 0.9).describe(models=50)
    assert rates["difficulty"] > 50
    assert rates["headroom"] > 50
    assert rates["drawn"] == 50 + rates["difficulty"] + rates["headroom"]
    assert rates["acceptance_rate"] == pytest.approx(50 / rates["drawn"])


def test_same_seed_same_model():
    family = CIAFamily(75, 3, 0.9)
    first, second = family.draw(rng=4), family.draw(rng=4)
    np.testing.assert_array_equal(first.probs, second.probs)
    assert not np.array_equal(first.probs, family.draw(rng=5).probs)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 0}, "n, the number of attributes, must be an integer of at least 1; got 0"),
        ({"n": 2.5}, "n, the number of attributes, must be an integer"),
        ({"k": 1}, "k, the number of hidden values, must be an integer of at least 2; got 1"),
        ({"b": 0.5}, r"b, the difficulty, must be a number in \(0.5, 1\); got 0.5"),
        ({"b": 1}, "b, the difficulty, must be a number"),
        ({"b": float("nan")}, "b, the difficulty, must be a number"),
        ({"tolerance": 0}, "tolerance must be"),
        ({"min_headroom": -0.1}, "min_headroom must be"),
        ({"concentration": -1.0}, "concentration must be"),
        ({"t_target": 0}, r"t_target must be a number in \(0, inf\); got 0"),
        ({"t_target": float("inf")}, "t_target must be"),
    ],
)
def test_impossible_parameters_are_refused_at_once(parameters, message):
    with pytest.raises(ParameterError, match=message):
        CIAFamily(**{"n": 10, "k": 2, "b": 0.9, **parameters})


def test_unreachable_difficulty_is_refused_at_once():
    with pytest.raises(FamilyError, match=r"CIA\(1, 2, 0.99\) does not exist"):
        CIAFamily(1, 2, 0.99)


@pytest.mark.parametrize(
    ("parameters", "condition"), [({"min_headroom": 0.49}, "headroom"), ({"tolerance": 1e-12}, "difficulty")]
)
def test_a_family_that_accepts_no_model_says_which_condition_is_too_tight(parameters, condition):
    name = r"CIA\(2, 2, 0\.8, .*concentration=1\)"
    message = rf"no model of {name} was accepted: of 10000 drawn, \d+ failed on difficulty .* \d+ on headroom .*"
    with pytest.raises(FamilyError, match=f"^{message}loosen the condition on {condition}"):
        CIAFamily(2, 2, 0.8, concentration=1.0, **parameters).draw(rng=0)


IDENTITY = '{"b":0.9,"k":2,"min_headroom":0.02,"n":10,"tolerance":0.01}'
"""As in 0.1: all seeds hash it, so that another spelling would draw other models."""


@pytest.mark.parametrize("family", [
    CIAFamily(10, 2, 0.9),
    CIAFamily(n=np.int64(10), k=np.int8(2), b=np.float64(0.9)),
    CIAFamily(10, 2, 0.9, tolerance=0.01, min_headroom=0.02, concentration=None, t_target=0.005),
])  # fmt: skip
def test_name_parameters_and_identity_of_a_family(family):
    assert canonical(family.identity) == IDENTITY
    assert family.name == "CIA(10, 2, 0.9)"
    assert family.parameters == {"n": 10, "k": 2, "b": 0.9, "tolerance": 0.01, "min_headroom": 0.02}
    assert {type(value) for value in family.parameters.values()} == {int, float}


@pytest.mark.parametrize(("change", "name", "identity"), [
    ({"tolerance": 0.05}, "tolerance=0.05", IDENTITY.replace("0.01", "0.05")),
    ({"min_headroom": 0}, "min_headroom=0", IDENTITY.replace("0.02", "0.0")),
    ({"concentration": 1}, "concentration=1", IDENTITY.replace('"k"', '"concentration":1.0,"k"')),
    ({"concentration": np.float32(1.5)}, "concentration=1.5", IDENTITY.replace('"k"', '"concentration":1.5,"k"')),
    ({"t_target": 0.02}, "t_target=0.02", IDENTITY.replace('"tolerance"', '"t_target":0.02,"tolerance"')),
])  # fmt: skip
def test_what_is_not_the_default_is_in_name_parameters_and_identity(change, name, identity):
    family = CIAFamily(10, 2, 0.9, **change)
    assert family.name == f"CIA(10, 2, 0.9, {name})"
    assert canonical(family.identity) == identity
    assert family.parameters.items() >= change.items()


def test_a_concentration_that_is_given_counts_even_where_it_is_the_calibrated_one():
    calibrated = CIAFamily(10, 2, 0.9)
    given = CIAFamily(10, 2, 0.9, concentration=calibrated.concentration)
    assert given.identity == {**calibrated.identity, "concentration": calibrated.concentration}


@pytest.mark.parametrize("n", [10, 75])
def test_a_task_is_made_of_its_seed_alone(n):
    family = CIAFamily(n, 2, 0.9)
    first, again, other = (family.task(Seed((1997, family.identity, trial))) for trial in (0, 0, 1))
    assert first.facts == again.facts
    assert 0.89 <= first.facts["difficulty"] <= 0.91
    assert (first.judge.best, first.judge.constant) == (again.judge.best, again.judge.constant)
    assert first.judge.best != other.judge.best
    np.testing.assert_array_equal(first.training(30)[0], again.training(30)[0])
    assert not np.array_equal(first.training(30)[0], other.training(30)[0])
    assert first.classes.tolist() == [0, 1]


def test_smaller_training_samples_are_prefixes_of_larger_ones_in_any_order():
    family = CIAFamily(10, 2, 0.9)
    growing, at_once = (family.task(Seed((1997, family.identity, 0))).training for _ in range(2))
    X, y = at_once(1_700)
    for size in (0, 1, 499, 500, 501, 1_700, 30):
        part, labels = growing(size)
        np.testing.assert_array_equal(part, X[:size])
        np.testing.assert_array_equal(labels, y[:size])


def test_the_target_error_of_tests_is_that_of_the_family():
    family = CIAFamily(75, 2, 0.9, t_target=0.5)
    assert family.task(Seed((1997, family.identity, 0))).judge.t_target == 0.5
    assert CIAFamily(75, 2, 0.9).task(Seed(("any", 0))).judge.t_target == 0.005
