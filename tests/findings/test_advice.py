"""Advice on a table: what is read, compared, said and kept."""

import json
import signal
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ciabench import NaiveBayes, advise
from ciabench.errors import DataError, RunError
from ciabench.findings import advice_learners
from ciabench.findings import advice_words as words
from ciabench.findings.advice import _is_as_good
from ciabench.findings.advice_learners import LEARNERS, learners_for, of_way
from ciabench.findings.advice_page import learners_table
from ciabench.findings.advice_runs import MAJORITY, plan_of, split_hits
from ciabench.findings.advice_table import LeftOut, as_meant
from ciabench.findings.leads import Interval, Lead
from ciabench.lab.storage.store import Store
from ciabench.seeds import Seed

ROWS = 90
FIRST_CELLS = 4
BAD_NAME = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def table():
    """A table of all kinds of columns; the class is a rule of two of them, with a tenth of noise."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "smokes": rng.integers(0, 2, ROWS),
            "town": rng.choice(["Bath", "Hull", "York"], ROWS),
            BAD_NAME: rng.normal(0, 1, ROWS).round(2),
        }
    )
    rule = (frame["smokes"] == 1) ^ (frame[BAD_NAME] > 0)
    frame["ill"] = np.where(rule ^ (rng.random(ROWS) < 0.1), "yes", "no")
    frame.loc[:4, "town"] = None
    return frame.assign(patient=np.arange(ROWS) + 1000)


@pytest.fixture(scope="module")
def without_adaptive():
    """Tables of any size count as too large for Adaptive, whose eleven fits take longest."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(advice_learners, "ADAPTIVE_CELLS", 0)
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("advice") / "ill.db"


@pytest.fixture(scope="module")
def advice(table, store, without_adaptive):
    return advise(table, "ill", splits=5, budget=None, store=store)


def plan_again(advice):
    """The plan of an advice, and what it was read from."""
    world = advice.reading.world
    return plan_of(world, world.most_examples, learners_for(world.attributes, 2), 0, advice.n_planned)


def test_every_learner_of_both_ways_is_compared(advice):
    assert set(advice.table.index) == set(LEARNERS) - {"Adaptive"}
    assert advice.table["accuracy"].is_monotonic_decreasing
    assert advice.table.index[0] == advice.best
    assert advice.table.loc[advice.best, ["behind", "low", "high"]].tolist() == [0, 0, 0]
    assert (advice.table["low"] <= advice.table["behind"]).all()


def test_hits_are_those_of_the_rows_that_a_split_holds_out(advice):
    plan, scores = plan_again(advice), advice.scores.at_full_size
    splits = split_hits(advice.scores, advice.reading, plan)
    world = advice.reading.world
    for trial, split in enumerate(splits):
        own = scores[scores["trial"] == trial].set_index("learner")
        assert {name: hits.mean() for name, hits in split.hits.items() if name != MAJORITY} == own["success"].to_dict()
        assert split.hits[MAJORITY].mean() == own["constant"].iloc[0]
        training = world.split(Seed((plan.seed, world.identity, trial))).training
        fitted = NaiveBayes().fit(world.attributes.iloc[training], world.labels[training])
        again = fitted.predict(world.attributes.iloc[split.rows]) == world.labels[split.rows]
        assert again.tolist() == split.hits["NaiveBayes"].tolist()


def test_a_fitted_model_leads_where_a_hidden_class_stands_for_each_case_of_the_rule(advice):
    assert (advice.lead.leader, advice.lead.answer) == ("model", "lead")
    assert advice.verdict.startswith("Fit a model. ")
    assert str(advice).splitlines()[1] == advice.verdict
    assert advice.table.loc["BayesianMixture", "accuracy"] > advice.table.loc["LogisticRegression", "accuracy"] + 0.2


def test_sizes_grow_and_forecasts_go_beyond_them(advice):
    assert advice.scores.sizes == [10, 15, 30, 60]
    own = advice.forecast[advice.forecast["learner"] == advice.forecast_of]
    assert own["rows"].tolist() == [120, 240]
    assert (own["low"] < own["accuracy"]).all()
    assert (own["accuracy"] < own["high"]).all()
    assert ((advice.chances >= 0) & (advice.chances <= 1)).all()


def test_hidden_classes_and_tables_drawn_from_them(advice):
    assert advice.misfit.model.feature_names_in_.tolist() == ["smokes", "town", BAD_NAME, "ill"]
    assert advice.n_drawn == 5
    assert advice.drawn_rows == ROWS
    assert advice.drawn["drawn"].between(0.3, 1).all()
    assert (advice.drawn["here"] == advice.scores.means("success")[advice.drawn.index]).all()


def test_a_second_call_goes_on_and_changes_nothing(advice, table, store, without_adaptive, monkeypatch):
    monkeypatch.setattr("ciabench.findings.advice._hidden_classes", lambda rows, seed: stop())
    before = advice.scores.rows
    more = advise(table, "ill", splits=6, budget=None, store=store)
    assert more.lead.n_splits == 6
    assert more.misfit is None
    kept = more.scores.rows[more.scores.rows["trial"] < 5].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, before.reset_index(drop=True), check_exact=True)


def stop():
    raise KeyboardInterrupt


def test_a_changed_table_is_another_world(advice, table, store, without_adaptive):
    changed = table.assign(ill=table["ill"].where(table.index > 8, "no"))
    other = advise(changed, "ill", splits=1, budget=None, store=store)
    assert other.lead.n_splits == 1
    assert other.scores.rows["world"].nunique() == 1
    with Store(store) as opened:
        assert len(opened.everything().worlds) >= 3


def test_without_a_budget_left_there_is_one_split(table, without_adaptive):
    found = advise(table, "ill", budget=0)
    assert found.lead.n_splits == 1
    assert found.forecast is None
    assert found.verdict.startswith("One split is too few")
    assert "1 of 30 splits" in found.sentences[-1]
    assert "inf" not in str(found)


def test_ctrl_c_leaves_the_advice_that_finished_splits_support(table, tmp_path, without_adaptive, monkeypatch):
    add, added = Store.add, []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs with it ignored

    def add_and_interrupt(store, *cells):
        add(store, *cells)
        added.extend(cells)
        if len(added) >= FIRST_CELLS:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Store, "add", add_and_interrupt)
    try:
        found = advise(table, "ill", budget=None, splits=200, store=tmp_path / "stopped.db")
    finally:
        signal.signal(signal.SIGINT, before)
    assert 2 <= found.lead.n_splits < 200
    assert found.misfit is None
    assert found.table["accuracy"].notna().all()


def test_what_cannot_be_finished_is_an_error(table, tmp_path, without_adaptive, monkeypatch):
    monkeypatch.setattr("ciabench.findings.advice_runs.compute", lambda *_, **__: stop())
    with pytest.raises(RunError, match="no split of the table was finished"):
        advise(table, "ill", store=tmp_path / "none.db")


def test_plain_values_are_strict_json(advice):
    plain = json.loads(json.dumps(advice.to_dict(), allow_nan=False))
    assert plain["verdict"] == advice.verdict
    assert plain["left_out"] == [{"column": "patient", "reason": "identifier: whole numbers, all different"}]
    assert len(plain["learners"]) == 8
    assert len(plain["curves"]) == 5 * 4 * 8
    assert sum(plain["hidden_classes"]["shares"]) == pytest.approx(1)


def test_the_page_needs_nothing_else_and_runs_nothing_from_the_table(advice, tmp_path):
    advice.write_page(tmp_path / "advice.html")
    html = (tmp_path / "advice.html").read_text()
    assert BAD_NAME not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "http://" not in html.replace("http://www.w3.org", "")
    assert all(name in html for name in advice.table.index)


def test_notebooks_show_sentences_a_table_and_a_picture(advice):
    html = advice._repr_html_()
    assert html.index("<p>") < html.index("<table") < html.index("<svg")
    assert BAD_NAME not in html


def test_intervals_of_a_few_splits_are_not_shown(advice):
    few = replace(advice, lead=advice.lead._replace(n_splits=words.FEW_SPLITS - 1))
    assert learners_table(advice)["points behind"].str.contains("to").sum() == len(advice.table) - 1
    assert not learners_table(few)["points behind"].str.contains("to").any()
    assert len(few.plot().axes[1].lines) < len(advice.plot().axes[1].lines)


def test_the_picture_shows_every_learner(advice):
    left, right = advice.plot().axes
    assert [label.get_text() for label in right.get_yticklabels()] == list(advice.table.index)
    assert len([line for line in left.get_lines() if len(line.get_xdata()) == 4]) == 8
    assert left.get_xlim()[1] > 240


COLUMNS = {
    "empty": ([None] * 40, "empty"),
    "constant": ([7] * 40, "constant"),
    "flag": ([None] * 20 + ["x"] * 20, "one value only, or missing"),
    "rare": ([None] * 39 + ["x"], "one value only, or missing"),
    "few": ([*"ab"] + [None] * 58, "96.7% missing"),
    "number": (list(range(40)), "identifier: whole numbers, all different"),
    "customer_id": ([i * 977 % 10007 for i in range(40)], "identifier: whole numbers, all different"),
    "name": ([f"name {i}" for i in range(40)], "one value per row"),
    "cabin": ([f"C{i % 30}" for i in range(40)], "almost one value per row: 30 different ones in 40 rows"),
    "copy": (["ill", "well"] * 20, "copy of the target"),
    "day": ([f"2024-03-{1 + i % 28:02}" for i in range(40)], "dates"),
    "code": ([f"c{i % 300}" for i in range(1200)], "300 levels, more than 255"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_that_cannot_help_are_named_and_left_out(name):
    cells, reason = COLUMNS[name]
    frame = pd.DataFrame({name: cells, "age": np.arange(len(cells)) % 9 + 0.5, "y": ["yes", "no"] * (len(cells) // 2)})
    assert as_meant(frame, "y").left_out == [LeftOut(name, reason)]


@pytest.mark.parametrize(
    "cells", [np.arange(40) * 0.25, [i * 977 % 10007 for i in range(40)], [*"abcd"] * 10, [0, 1, None, 1] * 10]
)
def test_columns_that_may_help_are_kept(cells):
    frame = pd.DataFrame({"income": cells, "age": np.arange(40) % 9 + 0.5, "y": list("yyynnynnyn") * 4})
    assert as_meant(frame, "y").left_out == []


def test_columns_are_kept_or_left_out_as_told(table):
    reading = as_meant(table, "ill", keep=["patient"], leave_out=["town"])
    assert reading.left_out == [LeftOut("town", "as you asked")]
    assert "patient" in reading.world.attributes


def test_dates_cannot_be_kept(table):
    with pytest.raises(
        DataError, match="'day' has dates, which learners cannot use; to keep it, turn them into numbers"
    ):
        as_meant(table.assign(day="2024-03-05"), "ill", keep=["day"])


def test_a_column_that_tells_everything_is_named(table):
    told = table.assign(**{"the test": np.where(table["ill"] == "yes", 5.5, 1.25) + np.arange(ROWS) / 1000})
    (note,) = as_meant(told, "ill").notes
    assert note.startswith("'the test' alone tells the class of every row")
    assert note.endswith("leave it out (--leave-out 'the test').")
    assert as_meant(table, "ill").notes == []


def test_rows_without_a_label_are_left_out_and_counted(table):
    reading = as_meant(table.assign(ill=table["ill"].where(table.index > 9)), "ill")
    assert reading.notes == ["10 of 90 rows are left out: the target 'ill' is missing there."]
    assert reading.world.labels.size == ROWS - 10


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.arange(40) * 1.5, "has 40 different numbers"),
        (np.arange(40) % 13 * 1000, "has 13 different numbers"),
        ([f"name {i}" for i in range(60)], "has 60 different values"),
        (["a"] * 40, "has one class only, 'a'"),
        ([None] * 40, "has no values"),
        (["a"], "there is only one row"),
    ],
)
def test_a_target_that_is_no_class_is_refused(labels, message):
    frame = pd.DataFrame({"age": np.arange(len(labels)) % 9 + 0.5, "y": labels})
    with pytest.raises(DataError, match=message):
        as_meant(frame, "y")


def test_a_wrong_name_is_told_with_the_nearest_one(table):
    with pytest.raises(DataError, match=r'there is no column \'il\' \(did you mean "ill"\?\)'):
        as_meant(table, "il")
    with pytest.raises(DataError, match="takes a DataFrame, or the path of a file; got a list"):
        as_meant([[1, 2]], "y")


def test_adaptive_takes_part_in_small_tables_only(monkeypatch):
    monkeypatch.setattr(advice_learners, "ADAPTIVE_CELLS", 10_000)
    columns = {f"c{i}": np.zeros(100) for i in range(100)}
    assert "Adaptive" in learners_for(pd.DataFrame(columns), 2)
    assert "Adaptive" not in learners_for(pd.DataFrame(columns | {"more": np.zeros(100)}), 2)
    wide = learners_for(pd.DataFrame({f"c{i}": np.zeros(1001) for i in range(200)}), 2)
    assert wide["EM-chosen"].n_classes == "bic"
    assert of_way("model", wide) == ["NaiveBayes", "EM", "EM-chosen", "BayesianMixture"]


def lead(difference, low, high, answer, rows_needed=None, n_splits=15):
    names = {"model": "BayesianMixture", "direct": "GradientBoosting"}
    return Lead("direct", "model", difference, low, high, n_splits, answer, rows_needed, names)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            lead(0.021, 0.003, 0.039, "lead"),
            "Learn the classifier directly. Gradient boosting leads the best fitted model, the Bayesian mixture, by "
            "2.1 points of accuracy (95% interval 0.3 to 3.9; 15 paired splits into 600 and 300 rows).",
        ),
        (lead(0.006, 0.003, 0.009, "lead"), "That is less than the 1.0 that matter."),
        (lead(0.001, -0.005, 0.007, "same"), "It makes no difference that matters."),
        (
            lead(0.01, -0.02, 0.04, "undecided", 8_100),
            "If the difference stays what it is, about 8,100 rows will tell.",
        ),
        (lead(0.01, -0.02, 0.04, "undecided", None), "Not told apart with this many rows."),
        (lead(0.01, -0.4, 0.42, "undecided", 90_000, n_splits=2), "Two splits are too few to tell the ways apart"),
    ],
)
def test_the_verdict_in_words(found, said):
    text = words.verdict(found, 0.01, (600, 300))
    assert said in text
    assert ("90,000" in text) is False


def test_nothing_better_than_the_most_common_answer_is_said():
    assert words.majority(Interval(0.02, -0.01, 0.05, 15, 900), "EM").startswith("Nothing here is clearly better")
    assert words.majority(Interval(0.02, 0.01, 0.03, 15, 900), "EM") == ""


@pytest.mark.parametrize(
    ("difference", "low", "high", "is_as_good"),
    [(0.004, -0.02, 0.028, True), (0.02, -0.01, 0.05, False), (0.02, 0.01, 0.03, False), (0.0, 0.0, 0.0, True)],
)
def test_as_good_means_not_clearly_behind_and_within_the_margin(difference, low, high, is_as_good):
    assert _is_as_good(Interval(difference, low, high, 15, 900), 0.01) is is_as_good


@pytest.mark.parametrize(("behind", "is_said"), [(0.002, True), (0.0101, False)])
def test_what_choosing_costs_is_said_where_the_table_shows_another_difference(behind, is_said):
    learners = {
        "GradientBoosting": Interval(0, 0, 0, 15, 900),
        "BayesianMixture": Interval(behind, -0.03, 0.04, 15, 900),
    }
    known = SimpleNamespace(lead=lead(0.01, -0.02, 0.04, "undecided"), behind=learners, has_intervals=True)
    assert words.cost_of_choosing(known).startswith("Between these two learners the table shows 0.2 points") is is_said


def test_an_alarm_names_the_pairs():
    pairs = pd.DataFrame({"first": ["a", "b", "c", "d"], "second": ["x"] * 4, "residual": [9.0, 8.0, 7.0, 6.0]})
    model = SimpleNamespace(weights_=np.array([0.6, 0.4]))
    found = SimpleNamespace(n_classes=2, p_value=0.05, is_alarm=True, unexplained=pairs, model=model)
    assert words.classes(SimpleNamespace(misfit=found)) == (
        "The data show 2 hidden classes (60% and 40% of the rows), which do not explain a–x, b–x and c–x, and 1 more "
        "pair (misfit test: p = 0.05, the least that 19 drawn tables can show)."
    )
