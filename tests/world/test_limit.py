"""The limit of learning: against sums over the prior of a tiny family, and as a reference of the lab."""

import numpy as np
import pytest

from ciabench import BayesianMixture, CIAFamily, NaiveBayes, Scorer, TreeFamily, learning_curve
from ciabench.errors import ExperimentError
from ciabench.probability.bernoulli import all_patterns
from ciabench.seeds import Seed
from ciabench.world import limit
from ciabench.world.conditions import Conditions
from ciabench.world.limit import KnownFamily, Models, Voters, _enumerated, _SharedPatterns

TINY = CIAFamily(3, 2, 0.85, tolerance=0.05)
PATTERNS = all_patterns(3)


def known(family):
    return KnownFamily(family.concentration, Conditions(family.b, family.tolerance, family.min_headroom))


def joints(models):
    """P(x, x_0 = 1) and P(x, x_0 = 0) of all models and patterns, (M, 8) each."""
    attributes = models.probs[:, None, 1:]
    chances = np.where(PATTERNS[None, :, :, None] == 1, attributes, 1 - attributes).prod(axis=2)
    joint = chances * models.weights[:, None]
    return (joint * models.probs[:, None, 0]).sum(axis=2), (joint * (1 - models.probs[:, None, 0])).sum(axis=2)


def votes_of_the_prior(X, y, models):
    """E[v(θ) (P(x, 1) − P(x, 0))] by weighing models of the prior with their likelihoods."""
    one, zero = joints(models)
    attributes = models.probs[:, None, 1:]
    chances = np.where(PATTERNS[None, :, :, None] == 1, attributes, 1 - attributes).prod(axis=2)
    difficulty = (chances * models.weights[:, None]).max(axis=2).sum(axis=1)
    headroom = np.maximum(one, zero).sum(axis=1) - np.maximum(one.sum(axis=1), zero.sum(axis=1))
    accepted = (abs(difficulty - TINY.b) <= TINY.tolerance) & (headroom >= TINY.min_headroom)
    rows = X @ [4, 2, 1]
    likelihood = np.where(y == 1, one[:, rows], zero[:, rows]).prod(axis=1)
    worths = np.where(accepted, likelihood / np.maximum(headroom, TINY.min_headroom), 0)
    return worths @ (one - zero) / worths.sum()


@pytest.fixture(scope="module")
def prior():
    rng, a = np.random.default_rng(1), TINY.concentration
    return Models(rng.dirichlet([a, a], 200_000), rng.beta(a, a, (200_000, 4, 2)))


@pytest.mark.parametrize("size", [2, 6])
@pytest.mark.parametrize("number", range(2))
def test_votes_are_those_of_the_whole_prior(number, size, prior, monkeypatch):
    """To four standard errors, from draws of chains that are nearly independent."""
    monkeypatch.setattr(limit, "SWEEPS_AND_ROWS", 4_000 * size)
    model = TINY.draw(number)
    X, y = model.sample(size, number)
    expected = votes_of_the_prior(X, y, prior)
    rng = np.random.default_rng(number)
    models = known(TINY).posterior(X, y, model, rng)
    worths = known(TINY).worths(models, rng)
    one, zero = joints(models)
    terms = worths[:, None] * (one - zero - expected)
    errors = terms.std(axis=0) / np.sqrt(len(worths)) / worths.mean()
    assert (abs(terms.mean(axis=0) / worths.mean()) < 4 * np.maximum(errors, 1e-4) * 1.5).all()
    clear = abs(expected) > 0.02
    np.testing.assert_array_equal(Voters.of(models, worths).predict(PATTERNS)[clear], expected[clear] > 0)


def test_conditions_of_draws_are_those_of_the_family():
    for n in (6, 20):
        family = CIAFamily(n, 3, 0.8)
        for number in range(5):
            model = family.draw(number)
            measured = _enumerated if n == 6 else _SharedPatterns.drawn(n, np.random.default_rng(0)).measure
            difficulty, headroom = measured(model.weights, model.probs)
            error = 1e-9 if n == 6 else 0.03
            assert difficulty == pytest.approx(model.difficulty(), abs=error)
            assert headroom == pytest.approx(Scorer(model, 0).headroom, abs=error)


def test_limit_is_deterministic_states_its_halves_and_leads_a_learner():
    family, rows = CIAFamily(6, 3, 0.8), {}
    for turn in range(2):
        rows[turn] = learning_curve(
            family, [BayesianMixture(max_sweeps=50), NaiveBayes()], sizes=[300], trials=12, random_state=0,
            references=["limit"],
        )  # fmt: skip
    np.testing.assert_array_equal(rows[0]["t"], rows[1]["t"])
    halves = rows[0][["limit_random", "limit_truth", "limit_unweighted"]]
    assert halves.notna().all(axis=None)
    wide = rows[0].pivot(index=["size", "trial"], columns="learner", values="t")
    assert wide.notna().all(axis=None)
    assert wide["limit"].mean() > wide["BayesianMixture"].mean() - 0.01
    assert wide["limit"].mean() > wide["NaiveBayes"].mean() + 0.03
    limits = rows[0][rows[0]["learner"] == "limit"]
    assert (limits["limit_truth"] - limits["t"]).abs().mean() < 0.05


def test_limit_is_near_the_truth_where_there_are_many_rows():
    task = CIAFamily(20, 2, 0.9).task(Seed((4,)))
    rule = task.references["limit"](*task.training(2_000))
    score = task.judge.score(rule)
    assert score.t > 0.95
    assert score.t_error <= limit.T_TARGET
    assert rule.facts["draws"] == 1_600
    assert 0 < rule.facts["accepted"] < 1_600
    assert rule.facts["limit_random"] == pytest.approx(rule.facts["limit_truth"], abs=0.03)


def test_without_an_accepted_draw_the_rule_is_unweighted():
    """A family of one difficulty in a million accepts no draw."""
    family = CIAFamily(5, 2, 0.8)
    model = family.draw(0)
    X, y = model.sample(50, 0)
    narrow = KnownFamily(family.concentration, Conditions(0.8, 1e-9, 0.02))
    rule = narrow.limit(X, y, model, Scorer(model), Seed((0,)))
    assert rule.facts["accepted"] == 0
    assert Scorer(model).t(rule.predict) == rule.facts["limit_unweighted"]


def test_only_families_of_cia_models_have_a_limit():
    with pytest.raises(ExperimentError, match="no world of the experiment offers the reference 'limit'"):
        learning_curve(TreeFamily(6, 1, 0.85), [NaiveBayes()], sizes=[20], trials=1, references=["limit"])
