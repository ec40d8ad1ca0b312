from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss, roc_auc_score

from ciabench import CIAFamily, HeldOut, Scorer, departure
from ciabench.errors import ParameterError, RuleError
from ciabench.world import bit_model
from ciabench.world import model as model_module
from ciabench.world.scoring import BLOCK_DRAWS


def random_linear_rule(n, rng):
    direction = rng.normal(size=n)
    return lambda X: (X @ direction > direction.sum() / 2).astype(int)


def parity(X):
    return X.sum(axis=1) % 2


@pytest.fixture(params=[(10, 3), (75, 5)], ids=["exact", "sampled"])
def model(request):
    n, k = request.param
    return CIAFamily(n, k, 0.9).draw(rng=3)


def test_true_model_has_t_one_and_the_constant_rule_t_zero(model):
    scorer = Scorer(model, rng=0)
    assert scorer.t(model.predict) == 1.0
    assert scorer.success(model.predict) == scorer.best
    assert scorer.t(lambda X: np.full(len(X), model.constant)) == 0.0
    assert scorer.success(lambda X: np.full(len(X), model.constant)) == scorer.constant


@pytest.mark.parametrize("constant", [0, 1])
def test_exact_scores_are_sums_over_all_patterns_and_hidden_values(constant):
    family, rng = CIAFamily(10, 3, 0.9), np.random.default_rng(0)
    model = next(drawn for drawn in iter(lambda: family.draw(rng), None) if drawn.constant == constant)
    X = np.array(list(product([0, 1], repeat=10)))
    joint = model.weights * np.where(X[:, :, None], model.probs[1:], 1 - model.probs[1:]).prod(axis=1)
    one = joint @ model.probs[0]
    scorer, rule = Scorer(model), random_linear_rule(10, rng)
    assert scorer.best == pytest.approx(np.maximum(one, joint.sum(axis=1) - one).sum(), rel=1e-12)
    assert scorer.constant == pytest.approx(one.sum() if constant else 1 - one.sum(), rel=1e-12)
    expected = np.where(rule(X), one, joint.sum(axis=1) - one).sum()
    assert scorer.success(rule) == pytest.approx(expected, rel=1e-12)
    assert scorer.t(rule) == pytest.approx((expected - scorer.constant) / (scorer.best - scorer.constant), rel=1e-9)


def test_opposite_of_the_constant_rule_succeeds_when_it_fails(model):
    scorer = Scorer(model, rng=0)
    opposite = scorer.score(lambda X: np.full(len(X), 1 - model.constant))
    error = opposite.t_error * scorer.headroom
    assert opposite.success == pytest.approx(1 - scorer.constant, abs=1e-9 + 5 * error)


@given(seed=st.integers(0, 2**32 - 1))
def test_no_rule_beats_the_bayes_rule(seed):
    rng = np.random.default_rng(seed)
    model = CIAFamily(10, 3, 0.9).draw(rng=1)
    assert Scorer(model).t(random_linear_rule(10, rng)) < 1
    assert Scorer(model).t(lambda X: rng.integers(0, 2, len(X))) < 1


@pytest.fixture(scope="module")
def hundred_pairs():
    """Exact and sampled scores of a rule, linear or not by turns, on 100 models with n = 12."""
    family, rng, pairs = CIAFamily(12, 3, 0.9, concentration=1.3), np.random.default_rng(0), []
    for number in range(100):
        model, rule = family.draw(rng), parity if number % 2 else random_linear_rule(12, rng)
        exact = Scorer(model)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bit_model, "ENUMERATION_LIMIT", 0)
            sampled = Scorer(model, rng, t_target=0.02)
        pairs.append((exact.score(rule), sampled.score(rule)))
    return pairs


def test_exact_and_sampled_scores_agree_within_four_errors(hundred_pairs):
    assert len(hundred_pairs) == 100
    for exact, sampled in hundred_pairs:
        assert exact.t_error == 0.0 < sampled.t_error
        assert abs(exact.t - sampled.t) <= 4 * sampled.t_error


def test_stated_error_is_the_true_spread(hundred_pairs):
    deviations = [(exact.t - sampled.t) / sampled.t_error for exact, sampled in hundred_pairs]
    assert 0.8 < np.std(deviations) < 1.25


def test_sample_grows_until_the_error_target_is_met():
    model = CIAFamily(75, 2, 0.9).draw(rng=8)
    rule = random_linear_rule(75, np.random.default_rng(1))
    coarse = Scorer(model, rng=0, t_target=np.inf).score(rule)
    fine = Scorer(model, rng=0, t_target=coarse.t_error / 2).score(rule)
    assert fine.t_error <= coarse.t_error / 2
    assert 0 < abs(coarse.t - fine.t) < 4 * coarse.t_error


def counting(rule, sizes):
    """The same rule, which notes how many rows it is asked for."""

    def counted(X):
        assert X.dtype == np.uint8
        sizes.append(len(X))
        return rule(X)

    return counted


def test_as_many_patterns_are_drawn_as_the_error_asks_for():
    model, sizes = CIAFamily(75, 2, 0.9).draw(rng=8), []
    rule = counting(random_linear_rule(75, np.random.default_rng(1)), sizes)
    coarse = Scorer(model, rng=0, t_target=np.inf).score(rule)
    Scorer(model, rng=0, t_target=coarse.t_error / 2.5).score(rule)
    assert sizes[:3] == [20_000, 20_000, 120_000]  # 2.5² times as many in all, in whole blocks
    sizes.clear()
    assert Scorer(model, rng=0).score(rule).t_error <= 0.005 < coarse.t_error
    assert len(sizes) > 1


def test_a_rule_may_be_an_object_with_a_precision_of_its_own():
    model, sizes = CIAFamily(75, 2, 0.9).draw(rng=8), []
    rule = counting(random_linear_rule(75, np.random.default_rng(1)), sizes)
    scorer = Scorer(model, rng=0)
    coarse = scorer.score(SimpleNamespace(predict=rule, t_target=np.inf))
    assert coarse == Scorer(model, rng=0, t_target=np.inf).score(rule)
    assert sizes == [20_000, 20_000]
    assert scorer.score(SimpleNamespace(predict=rule)) == scorer.score(rule) != coarse


def test_the_stated_error_is_that_of_what_the_hidden_variable_does_not_explain():
    model, rule = CIAFamily(75, 5, 0.9).draw(rng=3), random_linear_rule(75, np.random.default_rng(1))
    X = model.sample_attributes(BLOCK_DRAWS, np.random.default_rng(0))
    controls, sign = model.posterior(X), 1 - 2 * model.constant
    advantage = sign * (2 * model.target_probability(X) - 1)
    gained, possible = advantage * (rule(X) != model.constant), np.maximum(advantage, 0)
    means = model.weights @ np.linalg.lstsq(controls, np.column_stack([gained, possible]))[0]
    score = Scorer(model, rng=0, t_target=np.inf).score(rule)
    assert score.t == pytest.approx(means[0] / means[1], rel=1e-9)
    rest = gained - score.t * possible
    rest -= controls @ np.linalg.lstsq(controls, rest)[0]
    assert score.t_error == pytest.approx(np.linalg.norm(rest) / (BLOCK_DRAWS * means[1]), rel=1e-9)


def test_a_score_does_not_depend_on_the_rules_scored_before():
    model = CIAFamily(75, 2, 0.9).draw(rng=8)
    rule = random_linear_rule(75, np.random.default_rng(1))
    busy = Scorer(model, rng=0)
    busy.score(parity)
    assert busy.score(rule) == Scorer(model, rng=0).score(rule)


def test_scores_are_unbiased_against_simulation_of_the_target(model):
    X, y = model.sample(200_000, rng=9)
    rule = random_linear_rule(model.n, np.random.default_rng(2))
    scorer = Scorer(model, rng=10)
    for tested in (rule, model.predict, parity):
        simulated = np.mean(tested(X) == y)
        error = np.hypot(0.5 / np.sqrt(200_000), scorer.t_error(tested) * scorer.headroom + 0.002 * (not scorer.exact))
        assert abs(simulated - scorer.success(tested)) < 4 * error


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda X: np.zeros(3), r"must return 1024 values for 1024 rows; got shape \(3,\)"),
        (lambda X: np.zeros((len(X), 1)), "must return 1024 values"),
        (lambda X: np.full(len(X), 2), "0 or 1 for every row; got values such as 2"),
        (lambda X: np.full(len(X), -1), "such as -1"),
        (lambda X: np.full(len(X), np.nan), "such as nan"),
        (lambda X: np.full(len(X), "yes"), "such as 'yes'"),
        (lambda X: None, r"got shape \(\)"),
    ],
)
def test_a_rule_that_does_not_return_classes_is_refused(rule, message):
    with pytest.raises(RuleError, match=message):
        Scorer(CIAFamily(10, 2, 0.9).draw(rng=0)).score(rule)


@pytest.mark.parametrize("ask", [Scorer, departure])
def test_a_family_is_not_a_model(ask):
    with pytest.raises(ParameterError, match=r"model must be a model, such as family\.draw\(rng\); got a CIAFamily"):
        ask(CIAFamily(10, 2, 0.9))


@pytest.mark.parametrize("n", [10, 75])
def test_the_shared_sample_is_protected_from_rules(n):
    model = CIAFamily(n, 2, 0.9).draw(rng=0)

    def vandal(X):
        X[:] = 0
        return X[:, 0]

    def burglar(X):
        X.flags.writeable = True
        return vandal(X)

    with pytest.raises(ValueError, match="read-only"):
        Scorer(model).score(vandal)
    with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
        Scorer(model).score(burglar)


def test_a_model_without_headroom_has_no_t():
    family = CIAFamily(10, 2, 0.9, min_headroom=0)
    rng = np.random.default_rng(0)
    model = next(m for m in iter(lambda: family.draw(rng), None) if m.probs[0].max() < 0.5)
    score = Scorer(model).score(lambda X: np.ones(len(X)))
    assert np.isnan(score.t)
    assert score.success == pytest.approx(1 - model.constant_success)
    sampled = Scorer(Bare(model), rng=0).score(lambda X: np.ones(len(X)))
    assert np.isnan([sampled.t, sampled.t_error]).all()
    assert sampled.success == pytest.approx(1 - model.constant_success, abs=0.01)


def test_a_test_that_was_interrupted_leaves_nothing_half_done(monkeypatch):
    model, rng = CIAFamily(75, 2, 0.9).draw(rng=8), np.random.default_rng(0)
    scorer, undisturbed = Scorer(model, rng=0, t_target=1e-4), Scorer(model, rng, t_target=1e-4)
    rule, draw, calls = random_linear_rule(75, np.random.default_rng(1)), model_module.CIAModel.sample_attributes, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return draw(*arguments)

    monkeypatch.setattr(model_module.CIAModel, "sample_attributes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scorer.score(rule)
    for _ in range(2):  # what was drawn before the interruption is lost
        draw(model, BLOCK_DRAWS, rng)
    assert scorer.score(rule) == undisturbed.score(rule)


@dataclass(frozen=True)
class Bare:
    """A model that draws attributes and knows P(x_0 = 1 | x) and P(x_0 = 1), and nothing else."""

    _model: Any

    def __getattr__(self, name):
        if name not in ("n", "target_mean", "sample_attributes", "target_probability"):
            raise AttributeError(name)
        return getattr(self._model, name)


def test_a_model_with_neither_enumeration_nor_hidden_variable_is_scored(model):
    scorer = Scorer(Bare(model), rng=0)
    assert not scorer.exact
    assert scorer.constant == model.constant_success
    right = scorer.score(model.predict)
    assert (right.success, right.t, right.t_error) == (scorer.best, 1.0, 0.0)
    constant = scorer.score(lambda X: np.full(len(X), model.constant))
    assert (constant.success, constant.t, constant.t_error) == (scorer.constant, 0.0, 0.0)


def test_scores_without_a_hidden_variable_agree_within_four_errors(model):
    known, bare = Scorer(model, rng=1), Scorer(Bare(model), rng=0, t_target=0.01)
    rng = np.random.default_rng(2)
    for rule in [parity, *(random_linear_rule(model.n, rng) for _ in range(10))]:
        expected, found = known.score(rule), bare.score(rule)
        assert 0 < found.t_error <= bare.t_target
        assert abs(found.t - expected.t) <= 4 * np.hypot(found.t_error, expected.t_error)


def test_the_stated_error_without_a_hidden_variable_is_the_true_spread():
    model, rng = CIAFamily(10, 3, 0.9).draw(rng=3), np.random.default_rng(0)
    rule, exact = random_linear_rule(10, rng), Scorer(model)
    found = [Scorer(Bare(model), rng, t_target=0.05).score(rule) for _ in range(60)]
    deviations = [(score.t - exact.t(rule)) / score.t_error for score in found]
    assert 0.75 < np.sqrt(np.mean(np.square(deviations))) < 1.3


def made_rule(labels, classes=None, chances=None):
    """A rule that answers the same whatever it is asked, with probabilities where they are given."""
    if chances is None:
        return SimpleNamespace(predict=lambda X: labels, predict_proba=None)
    return SimpleNamespace(predict=lambda X: labels, predict_proba=lambda X: chances, classes_=np.array(classes))


def test_held_out_rows_score_against_the_constant_rule():
    judge = HeldOut(np.zeros((4, 1)), np.array([0, 0, 0, 1], dtype=np.uint8), constant_label=0)
    assert (judge.best, judge.constant) == (1.0, 0.75)
    assert judge.score(made_rule(np.zeros(4))) == (0.75, 0.0, pytest.approx(0.866, abs=1e-3), {})
    assert judge.score(made_rule([0, 0, 0, 1])) == (1.0, 1.0, 0.0, {})
    assert judge.score(made_rule([1, 1, 1, 0])) == (0.0, -3.0, 0.0, {})


def test_held_out_rows_of_one_label_have_no_t():
    score = HeldOut(np.zeros((3, 1)), np.array(["a"] * 3), constant_label="a").score(made_rule(["a", "a", "b"]))
    assert score.success == pytest.approx(2 / 3)
    assert np.isnan([score.t, score.t_error]).all()


def dirichlet(n_rows, n_classes, rng):
    return rng.dirichlet(np.ones(n_classes), n_rows)


@pytest.mark.parametrize("classes", [[0, 1], ["no", "yes"], ["a", "b", "c"], [1, 2, 3, 4]])
def test_log_loss_and_auc_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(0)
    y, chances = rng.choice(classes, 200), dirichlet(200, len(classes), rng)
    labels = np.array(classes)[chances.argmax(axis=1)]
    score = HeldOut(np.zeros((200, 1)), y, constant_label=classes[0]).score(made_rule(labels, classes, chances))
    assert score.success == (labels == y).mean()
    assert score.facts["log_loss"] == pytest.approx(log_loss(y, chances, labels=classes), rel=1e-12)
    expected = roc_auc_score(y, chances[:, 1] if len(classes) == 2 else chances, multi_class="ovr")
    assert score.facts["auc"] == pytest.approx(expected, rel=1e-12)


def test_certainty_that_is_wrong_costs_no_infinite_loss():
    y, chances = np.array([0, 1]), np.array([[0.0, 1.0], [0.0, 1.0]])
    facts = HeldOut(np.zeros((2, 1)), y, constant_label=0).score(made_rule([1, 1], [0, 1], chances)).facts
    assert facts["log_loss"] == pytest.approx(log_loss(y, chances, labels=[0, 1]), rel=1e-12)
    assert facts["auc"] == 0.5


def test_classes_that_the_test_lacks_leave_log_loss_and_no_auc():
    rng = np.random.default_rng(1)
    y, chances = rng.choice(["a", "c"], 50), dirichlet(50, 3, rng)
    facts = HeldOut(np.zeros((50, 1)), y, "a").score(made_rule(y, ["a", "b", "c"], chances)).facts
    assert facts == {"log_loss": pytest.approx(log_loss(y, chances, labels=["a", "b", "c"]), rel=1e-12)}


def test_labels_that_the_rule_does_not_know_have_the_smallest_probability():
    y, chances = np.array(["a", "b", "z"]), np.array([[0.5, 0.5]] * 3)
    facts = HeldOut(np.zeros((3, 1)), y, "a").score(made_rule(y, ["a", "b"], chances)).facts
    assert facts == {"log_loss": pytest.approx((2 * np.log(2) - np.log(np.finfo(float).eps)) / 3)}


def test_a_rule_that_knows_one_class_has_no_auc():
    y = np.array(["a", "a"])
    facts = HeldOut(np.zeros((2, 1)), y, "a").score(made_rule(y, ["a"], np.ones((2, 1)))).facts
    assert facts == {"log_loss": 0.0}
