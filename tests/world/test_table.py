import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ciabench import NaiveBayes, Table, learning_curve
from ciabench.errors import DataError, ParameterError
from ciabench.seeds import Seed

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
    assert named.parameters == {"rows": 100, "columns": 2, "test_share": 0.3}


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
    (([[0]] * 20, [1] * 20), DataError, r"y must hold at least two different labels\."),
    (([[0]] * 20, [1] * 19 + [0]), DataError, r"the label 0 is on one row only; every label needs two, to train"),
    (([[0]] * 3, ["a", "a", "b"]), DataError, r"the label 'b' is on one row only"),
    ((np.empty((0, 2)), []), DataError, r"y must hold at least two different labels\."),
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
    ([[0]] * 20, [0.0, 1.0, np.nan, np.nan] * 5),
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
    assert rows.columns[:4].tolist() == ["world", "rows", "columns", "test_share"]
    assert set(rows["world"]) == {"table"}
    assert (rows["best"] == 1).all()
    assert rows[rows["size"] == 200]["success"].mean() > 0.8
