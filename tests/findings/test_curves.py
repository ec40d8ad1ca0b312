import numpy as np
import pandas as pd
import pytest

from ciabench.errors import StoreError
from ciabench.findings import curves
from ciabench.findings.curves import (
    curves_of,
    learning_curves,
    paired_differences,
    passing_sizes,
    summary,
    worlds_of,
)


def test_curves_give_mean_error_pooled_ratio_and_headroom(made_rows):
    rows = made_rows({"EM": {10: 0.2, 100: 0.8}})
    found = learning_curves(rows).set_index("size")
    chosen = rows[rows["size"] == 100]
    assert found.loc[100, "t"] == pytest.approx(chosen["t"].mean())
    assert found.loc[100, "t_sem"] == pytest.approx(chosen["t"].std() / np.sqrt(200))
    gains, rooms = chosen["success"] - chosen["constant"], chosen["best"] - chosen["constant"]
    assert found.loc[100, "pooled"] == pytest.approx(gains.sum() / rooms.sum())
    assert found.loc[100, "headroom"] == pytest.approx(rooms.mean())


@pytest.mark.soak
def test_bootstrap_interval_of_the_pooled_ratio_covers_as_often_as_it_says(made_rows):
    covered = []
    for seed in range(100):
        curve = learning_curves(made_rows({"EM": {100: 0.5}}, trials=50, seed=seed)).iloc[0]
        covered.append(curve["pooled_low"] <= 0.5 <= curve["pooled_high"])
    assert 0.86 <= np.mean(covered) <= 1


def test_paired_difference_takes_out_what_trials_share(made_rows):
    rows = made_rows({"EM": {100: 0.8}, "Winnow": {100: 0.7}})
    found = paired_differences(rows, "EM", "Winnow").iloc[0]
    assert found["low"] < 0.1 < found["high"]
    unpaired = np.sqrt(2 * (2 * 0.2**2) / 200)
    assert found["sem"] < 0.8 * unpaired


def test_trials_that_one_learner_lacks_are_left_out(made_rows):
    rows = made_rows({"EM": {100: 0.8}, "Winnow": {100: 0.7}}, trials=20)
    rows = rows[~((rows["learner"] == "EM") & (rows["trial"] < 5))]
    assert paired_differences(rows, "EM", "Winnow")["trials"].tolist() == [15]


def test_unknown_learner_is_named_with_those_there_are(made_rows):
    with pytest.raises(StoreError, match="no rows of a learner called 'Winow'; the learners are EM"):
        paired_differences(made_rows({"EM": {100: 0.8}}), "EM", "Winow")


def test_passing_size_is_where_the_lines_cross_for_good(made_rows):
    rows = made_rows({"EM": {10: 0.3, 100: 0.5, 1000: 0.5}, "Winnow": {10: 0.4, 100: 0.4, 1000: 0.7}}, spread=0.001)
    found = passing_sizes(rows, "EM", "Winnow").iloc[0]
    assert found["size"] == pytest.approx(100 * 10 ** (1 / 3), rel=0.01)
    assert found["low"] <= found["size"] <= found["high"]


@pytest.mark.parametrize(("level", "size"), [(0.9, np.inf), (0.1, 10)])
def test_one_who_never_passes_or_was_always_ahead(made_rows, level, size):
    rows = made_rows({"EM": {10: level, 1000: level}, "Winnow": {10: 0.5, 1000: 0.5}}, spread=0.01)
    assert passing_sizes(rows, "EM", "Winnow").iloc[0][["size", "low", "high"]].tolist() == [size] * 3


def test_worlds_are_told_apart_by_name_and_keep_their_order(made_rows):
    means = {"EM": {10: 0.9}, "Winnow": {10: 0.1}}
    rows = pd.concat(
        [
            made_rows(means, world="zebra", bias=0.7),
            made_rows(means),
            made_rows(means).assign(world="CIA(10, 2, 0.9, min_headroom=0.05)", min_headroom=0.05),
        ],
        ignore_index=True,
    )
    names = ["zebra", "CIA(10, 2, 0.9)", "CIA(10, 2, 0.9, min_headroom=0.05)"]
    assert worlds_of(rows).index.tolist() == names
    assert worlds_of(rows)["min_headroom"].tolist()[1:] == [0.02, 0.05]
    assert learning_curves(rows)[["world", "trials"]].drop_duplicates()["world"].tolist() == names
    assert (learning_curves(rows)["trials"] == 200).all()
    for table in (paired_differences(rows, "EM", "Winnow"), passing_sizes(rows, "EM", "Winnow")):
        assert table["world"].tolist() == names


def test_the_delta_method_and_the_bootstrap_agree_on_the_pooled_ratio(made_rows, monkeypatch):
    rows = made_rows({"EM": {10: 0.2, 100: 0.8}}, trials=2_000)
    resampled = learning_curves(rows)
    monkeypatch.setattr(curves, "MOST_RESAMPLED", 1_999)
    monkeypatch.setattr(curves, "_draws", None)
    found = learning_curves(rows)
    width = resampled["pooled_high"] - resampled["pooled_low"]
    for end in ("pooled_low", "pooled_high"):
        assert ((found[end] - resampled[end]).abs() < 0.1 * width).all()
    assert found.drop(columns=["pooled_low", "pooled_high"]).equals(
        resampled.drop(columns=["pooled_low", "pooled_high"])
    )


@pytest.mark.parametrize("most", [10, 10_000])
def test_curves_of_parts_are_those_of_all_rows(made_rows, monkeypatch, most):
    monkeypatch.setattr(curves, "MOST_RESAMPLED", most)
    rows = pd.concat([made_rows({"EM": {10: 0.2, 100: 0.8}, "COV": {10: 0.1}}, trials=40), made_rows({"EM": {10: 0.5}},
                     trials=7, world="other")], ignore_index=True)  # fmt: skip
    rows = rows.assign(limit_random=rows["t"] + 0.1, limit_truth=rows["t"].where(rows["trial"] % 2 == 0, rows["best"]))
    rows.loc[rows["trial"] == 3, "t"] = np.nan
    parts = [rows[rows["trial"] < 2], rows[(rows["trial"] >= 2) & (rows["trial"] < 25)], rows[rows["trial"] >= 25]]
    pd.testing.assert_frame_equal(curves_of([summary(part) for part in parts]), learning_curves(rows))
