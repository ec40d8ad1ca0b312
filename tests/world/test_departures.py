"""Worlds that depart from the binary model, and how far: against enumeration, simulation and brute force."""

import copy
import re

import numpy as np
import pytest
from scipy import optimize, special

from ciabench import CIAFamily, CIAModel, Scorer, ThresholdFamily, TreeFamily, TwoHiddenFamily, departure
from ciabench.errors import CIABenchError, ModelError, ParameterError
from ciabench.lab.plan.worlds import make_world
from ciabench.probability import bernoulli
from ciabench.seeds import Seed, canonical
from ciabench.world import bit_model
from ciabench.world import departure as departure_module
from ciabench.world.threshold import ThresholdModel
from ciabench.world.tree import TreeModel

FAMILIES = {
    "Tree": lambda n: TreeFamily(n, 1, 0.9),
    "TwoHidden": lambda n: TwoHiddenFamily(n, 0.9),
    "Threshold": lambda n: ThresholdFamily(n, 5, 0.05, 0.9),
}
CONCENTRATIONS = {14: 0.7, 75: 3.0}
"""Near the calibrated ones of TwoHidden, which take seconds to find."""


def drawn(kind, n, rng=0):
    """An accepted model."""
    if kind == "TwoHidden" and n in CONCENTRATIONS:
        return TwoHiddenFamily(n, 0.9, concentration=CONCENTRATIONS[n], tolerance=0.05).draw(rng)
    return FAMILIES[kind](n).draw(rng)


def first_half(X):
    """A linear rule that has nothing to do with any model."""
    return (X[:, : X.shape[1] // 2].sum(axis=1) > X.shape[1] / 4).astype(np.uint8)


@pytest.mark.parametrize("n", [10, 14])
@pytest.mark.parametrize("kind", FAMILIES)
def test_exact_and_sampled_scores_agree(kind, n, monkeypatch):
    model = drawn(kind, n)
    exact = Scorer(model)
    monkeypatch.setattr(bit_model, "ENUMERATION_LIMIT", 0)
    sampled = Scorer(model, rng=1, t_target=0.01)
    assert sampled.constant == exact.constant
    assert sampled.best == pytest.approx(exact.best, abs=0.01)
    found, expected = sampled.score(first_half), exact.score(first_half)
    assert 0 < found.t_error <= 0.01
    assert found.t == pytest.approx(expected.t, abs=5 * found.t_error)


@pytest.mark.parametrize("n", [10, 75])
@pytest.mark.parametrize("kind", FAMILIES)
def test_the_true_rule_has_t_1_and_the_constant_rule_0(kind, n):
    model = drawn(kind, n)
    scorer = Scorer(model, rng=0)
    assert scorer.t(model.predict) == pytest.approx(1, abs=1e-9)
    assert scorer.t(lambda X: np.full(len(X), model.constant)) == 0


@pytest.mark.parametrize("kind", FAMILIES)
def test_at_75_attributes_p_of_the_target_agrees_with_a_long_simulation(kind):
    model = drawn(kind, 75)
    X, y = model.sample(200_000, rng=3)
    chance = model.target_probability(X)
    assert y.mean() == pytest.approx(model.target_mean, abs=4 * 0.5 / np.sqrt(len(y)))
    edges = np.unique(np.quantile(chance, np.linspace(0, 1, 11)))
    places = np.clip(np.searchsorted(edges, chance, side="right") - 1, 0, max(len(edges) - 2, 0))
    for place in np.unique(places):
        own = places == place
        error = np.sqrt((chance[own] * (1 - chance[own])).sum()) / own.sum()
        assert y[own].mean() == pytest.approx(chance[own].mean(), abs=4.5 * error + 1e-12)


@pytest.mark.parametrize("kind", FAMILIES)
def test_patterns_have_probability_1_in_all_and_are_drawn_as_often_as_they_should(kind):
    model = drawn(kind, 10)
    masses, chances, posterior = model.enumeration
    assert masses.sum() == pytest.approx(1, abs=1e-12)
    assert masses @ chances == pytest.approx(model.target_mean, abs=1e-12)
    np.testing.assert_allclose(masses @ posterior, model.weights, atol=1e-12)
    X, y = model.sample(100_000, rng=4)
    codes = (X @ (1 << np.arange(9, -1, -1))) * 2 + y
    observed = np.bincount(codes, minlength=2048)
    expected = 100_000 * np.column_stack([masses * (1 - chances), masses * chances]).ravel()
    often = expected > 10
    surprise = ((observed - expected)[often] ** 2 / expected[often]).sum()
    assert surprise < often.sum() + 5 * np.sqrt(2 * often.sum())


def test_a_tree_without_strength_is_a_cia_model():
    family = TreeFamily(10, 0, 0.9)
    for seed in range(20):
        model = family.draw(seed)
        X = bernoulli.all_patterns(10)
        np.testing.assert_allclose(model.enumeration.masses, model.base.enumeration.masses, rtol=1e-12, atol=0)
        np.testing.assert_allclose(model.target_probability(X), model.base.target_probability(X), rtol=0, atol=1e-12)


def test_a_tree_by_hand():
    base = CIAModel([0.3, 0.7], [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.5, 0.3]])
    model = TreeModel(base, parents=[0, 0, 1], effects=[0, 1.5, -0.7])
    for row, mass in zip(bernoulli.all_patterns(3), model.enumeration.masses, strict=True):
        expected = 0.0
        for z, weight in enumerate(base.weights):
            for i, value in enumerate(row):
                shift = model.effects[i] * (2.0 * row[model.parents[i]] - 1)
                odds = base.probs[i + 1, z] / (1 - base.probs[i + 1, z]) * np.exp(shift)
                weight *= odds / (1 + odds) if value else 1 / (1 + odds)
            expected += weight
        assert mass == pytest.approx(expected, rel=1e-12)


def test_a_tree_is_accepted_for_its_difficulty_without_its_effects_and_for_its_headroom_with_them():
    family, own = TreeFamily(10, 2, 0.9), []
    for seed in range(50):
        model = family.draw(seed)
        assert abs(model.base.difficulty() - 0.9) <= 0.01
        assert Scorer(model).headroom >= 0.02
        own.append(abs(model.difficulty() - 0.9))
    assert max(own) > 0.02
    task = family.task(Seed((1997, family.identity, 0)))
    assert task.facts["difficulty"] == task.judge.model.difficulty()


def test_strength_is_all_that_differs_between_trees():
    weak, strong = (TreeFamily(10, d, 0.9).draw_unselected(5) for d in (0.5, 2))
    np.testing.assert_array_equal(weak.base.probs, strong.base.probs)
    np.testing.assert_array_equal(weak.parents, strong.parents)
    np.testing.assert_allclose(4 * weak.effects, strong.effects)


def test_two_hidden_variables_are_independent_and_each_has_its_attributes():
    model = TwoHiddenFamily(7, 0.9, concentration=0.6).draw_unselected(0)
    weights, (target, *attributes) = model.weights.reshape(2, 2), model.probs.reshape(8, 2, 2)
    np.testing.assert_allclose(weights, np.outer(weights.sum(axis=1), weights.sum(axis=0)))
    for attribute in attributes[:4]:
        np.testing.assert_array_equal(attribute[:, 0], attribute[:, 1])
    for attribute in attributes[4:]:
        np.testing.assert_array_equal(attribute[0], attribute[1])
    assert len(set(target.ravel())) == 4


def test_mean_difficulty_of_two_hidden_variables_is_b():
    family, rng = TwoHiddenFamily(10, 0.9), np.random.default_rng(1)
    unselected = [family.draw_unselected(rng).difficulty() for _ in range(3_000)]
    assert np.mean(unselected) == pytest.approx(0.9, abs=4 * np.std(unselected) / np.sqrt(3_000) + 0.0005)
    assert abs(family.draw(rng).difficulty() - 0.9) <= 0.01


@pytest.mark.parametrize(("r", "noise"), [(1, 0.0), (5, 0.05), (6, 0.2), (10, 0.4)])
def test_the_best_rule_of_a_threshold_world_errs_as_often_as_the_noise(r, noise):
    model = ThresholdFamily(10, r, noise, 0.9).draw(0)
    scorer = Scorer(model)
    assert scorer.best == pytest.approx(1 - noise, abs=1e-12)
    assert scorer.headroom == pytest.approx(model.headroom, abs=1e-12)
    counts = (bernoulli.all_patterns(10)[:, model.relevant] == model.counting).sum(axis=1)
    np.testing.assert_array_equal(model.predict(bernoulli.all_patterns(10)), counts >= (r + 1) / 2)
    assert np.unique(model.relevant).size == r


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TreeFamily(10, -1, 0.9), r"d, the strength of the tree, must be a number in \[0, 500\]; got -1"),
        (lambda: TreeFamily(10, float("nan"), 0.9), "d, the strength of the tree, must be a number"),
        (lambda: TreeFamily(0, 1, 0.9), "n, the number of attributes, must be an integer of at least 1; got 0"),
        (lambda: TreeFamily(10, 1, 0.5), r"b, the difficulty, must be a number in \(0.5, 1\); got 0.5"),
        (lambda: TwoHiddenFamily(10, 0.25), r"b, the difficulty, must be a number in \(0.25, 1\); got 0.25"),
        (lambda: TwoHiddenFamily(1, 0.99), r"TwoHidden\(1, 0.99\) does not exist: .* mean difficulty lies between"),
        (lambda: ThresholdFamily(10, 11, 0, 0.9), "r, the number of relevant attributes, must be at most 10; got 11"),
        (lambda: ThresholdFamily(10, 0, 0, 0.9), "r, the number of relevant attributes, must be .* at least 1; got 0"),
        (lambda: ThresholdFamily(10, 2.5, 0, 0.9), "r, the number of relevant attributes, must be an integer"),
        (lambda: ThresholdFamily(10, 5, 0.5, 0.9), "noise = 0.5 leaves a headroom of at most 0"),
        (lambda: ThresholdFamily(10, 5, 0.49, 0.9), "noise = 0.49 leaves a headroom of at most 0.01"),
        (lambda: ThresholdFamily(10, 5, 0.6, 0.9), r"noise must be a number in \[0, 0.5\]; got 0.6"),
        (lambda: ThresholdFamily(10, 5, "little", 0.9), "noise must be a number"),
        (lambda: make_world("Tree", {"n": 10, "k": 2, "b": 0.9}), "unknown parameter 'k' of Tree"),
    ],
)  # fmt: skip
def test_what_cannot_exist_is_refused_in_one_line(make, message):
    with pytest.raises(CIABenchError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("family", [
    TreeFamily(3_000, 1, 0.9, concentration=450.0, tolerance=0.1, min_headroom=0),
    TreeFamily(10, 50, 0.9),
    TwoHiddenFamily(3_000, 0.9, concentration=120.0, tolerance=0.1),
    ThresholdFamily(3_000, 1_501, 0.05, 0.9, concentration=450.0, tolerance=0.1),
    ThresholdFamily(10, 4, 0, 0.9),
    ThresholdFamily(10, 10, 0.25, 0.9),
], ids=lambda family: family.name)  # fmt: skip
def test_extreme_families_give_an_answer(family):
    model = family.draw(0)
    X, y = model.sample(50, rng=0)
    assert X.shape == (50, family.n)
    assert set(np.unique(y)) <= {0, 1}
    chance = model.target_probability(X)
    assert ((chance >= 0) & (chance <= 1)).all()
    if model.enumerable:
        assert Scorer(model).t(model.predict) == pytest.approx(1)
        assert departure(model) >= 0


@pytest.mark.parametrize("family", [
    TreeFamily(10, 1, 0.9), TwoHiddenFamily(10, 0.9), ThresholdFamily(10, 5, 0.05, 0.9)
])  # fmt: skip
def test_name_identity_and_repr_of_a_family(family):
    own = [f"{value:g}" for name, value in family.parameters.items() if name not in ("tolerance", "min_headroom")]
    assert family.name == f"{family.use}({', '.join(own)})"
    assert family.identity == {"use": family.use, **family.parameters}
    assert repr(family).startswith(f"{family.use}Family(n=10, ")
    assert canonical(make_world(family.use, family.parameters).identity) == canonical(family.identity)
    assert f"<caption>{family.name}</caption>" in family._repr_html_()
    assert canonical(type(family)(**family.parameters).identity) == canonical(family.identity)


def test_whole_numbers_make_the_same_world_as_floats():
    assert canonical(TreeFamily(10, 1, 0.9).identity) == canonical(TreeFamily(10, 1.0, 0.9).identity)


@pytest.mark.parametrize("kind", FAMILIES)
def test_rows_of_the_wrong_shape_or_with_other_values_are_refused(kind):
    model = drawn(kind, 10)
    with pytest.raises(ParameterError, match=re.escape("X must have shape (s, 10); got (1, 2)")):
        model.target_probability([[0, 1]])
    if kind != "TwoHidden":
        with pytest.raises(ParameterError, match="X must hold 0 and 1 only"):
            model.predict(np.full((2, 10), 2, dtype=np.uint8))


BASE = CIAModel([0.5, 0.5], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.4]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TreeModel(BASE, [0, 1], [0, 1]), "the first attribute must have parent 0"),
        (lambda: TreeModel(BASE, [0, 0], [1, 1]), "the first attribute must have parent 0 and effect 0"),
        (lambda: TreeModel(BASE, [0], [0]), r"must have shape \(2,\)"),
        (lambda: TreeModel(BASE, [0, 0], [0, np.inf]), "effects must be finite"),
        (lambda: ThresholdModel(BASE, [0, 0], [1, 1], 0), "relevant must be different positions from 0 to 1"),
        (lambda: ThresholdModel(BASE, [0, 2], [1, 1], 0), "relevant must be different positions from 0 to 1"),
        (lambda: ThresholdModel(BASE, [0, 1], [1], 0), "must have the same shape"),
        (lambda: ThresholdModel(BASE, [0], [2], 0), "counting must hold 0 and 1 only"),
        (lambda: ThresholdModel(BASE, [0], [1], 0.5), r"noise must lie in \[0, 0.5\)"),
    ],
)
def test_models_that_are_none_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


def test_a_binary_model_departs_from_itself_by_nothing():
    family = CIAFamily(10, 2, 0.9)
    found = [departure(family.draw(seed)) for seed in range(40)]
    assert min(found) >= 0
    assert max(found) < 1e-8


def test_the_departure_falls_to_nothing_with_the_strength_of_the_tree():
    models = [TreeFamily(10, d, 0.9).draw_unselected(3) for d in (2, 1, 0.5, 0.1, 0.01, 0)]
    found = [departure(model) for model in models]
    assert found == sorted(found, reverse=True)
    assert 0 <= found[-1] < 1e-8
    assert found[-2] < 1e-4


def brute_force(model, starts):
    """Smallest KL of many descents along the gradient in the log-odds of a binary mixture."""
    patterns, (masses, chances, _) = bernoulli.all_patterns(model.n), model.enumeration
    rows = np.vstack([np.column_stack([np.full(len(patterns), y), patterns]) for y in (0, 1)])
    true = np.concatenate([masses * (1 - chances), masses * chances])

    def divergence(log_odds):
        weight, probs = special.expit(log_odds[0]), special.expit(log_odds[1:].reshape(2, -1))
        shares = [1 - weight, weight]
        parts = [share * np.where(rows, prob, 1 - prob).prod(axis=1) for share, prob in zip(shares, probs, strict=True)]
        own = [true * part / (parts[0] + parts[1]) for part in parts]
        gradient = [own[1].sum() - weight, *(part @ (rows - prob) for part, prob in zip(own, probs, strict=True))]
        return (true * np.log(true / (parts[0] + parts[1]))).sum(), -np.hstack(gradient)

    settings = {"method": "L-BFGS-B", "jac": True, "bounds": [(-20, 20)] * starts.shape[1]}
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1_000, "maxfun": 2_000}
    return min(optimize.minimize(divergence, start, options=options, **settings).fun for start in starts)


SMALL = [
    CIAFamily(3, 3, 0.8),
    CIAFamily(4, 4, 0.8),
    TreeFamily(4, 1.5, 0.8),
    TwoHiddenFamily(4, 0.7),
    ThresholdFamily(4, 3, 0.1, 0.8),
]


def random_starts(model, number):
    """Log-odds of random binary mixtures: of the weight, and of all probabilities."""
    return np.random.default_rng(0).normal(0, 1.5, (number, 2 * (model.n + 1) + 1))


@pytest.mark.parametrize("family", SMALL, ids=lambda family: family.name)
def test_no_descent_finds_a_nearer_binary_model(family):
    model = family.draw_unselected(0)
    found = departure(model)
    projection = np.hstack([found.projection.weights[1], found.projection.probs.T.ravel()])
    near = np.clip(bernoulli.logit(projection), -5, 5) + 0.1
    assert found == pytest.approx(brute_force(model, np.vstack([near, random_starts(model, 3)])), abs=1e-6)


@pytest.mark.soak
@pytest.mark.parametrize("family", SMALL, ids=lambda family: family.name)
@pytest.mark.parametrize("seed", range(4))
def test_no_descent_of_many_finds_a_nearer_binary_model(family, seed):
    model = family.draw_unselected(seed)
    found = departure(model)
    assert found >= 0
    assert found == pytest.approx(brute_force(model, random_starts(model, 30)), abs=1e-6)


@pytest.mark.parametrize("seed", [5, 39])
def test_more_starts_find_no_nearer_binary_model_where_few_miss_it(seed, monkeypatch):
    model = TwoHiddenFamily(10, 0.9).draw(seed)
    found = departure(model)
    monkeypatch.setattr(departure_module, "N_INIT", 200)
    assert found == pytest.approx(departure(model), abs=1e-6)
    monkeypatch.setattr(departure_module, "N_INIT", 1)
    assert departure(model) > found + 0.01


def test_a_sampled_departure_has_an_interval_around_the_exact_one(monkeypatch):
    model = CIAFamily(12, 3, 0.9).draw(1)
    exact = departure(model)
    monkeypatch.setattr(departure_module, "HALF", 2_000)
    found = [departure_module._sampled(model, np.random.default_rng(seed)) for seed in range(30)]
    covered = np.mean([one.low <= exact <= one.high for one in found])
    assert covered >= 0.85
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert np.mean(found) == pytest.approx(exact, abs=4 * error)
    in_sample = len(model.probs) / 2_000
    assert 4 * error < in_sample, "too noisy to show that the bias, of about this size, is corrected"


def test_a_departure_is_a_number_with_an_interval_and_a_projection():
    model = CIAFamily(10, 5, 0.9).draw(0)
    found = departure(model)
    assert isinstance(found, float)
    assert found.low == found.high == float(found) > 0.1
    assert found.projection.k == 2
    assert copy.deepcopy(found).projection.n == 10
    joint = [
        np.column_stack([one.masses * (1 - one.chances), one.masses * one.chances])
        for one in (model.enumeration, found.projection.enumeration)
    ]
    assert (joint[0] * np.log(joint[0] / joint[1])).sum() == pytest.approx(found, abs=1e-9)


def test_the_projection_is_where_em_ends():
    from ciabench import EM

    model = CIAFamily(10, 3, 0.9).draw(2)
    X, y = model.sample(100_000, rng=0)
    plateau = Scorer(model).t(departure(model).projection.predict)
    assert Scorer(model).t(EM(random_state=0).fit(X, y).predict) == pytest.approx(plateau, abs=0.03)
