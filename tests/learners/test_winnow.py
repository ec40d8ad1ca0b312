import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ciabench.errors import DataError, ParameterError
from ciabench.learners.winnow import LEAST, PASSES, Winnow, first_good_stage
from ciabench.probability.bernoulli import all_patterns


def noisy_problem(seed, n_samples=150, n_features=12):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n_samples, n_features), dtype=np.uint8)
    y = (X @ rng.normal(size=n_features) + rng.normal(size=n_samples) > 0).astype(np.uint8)
    y[:2] = 0, 1
    return X, y


def sparse_problem(seed, n_samples=200, n_features=300):
    """Rows with few ones, as of text: one pass is far too few."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n_samples, n_features)) < 0.04).astype(np.uint8)
    return X, (X @ rng.normal(size=n_features) > 0).astype(np.uint8)


def winnow_by_definition(X, y, promotion, demotion, margin):
    """Weights over (x, 1 − x) after one pass, threshold n."""
    expanded = np.hstack([X, 1 - X]).astype(bool)
    weights, threshold = np.ones(2 * X.shape[1]), X.shape[1]
    for active, label in zip(expanded, y, strict=True):
        score = weights[active].sum() - threshold
        too_high = score >= -margin * threshold if margin else score > 0
        if label and score <= margin * threshold:
            weights[active] *= promotion
        elif not label and too_high:
            weights[active] *= demotion
    return weights.reshape(2, -1)


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    promotion=st.floats(1.0625, 2, width=16),
    demotion=st.floats(0.5, 0.9375, width=16),
    margin=st.sampled_from([0.0, 0.125, 0.5]),
)
def test_one_member_is_winnow_by_definition(seed, promotion, demotion, margin):
    """Factors of few bits: what ties with the threshold does so exactly, in whichever order a sum is taken."""
    X, y = noisy_problem(seed)
    learner = Winnow(n_members=1, promotion=promotion, demotion=demotion, margin=margin).fit(X, y)
    w_plus, w_minus = winnow_by_definition(X, y, promotion, demotion, margin)
    np.testing.assert_allclose(learner.weights_, [w_plus, w_minus], rtol=1e-9)
    activation = X @ w_plus + (1 - X) @ w_minus
    np.testing.assert_allclose(learner.decision_function(X), activation - X.shape[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("label", "margin", "updates"), [(1, 0.0, 1), (0, 0.0, 0), (1, 0.1, 1), (0, 0.1, 1)])
def test_the_tie_at_the_start(label, margin, updates):
    """Every first activation equals the threshold: without a margin only a positive row is a mistake."""
    learner = Winnow(n_members=1, margin=margin, promotion=2.0).partial_fit([[1, 0]], [label], classes=[0, 1])
    assert learner.n_updates_ == updates
    factor = (2.0 if label else 0.5) if updates else 1.0
    np.testing.assert_array_equal(learner.weights_, [[factor, 1], [1, factor]])


def test_a_tie_is_predicted_as_the_first_class():
    untouched = Winnow(n_members=1, margin=0.0).partial_fit([[1, 0]], ["a"], classes=["a", "b"])
    np.testing.assert_array_equal(untouched.decision_function(all_patterns(2)), 0)
    np.testing.assert_array_equal(untouched.predict(all_patterns(2)), ["a"] * 4)


@pytest.mark.parametrize("n_members", [1, 5])
def test_separable_problems_are_solved_without_error(n_members):
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(2, 9))
        X = all_patterns(n)[rng.permutation(2**n)]
        y = X @ rng.integers(-2, 3, n) > rng.integers(-2, 3)
        learner = Winnow(n_members=n_members, subsample=1.0, margin=0.0, n_passes=1000, random_state=0).fit(X, y)
        assert learner.score(X, y) == 1


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), margin=st.sampled_from([0.0, 0.1]), n_passes=st.integers(1, 3))
def test_sparse_input_gives_the_dense_result(seed, margin, n_passes):
    X, y = noisy_problem(seed)
    dense = Winnow(random_state=0, margin=margin, n_passes=n_passes).fit(X, y)
    thin = Winnow(random_state=0, margin=margin, n_passes=n_passes).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(dense.weights_, thin.weights_, rtol=1e-9)
    np.testing.assert_allclose(dense.decision_function(X), thin.decision_function(sparse.csr_matrix(X)), atol=1e-9)
    np.testing.assert_array_equal(dense.member_accuracy_, thin.member_accuracy_)
    assert dense.n_updates_ == thin.n_updates_


def test_the_rule_is_the_mean_of_members_weighted_by_what_they_gain_on_the_commoner_class():
    X, y = noisy_problem(2, n_features=30)
    learner = Winnow(random_state=0, n_members=4).fit(X, y)
    random, gains, members = np.random.RandomState(0), [], []
    for accuracy in learner.member_accuracy_:
        rows = random.permutation(150)
        assert 120 <= 0.8 * 150 + random.uniform() < 121
        member = Winnow(n_members=1).fit(X[rows[:120]], y[rows[:120]])
        assert member.score(X[rows[:120]], y[rows[:120]]) == accuracy == member.member_accuracy_[0]
        members.append(member.weights_)
        share = y[rows[:120]].mean()
        gains.append(max(accuracy - max(share, 1 - share), 0))
    np.testing.assert_allclose(learner.weights_, np.average(members, axis=0, weights=gains), rtol=1e-12)


def passes_by_definition(X, y, n_members=10):
    """Choice of `Winnow(n_passes="auto", random_state=0)`, each number of passes trained from the beginning."""
    random, size = np.random.RandomState(0), len(y)
    right, judges = np.zeros((len(PASSES), size)), np.zeros(size)
    for _ in range(n_members):
        seen = random.permutation(size)[: int(0.8 * size + random.uniform())]
        unseen = np.setdiff1d(np.arange(size), seen)
        judges[unseen] += 1
        for stage, n_passes in enumerate(PASSES):
            member = Winnow(n_members=1, n_passes=n_passes).fit(X[seen], y[seen])
            right[stage, unseen] += member.predict(X[unseen]) == y[unseen]
    shares = right[:, judges > 0] / judges[judges > 0]
    accuracy, error = shares.mean(axis=1), shares.std(axis=1) / np.sqrt(shares.shape[1])
    best = accuracy.argmax()
    return next(n for n, one in zip(PASSES, accuracy, strict=True) if one >= accuracy[best] - error[best])


def test_passes_are_chosen_by_rows_that_members_do_not_see():
    choices = []
    for seed in range(4):
        for X, y in (noisy_problem(seed), sparse_problem(seed), sparse_problem(seed, n_samples=60)):
            choices.append(Winnow(n_passes="auto", random_state=0).fit(X, y).n_passes_)
            assert choices[-1] == passes_by_definition(X, y)
    assert set(choices) >= {1, 8, 16}


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("problem", [noisy_problem, sparse_problem])
def test_chosen_passes_are_as_if_they_had_been_given(problem, make):
    X, y = problem(1)
    chosen = Winnow(n_passes="auto", random_state=0).fit(make(X), y)
    fixed = Winnow(n_passes=chosen.n_passes_, random_state=0).fit(make(X), y)
    np.testing.assert_allclose(chosen.weights_, fixed.weights_, rtol=1e-9)
    np.testing.assert_array_equal(chosen.member_accuracy_, fixed.member_accuracy_)
    assert (chosen.n_updates_, chosen.n_passes_) == (fixed.n_updates_, fixed.n_passes_)
    assert (chosen.n_passes_ > 1) == (problem is sparse_problem)


def test_chosen_passes_are_better_on_rows_of_few_ones():
    gains = []
    for seed in range(5):
        X, y = sparse_problem(seed, n_samples=600)
        one, auto = (
            Winnow(n_passes=passes, random_state=0).fit(X[:300], y[:300]).score(X[300:], y[300:])
            for passes in (1, "auto")
        )
        gains.append(auto - one)
    assert np.mean(gains) > 0.05


@pytest.mark.parametrize(
    ("shares", "stage"),
    [
        ([[1, 0, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0]], 1),
        ([[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]], 2),  # without error only the best will do
        ([[0.5, 0.5, 1, 0], [0, 0, 1, 0], [1, 1, 0.75, 0]], 0),
        ([[1], [1]], 0),
        (np.empty((5, 0)), 0),
    ],
)
def test_first_stage_within_a_standard_error_of_the_best(shares, stage):
    assert first_good_stage(np.array(shares, dtype=float)) == stage


@pytest.mark.parametrize("parameters", [{"n_members": 1}, {"subsample": 1.0}])
def test_passes_are_one_where_every_member_sees_all_rows(parameters):
    X, y = sparse_problem(0)
    learner = Winnow(n_passes="auto", random_state=0, **parameters).fit(X, y)
    assert learner.n_passes_ == 1
    np.testing.assert_array_equal(learner.coef_, Winnow(random_state=0, **parameters).fit(X, y).coef_)
    assert Winnow(n_passes="auto", random_state=0).partial_fit(X[:1], y[:1], classes=[0, 1]).n_passes_ == 1


def test_chosen_passes_are_kept_by_partial_fit_and_forgotten_by_fit():
    (X, y), (rows, labels) = sparse_problem(1), noisy_problem(0, n_features=300)
    learner = Winnow(n_passes="auto", random_state=0).partial_fit(X, y)
    assert learner.n_passes_ == Winnow(n_passes="auto", random_state=0).fit(X, y).n_passes_ > 1
    fixed = Winnow(n_passes=learner.n_passes_, random_state=0).partial_fit(X, y).partial_fit(rows, labels)
    np.testing.assert_allclose(learner.partial_fit(rows, labels).weights_, fixed.weights_, rtol=1e-9)
    assert learner.n_passes_ == fixed.n_passes_
    assert learner.fit(rows, labels).n_passes_ == 1


def test_partial_fit_goes_on_with_every_member():
    X, y = noisy_problem(2)
    whole = Winnow(n_members=1).fit(X, y)
    rows = Winnow(n_members=1)
    for row, label in zip(X, y, strict=True):
        rows.partial_fit([row], [label], classes=[0, 1])
    np.testing.assert_allclose(rows.coef_, whole.coef_, rtol=1e-12)
    assert rows.n_updates_ == whole.n_updates_
    stream = Winnow(random_state=0)
    for row, label in zip(X, y, strict=True):
        stream = pickle.loads(pickle.dumps(stream)).partial_fit([row], [label], classes=[0, 1])
    assert stream.score(X, y) > 0.8
    assert len(set(stream.member_accuracy_)) > 1


@pytest.mark.parametrize("margin", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("demotion", [None, 0.999, 1e-9])
def test_weights_stay_within_bounds_in_long_runs(margin, demotion):
    X, y = noisy_problem(5, n_samples=20, n_features=4)
    learner = Winnow(n_members=1, promotion=1000.0, demotion=demotion, margin=margin, n_passes=2000).fit(X, y)
    assert np.isfinite(learner.decision_function(X)).all()
    assert LEAST <= learner.weights_.min()
    assert learner.weights_.max() <= 1000 * 4 * (1 + margin)


def test_same_seed_same_rule_and_other_seed_other_rule():
    X, y = noisy_problem(3)
    rules = [Winnow(random_state=seed).fit(X, y).coef_ for seed in (0, 0, 1, np.random.RandomState(0))]
    np.testing.assert_array_equal(rules[0], rules[1])
    np.testing.assert_array_equal(rules[0], rules[3])
    assert (rules[0] != rules[2]).any()


def test_explain():
    X, y = noisy_problem(4, n_features=3)
    learner = Winnow(random_state=0).fit(pd.DataFrame(X, columns=["red", "green", "blue"]), y)
    table = learner.explain()
    assert list(table.columns) == ["feature", "w_plus", "w_minus", "net"]
    assert list(table["feature"]) == ["red", "green", "blue"]
    np.testing.assert_array_equal(table["net"], learner.coef_[0])
    np.testing.assert_allclose(table["w_minus"].sum() - 3, learner.intercept_[0])
    assert list(Winnow().fit(X, y).explain()["feature"]) == ["x0", "x1", "x2"]
    assert list(learner.explain(["r", "g", "b"])["feature"]) == ["r", "g", "b"]
    with pytest.raises(DataError, match="3 names, one per attribute; got 2"):
        learner.explain(["r", "g"])


@pytest.mark.parametrize("n_members", [1, 10])
def test_one_class_one_row_one_column(n_members):
    alone = Winnow(n_members=n_members, random_state=0).fit([[1], [0]], ["a", "a"])
    np.testing.assert_array_equal(alone.predict([[0], [1]]), ["a", "a"])
    single = Winnow(n_members=n_members, random_state=0).partial_fit([[1]], ["b"], classes=["a", "b"])
    np.testing.assert_array_equal(single.predict([[1]]), ["b"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("promotion", 1), ("promotion", "2"), ("demotion", 1.0), ("demotion", 0), ("threshold", 0), ("margin", -0.1)],
        *[("margin", 2), ("subsample", 0), ("n_passes", 0), ("n_passes", "all"), ("n_members", 0), ("n_members", 2.0)],
    ],
)
def test_bad_parameters_are_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        Winnow(**{name: value}).fit([[0], [1]], [0, 1])
