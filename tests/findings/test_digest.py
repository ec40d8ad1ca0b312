import gc
import weakref

import numpy as np
import pandas as pd
import pytest

from ciabench.findings import digest as module
from ciabench.findings.digest import digest
from ciabench.findings.limits import losses


@pytest.fixture
def rows(made_rows):
    """Twenty trials of two worlds with a limit and a known departure."""
    means = {"EM": {10: 0.2, 100: 0.8}, "limit": {10: 0.4, 100: 0.9}}
    worlds = [made_rows(means, trials=20, family=(10, k, 0.9)) for k in (2, 3)]
    rows = pd.concat(worlds, ignore_index=True)
    return rows.assign(departure=np.where(rows["size"] == 100, 0.01 * rows["trial"], np.nan))


def in_parts(rows, count, *, as_categories):
    names = {column: pd.CategoricalDtype(list(rows[column].unique())) for column in ("world", "learner")}
    rows = rows.astype(names) if as_categories else rows
    return [rows[rows["trial"] % count == number] for number in range(count)]


@pytest.mark.parametrize("as_categories", [True, False])
def test_figures_of_parts_show_what_those_of_all_rows_do(rows, as_categories):
    whole, found = digest([rows]), digest(in_parts(rows, 3, as_categories=as_categories))
    assert found.learners == whole.learners == ["EM", "limit"]
    pd.testing.assert_frame_equal(found.worlds, whole.worlds)
    pd.testing.assert_frame_equal(found.losses, whole.losses)
    pd.testing.assert_frame_equal(whole.losses, losses(rows))
    compared = found.curves.drop(columns=["pooled_low", "pooled_high"])  # trials are in another order
    pd.testing.assert_frame_equal(compared, whole.curves[compared.columns])
    order = ["world", "trial", "size", "learner"]
    sorted_models = [one.models.sort_values(order, ignore_index=True) for one in (found, whole)]
    pd.testing.assert_frame_equal(*sorted_models)
    assert len(whole.models) == len(rows)


def test_of_many_trials_the_first_are_drawn_model_by_model(rows, monkeypatch):
    monkeypatch.setattr(module, "MOST_SHOWN", 7)
    assert digest([rows]).models["trial"].max() == 6
    assert (digest([rows]).curves["trials"] == 20).all()


def test_what_is_kept_of_a_part_does_not_keep_the_part(rows):
    columns = {column: rows[column].to_numpy().copy() for column in rows if column != "departure"}
    held = weakref.ref(columns["t"])
    found = digest(pd.DataFrame(columns, copy=False) for columns in [columns])
    del columns
    gc.collect()
    assert held() is None
    assert len(found.curves) == 8
