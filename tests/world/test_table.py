import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ciabench import NaiveBayes, Table, learning_curve
from ciabench.columns import Columns
from ciabench.errors import DataError, ParameterError, TableWarning
from ciabench.seeds import Seed
from ciabench.world.held_out import packed, unpacked
from ciabench.world.table import TableByRow

LABELS = np.array(["a"] * 60 + ["b"] * 30 + ["c"] * 10)


@pytest.fixture
def frame():
    """A hundred rows with columns of two kinds, and an index that is no position."""
    kinds = {"colour": pd.Categorical(["red", "green"] * 50), "number": np.arange(100.0)}
    return pd.DataFrame(kinds, index=np.arange(1000, 1100))


@pytest.fixture
def world(frame):
    return Table(frame, LABELS)


def held_out(task):
    """Rows and labels that a task tests on."""
    return task.judge._X, task.judge._y


def test_what_it_is_called_and_what_its_rows_say(frame):
    assert Table(frame, LABELS).name == "table"
    named = Table(frame, LABELS, name="mine.csv", test_share=0.3)
    assert named.name == "mine.csv"
    assert named.parameters == {"rows": 100, "columns": 2, "classes": 3, "left_out": 0, "test_share": 0.3}


def test_splits_are_stratified_and_hold_every_row_once(world):
    for trial in range(5):
        task = world.task(Seed((0, trial)))
        X, y = task.training(1000)
        X_test, y_test = held_out(task)
        assert pd.Series(y_test).value_counts().to_dict() == {"a": 12, "b": 6, "c": 2}
        assert pd.Series(y).value_counts().to_dict() == {"a": 48, "b": 24, "c": 8}
        assert sorted([*X.index, *X_test.index]) == list(range(1000, 1100))
        assert task.judge.constant == 0.6


def test_smaller_training_samples_are_prefixes_of_larger_ones(world):
    training = world.task(Seed((0,))).training
    X, y = training(80)
    for size in (0, 1, 7, 79):
        part, labels = training(size)
        pd.testing.assert_frame_equal(part, X.iloc[:size])
        assert labels.tolist() == y[:size].tolist()
    assert len(training(81)[1]) == 80


def test_rows_stay_with_their_labels_and_keep_their_kinds(world, frame):
    X, y = world.task(Seed((0,))).training(80)
    pd.testing.assert_frame_equal(X, frame.loc[X.index])
    assert y.tolist() == LABELS[X.index - 1000].tolist()
    assert X.dtypes.to_dict() == frame.dtypes.to_dict()


def test_a_trial_depends_on_its_seed_alone(world, frame):
    first, again, other = (world.task(Seed((0, trial))).training(50)[0].index.tolist() for trial in (0, 0, 1))
    assert first == again != other
    assert Table(frame, LABELS, name="other").task(Seed((0, 0))).training(50)[0].index.tolist() == first


def test_three_text_labels_are_the_classes_of_its_tasks(world):
    assert world.task(Seed((0,))).classes.tolist() == ["a", "b", "c"]


def test_the_identity_is_of_the_content_whatever_holds_it_and_whatever_it_is_called():
    X, y = np.eye(20), ["no", "yes"] * 10
    same = [
        Table(X, y),
        Table(X.tolist(), np.array(y, dtype=object)),
        Table(sparse.csc_matrix(X), pd.Series(y)),
        Table(pd.DataFrame(X, index=np.arange(20)[::-1]), y, name="other"),
        Table(X.copy(order="F"), tuple(y)),
    ]
    assert len({table.identity["digest"] for table in same}) == 1
    assert all(table.identity == same[0].identity for table in same)


@pytest.mark.parametrize("change", [
    lambda X, y: Table(X[::-1], y),
    lambda X, y: Table(np.where(X == 1, np.nextafter(1, 2), X), y),
    lambda X, y: Table(X, y[::-1]),
    lambda X, y: Table(X, ["No", "yes"] * 10),
    lambda X, y: Table(pd.DataFrame(X).add_prefix("column "), y),
    lambda X, y: Table(X, y, test_share=0.25),
])  # fmt: skip
def test_other_content_has_another_identity(change):
    X, y = np.eye(20), ["no", "yes"] * 10
    assert change(X, y).identity != Table(X, y).identity


@pytest.mark.parametrize(("arguments", "error", "message"), [
    (([[0]] * 20, [0, 1] * 9), DataError, r"y must have one label per row of X, 20; its shape is \(18,\)\."),
    (([[0]] * 20, [[0, 1]] * 20), DataError, r"y must have one label per row of X, 20; its shape is \(20, 2\)\."),
    (([[0]] * 20, [1] * 20), DataError, r"y has one class only, 1; two are needed, with two rows each\."),
    (([[0]] * 20, [1] * 19 + [0]), DataError, r"y has fewer than two classes with at least two rows, 1; two are"),
    ((np.empty((0, 2)), []), DataError, r"there are no rows\."),
    (([[0]] * 20, [None] * 20), DataError, r"y has no labels\."),
    (([[0]] * 20, np.linspace(0, 1, 20)), DataError, r"y has 20 different numbers; name a column of classes"),
    ((np.empty((20, 0)), [0, 1] * 10), DataError, r"X is empty\."),
])  # fmt: skip
def test_what_is_no_table_is_refused_in_one_sentence(arguments, error, message):
    with pytest.raises(error, match=f"^{message}"):
        Table(*arguments)


@pytest.mark.parametrize("share", [0, 1, -0.1, "half", np.nan])
def test_the_share_that_is_held_out_is_a_share(share):
    with pytest.raises(ParameterError, match=r"^test_share must be a number in \(0, 1\); got "):
        Table([[0]] * 20, [0, 1] * 10, test_share=share)


@pytest.mark.parametrize(("X", "y"), [
    ([[0], [1, 2]], [0, 1]),
    (np.zeros((20, 2, 2)), [0, 1] * 10),
    ([[0]] * 20, np.array([0, "a"] * 10, dtype=object)),
    ([[0]] * 20, [None, "a"] * 10),
    ([[0]] * 20, np.array(["2024-01-01", "2024-01-02"] * 10, dtype="datetime64[D]")),
    (np.array([[1j]] * 20), [0, 1] * 10),
])  # fmt: skip
def test_odd_rows_and_labels_are_refused_by_our_errors(X, y):
    with pytest.raises(DataError):
        _ = Table(X, y).parameters


@pytest.mark.parametrize(("rows", "labels"), [(6, ["a", "b", "c"]), (4, ["a", "b"])])
def test_a_share_that_leaves_too_few_rows_to_train_is_refused_by_our_errors(rows, labels):
    with pytest.raises((DataError, ParameterError)):
        Table([[0]] * rows, labels * 2, test_share=0.9).task(Seed((0,)))


def test_rows_and_labels_make_a_learning_curve():
    rng = np.random.default_rng(0)
    X, noise = rng.integers(0, 2, (400, 5), dtype=np.uint8), rng.random(400) < 0.1
    y = np.where((X[:, 0] == 1) ^ noise, "yes", "no")
    rows = learning_curve((X, y), {"NB": NaiveBayes()}, sizes=[10, 200], trials=3, random_state=0)
    assert rows.columns[:6].tolist() == ["world", "rows", "columns", "classes", "left_out", "test_share"]
    assert set(rows["world"]) == {"table"}
    assert (rows["best"] == 1).all()
    assert rows[rows["size"] == 200]["success"].mean() > 0.8


@pytest.fixture
def mixed():
    """Sixty rows of a person's table: a number, text and a bit with missing cells, groups, days, three classes."""
    rng = np.random.default_rng(0)
    place = np.arange(60)
    return pd.DataFrame({
        "age": np.where(place % 7 == 0, np.nan, place % 20),
        "town": pd.Series(["Bath", "York", "Hull", None] * 15),
        "member": pd.Series([0, 1, None] * 20),
        "clinic": place // 6,
        "day": pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d")[rng.permutation(60)],
        "y": ["a", "b", "c"] * 20,
    })  # fmt: skip


def test_kinds_and_levels_are_those_of_the_whole_table_in_every_sample(mixed):
    world = Table(mixed, target="y", leave_out=["clinic", "day"])
    X, _ = world.task(Seed((0,))).training(8)
    assert Columns.of(mixed.loc[X.index, ["age"]]).kinds == {"age": "categorical"}
    assert Columns.of(X).kinds["age"] == "numeric"
    assert X["town"].cat.categories.tolist() == ["Bath", "Hull", "York"]
    assert X.dtypes.astype(str).to_dict() == {"age": "float64", "town": "category", "member": "float64"}
    assert X["town"].dropna().to_dict() == mixed.loc[X.index, "town"].dropna().to_dict()
    other = Table(mixed, target="y", leave_out=["clinic", "day"], kinds={"age": "categorical"})
    assert other.identity != world.identity


def test_rows_without_label_and_classes_with_one_row_are_left_out_and_named(mixed):
    mixed.loc[[3, 4], "y"], mixed.loc[5, "y"] = None, "rare"
    with pytest.warns(TableWarning) as caught:
        world = Table(mixed, target="y", leave_out="day", name="my.csv")
    assert [str(one.message) for one in caught] == [
        "my.csv: 2 of 60 rows are left out: the target 'y' is missing there.",
        "my.csv: classes with one row are left out, because they cannot be in both training and test: 'rare'.",
    ]
    assert (world.parameters["rows"], world.parameters["left_out"], world.parameters["classes"]) == (57, 3, 3)
    X, y = world.task(Seed((0,))).training(1000)
    assert y.tolist() == mixed.loc[X.index, "y"].tolist()


def test_groups_stay_together_and_are_no_attribute(mixed):
    world = Table(mixed, target="y", groups="clinic", leave_out="day")
    assert world.parameters["groups"] == "clinic"
    tested = set()
    for trial in range(10):
        task = world.task(Seed((0, trial)))
        X, X_test = task.training(1000)[0], held_out(task)[0]
        assert "clinic" not in X
        assert not set(mixed.loc[X.index, "clinic"]) & set(mixed.loc[X_test.index, "clinic"])
        assert len(X) + len(X_test) == 60
        tested |= set(X_test.index)
    assert len(tested) > 30


def test_by_time_all_training_rows_are_earlier_and_cuts_differ(mixed):
    world = Table(mixed, target="y", time="day", leave_out="clinic")
    cuts = set()
    for trial in range(10):
        task = world.task(Seed((0, trial)))
        days, later = mixed.loc[task.training(1000)[0].index, "day"], mixed.loc[held_out(task)[0].index, "day"]
        assert days.max() < later.min()
        assert len(days) >= 30
        assert len(later) == 12
        cuts.add(later.min())
    assert len(cuts) > 3


@pytest.mark.parametrize(("options", "message"), [
    ({"target": "z"}, "there is no column 'z'; there are age, town, member, clinic, day, y."),
    ({"target": "y"}, "column 'day' has dates; leave it out (leave_out), order the rows by it (time), or turn it"),
    ({"target": "y", "groups": "town"}, "the column 'town' has missing cells; every row needs a group."),
    ({"target": "y", "time": "town"}, "the column 'town' has missing cells; every row needs a time."),
    ({"target": "town", "time": "y"}, "the column 'y' cannot order the rows: it has neither numbers nor dates"),
    ({"target": "y", "groups": "clinic", "time": "day"}, "rows are split by groups or by time, not by both."),
    ({"target": "y", "groups": "y"}, "the column 'y' is named twice"),
    ({"y": [1] * 60, "target": "y"}, "give the labels either as y, or as target"),
    ({"target": "y", "leave_out": ["age", "town", "member", "clinic", "day"]}, "there is no column beside the target."),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::ciabench.errors.TableWarning")
def test_columns_that_cannot_be_used_are_refused_in_one_sentence(mixed, options, message):
    with pytest.raises((DataError, ParameterError), match=f"^{re.escape(message)}"):
        Table(mixed, **options)


def test_a_column_that_splits_rows_needs_two_values_and_classes_in_both_parts(mixed):
    with pytest.raises(DataError, match="'clinic' has one value only"):
        Table(mixed.assign(clinic=1), target="y", groups="clinic", leave_out="day")
    apart = Table(mixed.assign(clinic=mixed["y"] == "a"), target="y", groups="clinic", leave_out="day")
    with pytest.raises(DataError, match="no split was found"):
        apart.task(Seed((0,)))


def test_datetime_columns_are_refused_and_order_rows(mixed):
    mixed["day"] = pd.to_datetime(mixed["day"])
    with pytest.raises(DataError, match="column 'day' has dates"):
        Table(mixed, target="y")
    assert Table(mixed, target="y", time="day").parameters["time"] == "day"


def test_a_table_by_row_states_its_hits_and_is_another_world(frame):
    plain, world = Table(frame, LABELS), TableByRow(frame, LABELS)
    assert world.identity != plain.identity
    task, split = world.task(Seed(("any", 0))), world.split(Seed(("any", 0)))
    assert task.training(100)[1].tolist() == world.labels[split.training].tolist()
    score = task.judge.score(SimpleNamespace(predict=lambda X: np.where(X["colour"] == "red", "a", "b")))
    hits = unpacked(score.facts["hits"], split.test.size)
    red = world.attributes["colour"].iloc[split.test] == "red"
    assert hits.tolist() == (np.where(red, "a", "b") == world.labels[split.test]).tolist()
    assert hits.mean() == score.success
    assert "hits" not in plain.task(Seed(("any", 0))).judge.score(SimpleNamespace(predict=lambda X: ["a"] * 20)).facts


@pytest.mark.parametrize("size", [1, 7, 8, 9, 33_333])
def test_hits_are_packed_without_loss(size):
    hits = np.random.default_rng(size).random(size) < 0.7
    assert unpacked(packed(hits), size).tolist() == hits.tolist()
    assert len(packed(hits)) < size / 5 + 8
