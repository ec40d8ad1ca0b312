import numpy as np
import pandas as pd
import pytest

from ciabench import LatentClass
from ciabench.seeds import Seed
from ciabench.tables import next_table
from ciabench.world.drawn_table import DrawnTable


@pytest.fixture(scope="module")
def frame():
    """A table of all kinds of columns with missing cells."""
    rng = np.random.default_rng(0)
    z = rng.random(200) < 0.4
    frame = pd.DataFrame({"age": rng.normal(np.where(z, 20, 60), 5), "smokes": (rng.random(200) < 0.3 + 0.4 * z) * 1})
    frame["town"] = rng.choice(["Bath", "Hull", "York"], 200)
    frame["ill"] = np.where(rng.random(200) < np.where(z, 0.1, 0.8), "yes", "no")
    frame.loc[::10, "age"] = np.nan
    frame.loc[5::10, "town"] = None
    return frame


@pytest.fixture(scope="module")
def model(frame):
    return LatentClass(n_classes=2, n_init=4, random_state=0).fit(frame)


@pytest.fixture(scope="module")
def world(frame, model):
    return DrawnTable(model.columns_, next_table(model, frame), model.parameters_, "ill", test_share=1 / 3)


def test_a_drawn_table_has_the_columns_and_missing_cells_of_the_first(frame, world):
    task = world.task(Seed(("any", 0)))
    X, y = task.training(1000)
    assert X.shape == (133, 3)
    assert X["age"].isna().sum() + task.judge._X["age"].isna().sum() == 20
    assert set(X["town"].dropna()) <= {"Bath", "Hull", "York"}
    assert set(y) == {"yes", "no"}


def test_it_looks_as_the_model_says(frame, world):
    tables = [world.task(Seed(("any", trial))).training(1000) for trial in range(20)]
    X, y = pd.concat([X for X, _ in tables]), np.concatenate([y for _, y in tables])
    assert X["age"].mean() == pytest.approx(frame["age"].mean(), abs=2)
    assert (y == "yes").mean() == pytest.approx((frame["ill"] == "yes").mean(), abs=0.04)
    assert X["age"][y == "yes"].mean() == pytest.approx(frame["age"][frame["ill"] == "yes"].mean(), abs=3)


def test_trials_draw_other_tables_and_equal_seeds_the_same(world):
    first, same, other = (world.task(Seed(("any", trial))).training(50)[0] for trial in (0, 0, 1))
    pd.testing.assert_frame_equal(first, same)
    assert not np.array_equal(first["age"].to_numpy(), other["age"].to_numpy(), equal_nan=True)


def test_another_model_or_other_missing_cells_are_another_world(frame, model, world):
    table = next_table(model, frame)
    swapped = model.parameters_.classes(np.array([1, 0]))
    assert DrawnTable(model.columns_, table, swapped, "ill", 1 / 3).identity != world.identity
    full = next_table(model, frame.assign(age=frame["age"].fillna(30)))
    assert DrawnTable(model.columns_, full, model.parameters_, "ill", 1 / 3).identity != world.identity
    assert DrawnTable(model.columns_, table, model.parameters_, "ill", 1 / 3).identity == world.identity
