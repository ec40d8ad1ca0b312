"""Kinds of columns, their levels, and how a new table is brought to the trained one."""

import datetime
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from ciabench import COV, BitEncoder, LatentClass, Perceptron, Table, Winnow
from ciabench.columns import Columns
from ciabench.errors import CellError, DataError, LevelWarning, ParameterError

KINDS = {
    "bool": ([True, False, True], "binary", (False, True)),
    "one of two bits": ([0, 0, 0], "binary", (0, 1)),
    "bits with a gap": ([0.0, np.nan, 1.0], "binary", (0, 1)),
    "one and two": ([2, 1, 2], "binary", (1, 2)),
    "two fractions": ([0.5, 1.5, 0.5], "binary", (0.5, 1.5)),
    "yes and no": (["yes", "no", None], "binary", ("no", "yes")),
    "text": (["b", "c", "a"], "categorical", ("a", "b", "c")),
    "constant text": (["a", "a", None], "categorical", ("a",)),
    "constant number": ([3.7, 3.7, 3.7], "categorical", (3.7,)),
    "survey": ([1.0, 3.0, 5.0, np.nan], "categorical", (1, 3, 5)),
    "ten whole numbers": (list(range(10)), "categorical", tuple(range(10))),
    "eleven whole numbers": (list(range(11)), "numeric", ()),
    "fractions": ([0.1, 0.2, 0.3], "numeric", ()),
    "numbers as objects": (np.array([1.5, 2.5, 3.5, None], dtype=object), "numeric", ()),
    "numbers and text": (np.array([2, "b", "a"], dtype=object), "categorical", (2, "a", "b")),
    "category in its own order": (pd.Categorical(["low", "high", "mid"], ["low", "mid", "high", "top"]),
                                  "categorical", ("low", "mid", "high")),
    "nullable whole": (pd.array([1, 2, 3, None], dtype="Int64"), "categorical", (1, 2, 3)),
    "nullable fractions": (pd.array([0.5, 2, 3, None], dtype="Float64"), "numeric", ()),
    "nullable bool": (pd.array([True, None], dtype="boolean"), "binary", (False, True)),
    "string": (pd.array(["u", "v", None, "w"], dtype="string"), "categorical", ("u", "v", "w")),
    "nothing": ([None, None], "categorical", ()),
}  # fmt: skip


@pytest.mark.parametrize("case", KINDS)
def test_kinds_and_levels_are_inferred(case):
    values, kind, levels = KINDS[case]
    (column,) = Columns.of(pd.DataFrame({"x": values})).columns
    assert (column.kind, column.levels) == (kind, levels)


def test_kinds_are_chosen_for_all_columns_or_by_name():
    table = pd.DataFrame({"a": [1, 2, 3], "b": [1.5, 2.5, 3.5]})
    assert Columns.of(table, "numeric").kinds == {"a": "numeric", "b": "numeric"}
    assert Columns.of(table, {"b": "categorical"}).kinds == {"a": "categorical", "b": "categorical"}
    for kinds, match in (
        ("text", "kinds must be"),
        ({"c": "numeric"}, "names the column 'c'"),
        ({"a": 1}, "kinds must"),
    ):
        with pytest.raises(ParameterError, match=match):
            Columns.of(table, kinds)
    with pytest.raises(DataError, match="column 'a' cannot be binary: it has 3 levels"):
        Columns.of(table, "binary")
    with pytest.raises(DataError, match="column 'a' cannot be numeric: it has 'u'"):
        Columns.of(pd.DataFrame({"a": ["u", "v"]}), "numeric")


BAD = {
    "infinite": ([1.5, np.inf, 2], DataError, "column 'x' has inf in row 1"),
    "infinite as objects": (np.array([None, -np.inf, 2], dtype=object), DataError, "column 'x' has -inf in row 1"),
    "too large": ([1e200, 1, 2], DataError, "column 'x' has 1e.200 in row 0; numbers must be between"),
    "dates": (pd.to_datetime(["2020-01-01"] * 3), DataError, "column 'x' has dates"),
    "dates as objects": ([datetime.date(2020, 1, 1)] * 3, DataError, "column 'x' has dates"),
    "times as objects": ([None, datetime.time(1), datetime.time(2)], DataError, "column 'x' has dates"),
    "dates of NumPy": (np.array([np.datetime64("2020")] * 3, dtype=object), DataError, "column 'x' has dates"),
    "durations": (np.array([np.timedelta64(1, "D")] * 3, dtype=object), DataError, "column 'x' has dates"),
    "dicts": ([{}, {"a": 1}, {}], CellError, "column 'x' has a dict in row 0"),
    "lists": ([[1], [2], [3]], CellError, "column 'x' has a list in row 0"),
    "twins": ([1, "1", 2], DataError, "column 'x' has levels 1 and '1', which differ only in type"),
    "twins of a column with gaps": (np.array([1.0, "1", None], dtype=object), DataError, "levels 1.0 and '1', which"),
    "complex as objects": (np.array(["a", 1j, 2j], dtype=object), CellError, "column 'x' has a complex in row 1"),
    "complex": ([1j, 2, 3], DataError, "column 'x' has complex numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_columns_are_named(case):
    values, error, match = BAD[case]
    with pytest.raises(error, match=match):
        BitEncoder().fit(pd.DataFrame({"good": [0, 1, 1], "x": values}))


def test_a_single_column_is_no_table():
    for learner in (BitEncoder(), LatentClass()):
        with pytest.raises(ValueError, match="Expected a 2-dim"):
            learner.fit(pd.Series(["a", "b", "a"]))


def test_levels_that_are_close_are_not_twins():
    (column,) = Columns.of(pd.DataFrame({"x": pd.Categorical([1234567.0, 1234568.0, 0.1])})).columns
    assert column.levels == (0.1, 1234567.0, 1234568.0)


def test_duplicate_names_are_refused():
    with pytest.raises(DataError, match="more than one column 'a'"):
        BitEncoder().fit(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))


def test_a_column_without_values_is_ignored_with_a_warning():
    table = pd.DataFrame({"a": [0, 1], "b": [None, None]})
    with pytest.warns(UserWarning, match="column 'b' has no values and is ignored"):
        encoder = BitEncoder().fit(table)
    assert encoder.transform(table).tolist() == [[0, 1], [1, 1]]
    encoder.transform(table.assign(b=["new", None]))


@pytest.fixture
def mixed():
    """A table of three hidden classes, which are the target."""
    rng = np.random.default_rng(0)
    target = rng.integers(0, 3, 300)
    towns = np.array(["Bath", "York", "Hull"])
    table = pd.DataFrame(
        {
            "age": rng.normal(30 + 15 * target, 6),
            "town": towns[np.where(rng.random(300) < 0.8, target, rng.integers(0, 3, 300))],
            "member": rng.random(300) < np.array([0.1, 0.4, 0.9])[target],
            "grade": np.where(rng.random(300) < 0.7, target + 1, 4),
        }
    )
    table["town"] = table["town"].mask(rng.random(300) < 0.2)
    table["age"] = table["age"].mask(rng.random(300) < 0.1)
    return table, target


def test_columns_are_matched_by_name(mixed):
    table, _ = mixed
    encoder = BitEncoder().fit(table)
    np.testing.assert_array_equal(encoder.transform(table[table.columns[::-1]]), encoder.transform(table))
    with pytest.raises(DataError, match="X lacks the column 'age'"):
        encoder.transform(table.drop(columns="age"))
    with pytest.raises(DataError, match="a column 'more' that it did not have"):
        encoder.transform(table.assign(more=1))
    with pytest.raises(DataError, match="column 'age' was numeric in training and now has 'old'"):
        encoder.transform(table.assign(age="old"))


def test_tables_of_numbers_keep_scikit_learns_rule():
    table = pd.DataFrame({"a": [0.5, 1.5, 2.5], "b": [1, 2, 2]})
    with pytest.raises(ValueError, match="same order"):
        BitEncoder().fit(table).transform(table[["b", "a"]])


def test_unseen_levels_are_missing_with_one_warning(mixed):
    table, _ = mixed
    encoder = BitEncoder().fit(table)
    strange = table.assign(town="Rome", grade=99)
    with pytest.warns(LevelWarning, match="in column 'town' .such as 'Rome'., 'grade' .such as 99.") as caught:
        bits = encoder.transform(strange)
    assert len(caught) == 1
    names = list(encoder.get_feature_names_out())
    assert bits[:, names.index("town missing")].all()
    assert not bits[:, names.index("grade = 1")].any()


@pytest.mark.parametrize("convert", [pa.Table.from_pandas, lambda table: table.convert_dtypes()])
def test_other_libraries_and_nullable_types_give_the_same_bits(convert, mixed):
    table, _ = mixed
    np.testing.assert_array_equal(BitEncoder().fit_transform(convert(table)), BitEncoder().fit_transform(table))


def test_bits_are_levels_and_quantiles():
    table = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6, 7, 8.5, np.nan], "c": [*"abcabcab", None]})
    encoder = BitEncoder(n_bins=4).fit(table)
    assert list(encoder.get_feature_names_out()) == [
        "x > 2", "x > 4", "x > 6", "x missing", "c = a", "c = b", "c = c", "c missing",
    ]  # fmt: skip
    np.testing.assert_array_equal(
        encoder.transform(table)[[0, 4, 8]], [[0] * 4 + [1, 0, 0, 0], [1, 1, 0, 0, 0, 1, 0, 0], [0, 0, 0, 1] * 2]
    )


@parametrize_with_checks([BitEncoder()])
def test_the_encoder_keeps_the_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("learner", [Winnow(random_state=0), Perceptron(variant="averaged"), COV()], ids=str)
def test_learners_of_bits_take_any_table_through_the_encoder(learner, mixed):
    table, target = mixed
    alone = make_pipeline(BitEncoder(), learner).fit(table, target > 1)
    assert alone.score(table, target > 1) > 0.85
    many = make_pipeline(BitEncoder(), OneVsRestClassifier(learner)).fit(table, target)
    assert many.score(table, target) > 0.75
    assert set(many.predict(table)) <= set(target)


@pytest.mark.parametrize("learner", [Winnow(), Perceptron(), COV()], ids=str)
def test_learners_of_bits_name_the_encoder(learner, mixed):
    table, target = mixed
    with pytest.raises(DataError, match=r"BitEncoder"):
        learner.fit(table, target > 1)
    with pytest.raises(DataError, match=r"OneVsRestClassifier"):
        learner.fit(table[["member"]], target)


def test_no_warning_where_nothing_is_odd(mixed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BitEncoder().fit(mixed[0]).transform(mixed[0])
    assert not sparse.issparse(BitEncoder().fit_transform(mixed[0]))


def test_text_that_cannot_be_encoded_is_refused_in_columns_and_labels():
    strange = pd.DataFrame({"a": pd.Series(["x", "\ud800"] * 5, dtype=object), "b": ["p", "q"] * 5})
    with pytest.raises(DataError, match=r"column 'a' has '\\ud800', which is no Unicode text"):
        Table(strange, target="b")
    with pytest.raises(DataError, match=r"the label '\\ud800', which is no Unicode text"):
        Table(strange, target="a")
