"""EM, NaiveBayes and LatentClass on tables of any kind."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from ciabench import EM, LatentClass, NaiveBayes
from ciabench.errors import BoundaryWarning, DataError, FloorWarning, LevelWarning
from ciabench.latent.information import free_entries, information, moved
from ciabench.probability import bernoulli
from ciabench.probability.product import log_joint

STOUFFER_TOBY = [42, 23, 6, 25, 6, 24, 7, 38, 1, 4, 1, 6, 2, 9, 2, 20]

BUYS = """<=30 high no fair no
<=30 high no excellent no
31..40 high no fair yes
>40 medium no fair yes
>40 low yes fair yes
>40 low yes excellent no
31..40 low yes excellent yes
<=30 medium no fair no
<=30 low yes fair yes
>40 medium yes fair yes
<=30 medium yes excellent yes
31..40 medium no excellent yes
31..40 high yes fair yes
>40 medium no excellent no"""


def test_the_lectures_counts():
    counts = {("Yes", "Low"): 10, ("Yes", "Medium"): 13, ("Yes", "High"): 17, ("No", "Low"): 2, ("No", "Medium"): 13}
    y, x = np.repeat(np.array(list(counts)), list(counts.values()), axis=0).T
    table = pd.DataFrame({"x": x})
    high, low, _ = NaiveBayes(smoothing=0).fit(table, y).parameters_.tables[0]
    assert (high[0], low[1]) == (0, 10 / 40)
    assert NaiveBayes().fit(table, y).parameters_.weights[0] == pytest.approx(15 / 55, abs=1e-15)
    assert NaiveBayes().fit(table, y).parameters_.tables[0][0, 0] == pytest.approx(1 / 18, abs=1e-15)


@pytest.mark.parametrize("covariance", ["diag", "full"])
@pytest.mark.parametrize("learner", [EM, LatentClass])
def test_a_code_for_missing_numbers_is_named(learner, covariance):
    rng = np.random.default_rng(0)
    income = np.where(rng.random(200) < 0.15, -99, rng.normal(30, 5, 200).round(1))
    survey = pd.DataFrame({"married": rng.integers(0, 2, 200), "age": rng.normal(45, 9, 200), "income": income})
    clf = learner(n_init=3, covariance=covariance, random_state=0)
    with pytest.warns(FloorWarning, match="such as 'income' near -99; if that value means missing, replace it with"):
        clf.fit(survey, rng.integers(0, 2, 200))


def test_columns_that_determine_each_other_are_not_taken_for_a_code():
    rows = np.random.default_rng(0).normal(size=(200, 2)) @ [[1, 0, 2], [0, 1, 0]]
    with pytest.warns(FloorWarning, match="one numeric column is almost determined by others"):
        LatentClass(n_init=3, covariance="full", random_state=0).fit(rows)


def test_the_lectures_table():
    rows = pd.DataFrame(
        [line.split() for line in BUYS.splitlines()], columns=["age", "income", "student", "credit", "y"]
    )
    asked = pd.DataFrame([["<=30", "medium", "yes", "fair"]], columns=rows.columns[:4])
    yes = Fraction(9, 14) * Fraction(2, 9) * Fraction(4, 9) * Fraction(6, 9) * Fraction(6, 9)
    no = Fraction(5, 14) * Fraction(3, 5) * Fraction(2, 5) * Fraction(1, 5) * Fraction(2, 5)
    fitted = NaiveBayes(smoothing=0).fit(rows.drop(columns="y"), rows["y"])
    assert fitted.predict_proba(asked)[0, 1] == pytest.approx(float(yes / (yes + no)), abs=1e-12)


def test_naive_bayes_equals_scikit_learns_for_every_kind_and_their_sum():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    levels = np.column_stack([np.arange(300) % 4, (rng.integers(0, 5, 300) + y) % 5])
    numbers = rng.normal(y[:, None], 1, (300, 3)) * [1, 100, 0.01] + [0, 5000, 3]
    discrete, gaussian = CategoricalNB().fit(levels, y), GaussianNB().fit(numbers, y)
    ours = NaiveBayes(kinds="categorical").fit(levels, y)
    np.testing.assert_allclose(ours.predict_proba(levels), discrete.predict_proba(levels), rtol=0, atol=1e-12)
    ours = NaiveBayes().fit(numbers, y)
    np.testing.assert_allclose(ours.predict_proba(numbers), gaussian.predict_proba(numbers), rtol=0, atol=1e-12)
    mixed = pd.DataFrame(np.column_stack([levels, numbers]), columns=list("abcde"))
    joint = discrete.predict_joint_log_proba(levels) + gaussian.predict_joint_log_proba(numbers)
    expected = joint - np.log(np.bincount(y) / 300)
    ours = NaiveBayes(kinds={"a": "categorical", "b": "categorical"}).fit(mixed, y)
    np.testing.assert_allclose(ours.decision_function(mixed), expected, rtol=1e-12)
    parts = NaiveBayes(kinds={"a": "categorical", "b": "categorical"})
    for start in range(0, 300, 100):
        parts.partial_fit(mixed[start : start + 100], y[start : start + 100], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.decision_function(mixed), expected, rtol=1e-6)


@pytest.mark.parametrize(("n_classes", "log_likelihood"), [(2, -504.4677), (3, -503.3011)])
def test_published_likelihoods_without_a_target(n_classes, log_likelihood):
    patterns = 1 - bernoulli.all_patterns(4)
    lc = LatentClass(n_classes=n_classes, random_state=0).fit(patterns, sample_weight=STOUFFER_TOBY)
    assert lc.log_likelihood_ == pytest.approx(log_likelihood, abs=5e-5)
    assert lc.bic_ == pytest.approx(np.log(216) * lc.n_parameters_ - 2 * lc.log_likelihood_)
    assert (np.diff(lc.weights_) <= 0).all()
    again = LatentClass(n_classes=n_classes, init=lc.parameters_, n_init=1).fit(patterns, sample_weight=STOUFFER_TOBY)
    assert again.log_likelihood_ >= lc.log_likelihood_ - 1e-9


@pytest.fixture(scope="module")
def shops():
    """A mixed table of three classes with missing cells, and the classes."""
    rng = np.random.default_rng(1)
    z = rng.choice(3, 600, p=[0.5, 0.3, 0.2])
    table = pd.DataFrame(
        {
            "age": rng.normal(np.array([30, 50, 70])[z], 5),
            "town": np.array(["Bath", "York", "Hull"])[np.where(rng.random(600) < 0.8, z, 0)],
            "member": rng.random(600) < np.array([0.1, 0.5, 0.9])[z],
            "spent": rng.normal(np.array([1.0, 3.0, 2.0])[z], 0.5),
        }
    )
    for name in ("age", "town", "spent"):
        table[name] = table[name].mask(rng.random(600) < 0.1)
    return table, z


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_classes_of_a_mixed_table_are_found(covariance, shops):
    table, z = shops
    lc = LatentClass(n_classes=3, covariance=covariance, n_init=10, random_state=0).fit(table)
    assert (lc.predict(table) == z).mean() > 0.95
    np.testing.assert_array_equal(lc.labels_, lc.predict(table))
    assert lc.score_samples(table).sum() == pytest.approx(lc.log_likelihood_, abs=1e-6)
    assert lc.n_parameters_ == 3 * (2 + 1 + (4 if covariance == "diag" else 5)) + 2
    np.testing.assert_allclose(lc.predict_proba(table[table.columns[::-1]]), lc.predict_proba(table))
    drawn, classes = lc.sample(3_000, random_state=0)
    assert list(drawn.columns) == list(table.columns)
    assert (lc.predict(drawn) == classes).mean() > 0.9
    with pytest.warns(LevelWarning, match="'town'"):
        lc.predict(table.assign(town="Rome"))


@pytest.mark.parametrize("criterion", ["bic", "aic", "cv", "blrt"])
def test_the_number_of_classes_is_chosen(criterion, shops):
    options = {"n_init": 5, "n_bootstrap": 19, "max_classes": 4, "tol": 1e-4, "random_state": 0}
    lc = LatentClass(n_classes=criterion, **options).fit(shops[0])
    assert lc.n_classes_ in ((3, 4) if criterion in ("aic", "cv") else (3,))
    if criterion in ("aic", "bic"):
        assert getattr(lc, f"{criterion}_") == lc.criterion_[lc.n_classes_]
    assert lc.bic_ < lc.icl_
    assert lc.sabic_ < lc.bic_
    assert 0.8 < lc.entropy_r2_ <= 1


@pytest.mark.parametrize("criterion", ["cv", "blrt"])
def test_a_weight_of_two_is_a_row_twice_for_held_out_rows_and_bootstrap_tables(criterion):
    patterns, options = bernoulli.all_patterns(4), {"n_init": 2, "n_bootstrap": 9, "max_classes": 3, "tol": 1e-4}
    lc = LatentClass(n_classes=criterion, random_state=0, **options)
    weighted = lc.fit(patterns, sample_weight=STOUFFER_TOBY).criterion_
    assert weighted == lc.fit(np.repeat(patterns, STOUFFER_TOBY, axis=0)).criterion_
    assert min(weighted, key=weighted.get) == 2 or (criterion == "blrt" and weighted[1] == 0.1)


def test_bootstrap_tables_need_whole_weights():
    with pytest.raises(DataError, match="sample_weight must be whole numbers"):
        LatentClass(n_classes="blrt").fit(bernoulli.all_patterns(4), sample_weight=np.full(16, 0.5))


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_information_is_the_curvature_of_the_likelihood(covariance, shops):
    table, _ = shops
    lc = LatentClass(n_classes=2, covariance=covariance, n_init=5, random_state=0).fit(table)
    free = free_entries(lc.parameters_)
    found = information(lc._table, lc._counts, lc.parameters_, free)

    def value(change):
        return np.logaddexp.reduce(log_joint(lc._table, moved(lc.parameters_, free, change)), axis=1).sum()

    rng, size = np.random.default_rng(0), len(found)
    for _ in range(3):
        direction = rng.normal(size=size) / np.sqrt(np.diag(found))
        step = 0.02
        curvature = (2 * value(0 * direction) - value(step * direction) - value(-step * direction)) / step**2
        assert direction @ found @ direction == pytest.approx(curvature, rel=0.02)


def test_standard_errors_shrink_with_the_rows_and_name_the_boundary(shops):
    table, _ = shops
    lc = LatentClass(n_classes=3, n_init=5, random_state=0).fit(table)
    twice = LatentClass(n_classes=3, n_init=5, random_state=0).fit(pd.concat([table] * 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoundaryWarning)
        few, many = lc.standard_errors(), twice.standard_errors()
    ratio = (few["standard_error"] / many["standard_error"]).dropna()
    np.testing.assert_allclose(ratio, 2, rtol=0.01)
    assert ((few["low"] < few["estimate"]) & (few["estimate"] < few["high"]))[few["low"].notna()].all()
    separate = pd.DataFrame({"a": [0, 1] * 50, "b": [0, 1] * 50, "c": [0, 1] * 50})
    with pytest.warns(BoundaryWarning, match="at the boundary"):
        LatentClass(n_init=2, random_state=0).fit(separate).standard_errors()


def test_standard_errors_do_not_depend_on_where_numbers_are(shops):
    numbers = shops[0][["age"]]
    lc = LatentClass(n_init=3, random_state=0)
    few, far = (lc.fit(table).standard_errors() for table in (numbers, numbers + 1e10))
    np.testing.assert_allclose(far["standard_error"], few["standard_error"], rtol=1e-3)


def test_profiles_tell_true_from_one():
    table = pd.DataFrame({"member": [True, False] * 20, "grade": [1, 2, 3, 0] * 10})
    lc = LatentClass(n_init=2, random_state=0).fit(table)
    assert lc.profiles().loc["grade"].index.tolist() == [0, 1, 2, 3]
    assert lc.profiles().loc["member"].index.tolist() == ["False", "True"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoundaryWarning)
        assert set(lc.standard_errors().query("column == 'member'")["level"]) == {"False", "True"}


def test_residuals_point_at_a_pair_that_the_classes_do_not_explain():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 1_000)
    table = pd.DataFrame(rng.random((1_000, 6)) < np.where(z, 0.9, 0.1)[:, None], columns=list("abcdef"))
    table["f"] = np.where(rng.random(1_000) < 0.4, table["e"], table["f"])
    found = LatentClass(n_init=5, random_state=0).fit(table).bivariate_residuals()
    assert set(found.loc[0, ["first", "second"]]) == {"e", "f"}
    assert found["residual"][0] > 5 * found["residual"][1]


def test_em_takes_tables_and_many_labels(shops):
    table, z = shops
    named = np.array(["low", "mid", "top"])[z]
    em = EM(n_classes=3, n_init=5, random_state=0).fit(table, named)
    assert em.score(table, named) > 0.95
    assert em.decision_function(table).shape == (600, 3)
    np.testing.assert_allclose(np.exp(em.decision_function(table)), em.predict_proba(table))
    assert em.score_samples(table, named).sum() == pytest.approx(em.log_likelihood_, abs=1e-6)
    again = EM(n_classes=3, n_init=1, init=em.parameters_).fit(table, named)
    assert again.log_likelihood_ >= em.log_likelihood_ - 1e-9
    for learner in (em, NaiveBayes().fit(table, named)):
        with pytest.raises(AttributeError, match="linear rule only for columns of 0 and 1"):
            _ = learner.coef_


@pytest.mark.filterwarnings("ignore::ciabench.errors.SearchWarning")
def test_ten_digits_natively():
    X, y = load_digits(return_X_y=True)
    seen, tested, y_seen, y_tested = train_test_split((X > 7).astype(np.uint8), y, random_state=0)
    bayes = NaiveBayes().fit(seen, y_seen).score(tested, y_tested)
    em = EM(n_classes=20, smoothing=0.1, random_state=0).fit(seen, y_seen)
    assert em.score(tested, y_tested) > bayes - 0.03
    assert em.decision_function(tested).shape == (len(tested), 10)


@pytest.mark.parametrize("learner", [LatentClass, EM, NaiveBayes])
def test_odd_tables_give_a_result_or_one_sentence(learner):
    odd = pd.DataFrame({"constant": [5.5] * 6, "x": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "u": list("abcabc")})
    y = [0, 1, 0, 1, 0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        many = {"n_classes": 7, "n_init": 2} if learner is not NaiveBayes else {}
        assert learner(**many).fit(odd, y).predict(odd).shape == (6,)
        assert learner().fit(odd[:1], y[:1]).predict(odd[:1]).shape == (1,)
        assert learner().fit(odd.assign(nothing=None), y).predict(odd.assign(nothing="some")).shape == (6,)
    with pytest.raises(DataError, match="column 'x' has inf in row 2"):
        learner().fit(odd.assign(x=[0.1, 0.2, np.inf, 1, 2, 3]), y)
