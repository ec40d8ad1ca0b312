import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from ciabench import CIAFamily, NaiveBayes, learning_curve
from ciabench.cli import main
from ciabench.errors import StoreError
from ciabench.findings.regression import compare
from ciabench.findings.resampling import DRAWS, critical_value, paired, unpaired
from ciabench.lab.storage.view import LABELS, MEASURES

SIZES = (10, 100, 1000)
NOISE = {10: 1.0, 100: 0.3, 1000: 0.1}
COLUMNS = [*LABELS[:1], "k", *LABELS[1:], *MEASURES]


def result_rows(trials=100, seed=0, learners=("EM", "Winnow"), classes=(2, 5), first=0):
    """Rows as an experiment has them, with made-up numbers."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in classes:
        for trial in range(first, first + trials):
            constant, room = rng.uniform(0.5, 0.7), rng.uniform(0.02, 0.2)
            for size in SIZES:
                for learner in learners:
                    t = 1 - NOISE[size] * rng.exponential()
                    measured = (constant + t * room, constant + room, constant, t, 0.0, 0.01)
                    rows.append((f"CIA(10, {k}, 0.9)", k, trial, size, learner, *measured))
    return pd.DataFrame(rows, columns=COLUMNS)


def shaken(rows, seed=1, scale=0.1, share=0.5):
    """Same models, other numbers of the learners in a share of the rows."""
    rng = np.random.default_rng(seed)
    moved = scale * rng.standard_t(3, len(rows)) * (rng.random(len(rows)) < share)
    return rows.assign(t=rows["t"] + moved)


def dropped(rows, drop, where):
    return rows.assign(t=rows["t"] - drop * rows.eval(where))


def mixed_rows(trials=20, **kwargs):
    """Rows of three kinds of worlds in one table: parameters of the one are missing in the others."""
    cia, pair, table = (result_rows(trials, classes=(k,), **kwargs).drop(columns="k") for k in (2, 3, 4))
    return pd.concat(
        [
            cia.assign(n=10, k=2, b=0.9),
            pair.assign(world="passed/past", pair="passed/past", examples=1673),
            table.assign(world="three classes.csv", classes=3, best=1.0, constant=0.4),
        ],
        ignore_index=True,
    )


def test_equal_rows_are_the_same_whatever_their_order_and_timings():
    rows = result_rows()
    other = rows.sample(frac=1, random_state=0).assign(fit_seconds=9.0)
    for exact in (False, True):
        comparison = compare(other, rows, exact=exact)
        assert comparison.verdict == "same"
        assert set(comparison.points["verdict"]) == set(comparison.curves["verdict"]) == {"same"}
        assert not comparison.points["differing"].any()


def test_a_drop_of_one_curve_names_that_curve_and_no_other():
    rows = result_rows()
    comparison = compare(dropped(shaken(rows), 0.05, "k == 5 and learner == 'EM'"), rows)
    assert comparison.verdict == "changed"
    changed = comparison.curves.query("verdict == 'changed'")
    assert changed[["world", "learner"]].to_numpy().tolist() == [["CIA(10, 5, 0.9)", "EM"]]
    assert changed["is_paired"].all()
    assert "CIA(10, 5, 0.9) EM: changed (100 trials, paired)" in comparison.report()


def test_a_drop_at_one_size_names_the_point_with_old_new_difference_and_interval():
    rows = result_rows()
    comparison = compare(dropped(shaken(rows), 0.2, "k == 2 and learner == 'Winnow' and size == 100"), rows)
    points = comparison.points.query("verdict == 'changed'")
    assert points[["world", "learner", "size"]].to_numpy().tolist() == [["CIA(10, 2, 0.9)", "Winnow", 100]]
    point = points.iloc[0]
    assert point["low"] < -0.2 < point["high"] < 0
    assert point["difference"] == pytest.approx(point["new"] - point["old"])
    assert f"size 100: T {point['old']:.3f} → {point['new']:.3f}" in comparison.report()
    assert "size 1000:" not in comparison.report()


def test_other_models_are_compared_unpaired_and_a_shortage_of_trials_is_reported():
    comparison = compare(result_rows(seed=1), result_rows(seed=2))
    assert comparison.verdict == "not enough data"
    assert not comparison.points["is_paired"].any()
    needed = comparison.curves["trials_needed"]
    assert (needed > 100).all()
    assert f"about {needed[0]:.0f} are needed to detect a drop of 0.05" in comparison.report()


def test_the_trials_said_to_be_needed_do():
    needed = int(compare(result_rows(seed=1), result_rows(seed=2)).curves["trials_needed"].max())
    assert compare(result_rows(needed * 5 // 4, seed=3), result_rows(needed * 5 // 4, seed=4)).verdict == "same"


def test_a_large_unpaired_drop_is_a_change():
    new = dropped(result_rows(60, seed=1), 0.5, "learner == 'EM' and size == 1000")
    comparison = compare(new, result_rows(300, seed=2))
    assert set(comparison.points.query("verdict == 'changed'")["learner"]) == {"EM"}


def test_fewer_trials_are_paired_with_their_own():
    rows = result_rows(300)
    few = dropped(shaken(rows.query("trial >= 50 and trial < 80")), 0.3, "learner == 'EM'")
    comparison = compare(few, rows)
    assert (comparison.points["trials"] == 30).all()
    assert comparison.points["is_paired"].all()
    assert set(comparison.curves.query("verdict == 'changed'")["learner"]) == {"EM"}


def test_few_trials_never_alarm_and_say_that_they_are_few():
    rows = result_rows(4)
    comparison = compare(rows.assign(t=rows["t"] - 1), rows)
    assert comparison.verdict == "not enough data"
    assert (comparison.curves["trials_needed"] == 9).all()
    assert compare(rows.query("trial == 0"), rows).verdict == "not enough data"


def test_missing_scores_and_undefined_t_are_left_out():
    rows = result_rows()
    holes = dropped(rows, 0.1, "learner == 'EM'").drop(index=rows.index[::7])
    holes.loc[holes.index[::5], "t"] = np.nan
    comparison = compare(holes, rows)
    assert set(comparison.curves.query("verdict == 'changed'")["learner"]) == {"EM"}
    assert (comparison.points["trials"] < 100).all()


def test_points_of_one_set_only_are_reported_and_do_not_count():
    rows = result_rows()
    comparison = compare(rows.query("learner == 'EM'"), rows.query("size < 1000"))
    assert comparison.verdict == "same"
    assert len(comparison.unmatched) == 6
    assert "not compared: 6 points of one set only, such as CIA(10, 2, 0.9) EM at size 1000" in comparison.report()


def test_exact_sees_the_last_bit():
    rows = result_rows(5)
    other = rows.copy()
    other.loc[3, "success"] = np.nextafter(other.loc[3, "success"], 1)
    comparison = compare(other, rows, exact=True)
    assert comparison.verdict == "changed"
    assert "1 row differs" in comparison.report()
    assert compare(other, rows).verdict == "same"


def test_exact_compares_the_rows_that_both_sets_have():
    rows = result_rows(300)
    few = rows.query("trial < 100")
    comparison = compare(few, rows, exact=True)
    assert comparison.verdict == "same"
    assert not comparison.points["differing"].any()
    assert (comparison.points["shared"] == 100).all()
    assert comparison.rows_of_one_set == 2_400
    assert comparison.report().endswith("\n2,400 rows are in one set only")
    assert compare(rows[1:], rows, exact=True).report().endswith("\n1 row is in one set only")
    changed = compare(dropped(few, 1e-9, "trial == 3 and learner == 'EM' and size == 10"), rows, exact=True)
    assert changed.verdict == "changed"
    assert changed.points["differing"].sum() == 2


def test_exact_does_not_compare_points_of_one_set_only():
    rows = result_rows(5)
    comparison = compare(rows.query("learner == 'EM'"), rows, exact=True)
    assert comparison.verdict == "same"
    assert "not compared: 6 points of one set only, such as CIA(10, 2, 0.9) Winnow at size 10" in comparison.report()


def test_exact_cannot_say_anything_of_different_trials():
    rows = result_rows(10)
    assert compare(rows.query("trial < 5"), rows.query("trial >= 5"), exact=True).verdict == "not enough data"


@pytest.mark.parametrize("exact", [False, True])
def test_mixed_worlds_are_compared_by_name_from_a_table_as_from_memory(tmp_path, exact):
    rows = mixed_rows()
    rows.sample(frac=1, random_state=0).to_csv(tmp_path / "rows.csv", index=False)
    comparison = compare(tmp_path / "rows.csv", rows, exact=exact)
    assert comparison.verdict == "same"
    assert len(comparison.points) == 18
    other = dropped(rows, 0.5, "world == 'passed/past' and learner == 'EM'")
    report = compare(other, tmp_path / "rows.csv", exact=exact).report()
    assert "passed/past EM: changed (20 trials, paired)" in report
    assert "three classes.csv EM: same (20 trials, paired)" in report


def test_a_table_is_compared_with_a_store(tmp_path):
    family, learners = CIAFamily(n=5, k=2, b=0.8, min_headroom=0.05), {"NB": NaiveBayes()}
    store, table = tmp_path / "mine.db", tmp_path / "rows.csv"
    rows = learning_curve(family, learners, sizes=[10, 50], trials=4, random_state=0, store=store)
    iris = learning_curve(load_iris(return_X_y=True), {"NB": GaussianNB()}, sizes=[50], trials=4, random_state=0)
    pd.concat([iris.assign(world="iris"), rows]).to_csv(table, index=False)
    comparison = compare(table, store, exact=True)
    assert comparison.verdict == "same", comparison.report()
    assert "CIA(5, 2, 0.8, min_headroom=0.05) NB: same (4 trials, paired)" in comparison.report()
    assert "not compared: 1 point of one set only, such as iris NB at size 50" in comparison.report()
    assert compare(iris, iris, exact=True).verdict == "same"


def test_a_size_without_any_t_does_not_hide_the_others():
    rows = result_rows()
    rows.loc[rows["size"] == 10, "t"] = np.nan
    comparison = compare(dropped(shaken(rows), 0.05, "k == 5 and learner == 'EM'"), rows)
    curves = comparison.curves.set_index(["world", "learner"])
    assert (curves["trials"] == 100).all()
    assert curves.loc[("CIA(10, 5, 0.9)", "EM"), "difference"] == pytest.approx(-0.05, abs=0.02)
    assert comparison.verdict == "changed"


@pytest.mark.soak
@pytest.mark.parametrize("test", [paired, unpaired])
def test_the_level_holds_for_heavy_tails_and_many_zeros(test):
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(200):
        new, old = (rng.standard_t(2, (40, 6)) * (rng.random((40, 6)) < 0.2) for _ in range(2))
        tested = test(new, old, rng)
        alarms += (tested.statistic > critical_value(tested.chance.max(axis=1), 0.05)).any()
    assert tested.chance.shape == (DRAWS, 6)
    assert alarms <= 20


def test_nothing_in_common_and_doubled_rows_are_mistakes():
    rows = result_rows(2)
    with pytest.raises(StoreError, match="no world, learner and size in common"):
        compare(rows, rows.assign(world="my " + rows["world"]))
    with pytest.raises(StoreError, match=r"rows: CIA\(10, 2, 0.9\) EM at size 10, trial 0, occurs twice\."):
        compare(pd.concat([rows, rows]), rows)


def test_worlds_with_equal_parameters_are_not_doubled_rows():
    rows = mixed_rows().assign(n=10, k=2, b=0.9)
    assert compare(rows, rows).verdict == "same"


@pytest.mark.parametrize(
    ("change", "options", "code", "words"),
    [
        (0.0, [], 0, "same"),
        (0.5, [], 1, "changed\nCIA(10, 2, 0.9) EM: changed"),
        (1e-9, ["--exact"], 1, "changed"),
    ],
)
def test_command(tmp_path, change, options, code, words):
    rows = result_rows(20)
    rows.to_csv(tmp_path / "old.csv", index=False)
    rows.assign(t=rows["t"] - change).to_csv(tmp_path / "new.csv", index=False)
    result = CliRunner().invoke(main, ["compare", str(tmp_path / "new.csv"), str(tmp_path / "old.csv"), *options])
    assert result.exit_code == code, result.output
    assert result.output.startswith(words)


def test_command_says_when_data_are_few_and_what_is_wrong_with_a_file(tmp_path):
    for name, seed in (("new", 1), ("old", 2)):
        result_rows(20, seed=seed).to_csv(tmp_path / f"{name}.csv", index=False)
    result = CliRunner().invoke(main, ["compare", str(tmp_path / "new.csv"), str(tmp_path / "old.csv")])
    assert result.exit_code == 0
    assert result.output.startswith("not enough data\n")
    missing = CliRunner().invoke(main, ["compare", str(tmp_path / "new.csv"), str(tmp_path / "none.csv")])
    assert missing.exit_code == 2
    assert len(missing.output.splitlines()) == 1
