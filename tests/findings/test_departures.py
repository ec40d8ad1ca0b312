"""Leads against departures: slopes and crossing points on rows whose truth is known, claim B2, figure and files."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ciabench import plot_departures
from ciabench.errors import StoreError
from ciabench.findings import departures, figures
from ciabench.findings.claims import check_claims
from ciabench.findings.departures import crossing, heterogeneity, kind_of, leads_by_departure, slope
from ciabench.findings.figures import write_figures
from ciabench.findings.points import Points, Slope
from ciabench.findings.selection import combined
from ciabench.lab.storage.rows import read

LOST_AT = {"CIA": 0.1, "Tree": 0.4, "TwoHidden": 0.1, "Threshold": -0.2}
"""Departure at which the lead of a kind is lost in made rows; that of Threshold, before the first one."""


def made_rows(lost_at=None, trials=60, seed=0, sizes=(100, 1000), lows=(0.0, 0.3)):
    """Rows of two worlds per kind, with leads that fall with the departure and are lost where they should be."""
    rng, rows = np.random.default_rng(seed), []
    for kind, nats in (lost_at or LOST_AT).items():
        for low in lows:
            for trial in range(trials):
                departure = low + 0.4 * rng.random()
                lead = nats - departure + 0.05 * rng.normal()
                for size in sizes:
                    label = {"world": f"{kind}(10, {low:g}, 0.9)", "trial": trial, "size": size}
                    scores = {"EM": 0.5 + lead, "Winnow": 0.5, "projection": 0.6}
                    rows += [{**label, "learner": name, "departure": departure, "t": t} for name, t in scores.items()]
    rates = {"success": 0.8, "best": 0.9, "constant": 0.5, "t_error": 0.0}
    return pd.DataFrame(rows).assign(**rates)


@pytest.fixture(scope="module")
def leads():
    return leads_by_departure(made_rows(), "EM", "Winnow", 1000)


def kind(leads, name):
    return leads[leads["kind"] == name]


def test_leads_are_paired_and_carry_their_departures(leads):
    assert list(leads["kind"].unique()) == list(LOST_AT)
    assert len(leads) == 4 * 2 * 60
    assert leads["lead"].to_numpy() == pytest.approx(-(leads["departure"] - leads["kind"].map(LOST_AT)), abs=0.3)


def test_the_slope_is_that_of_least_squares_with_an_error_for_any_variances(leads):
    own = kind(leads, "CIA")
    x, y = own["departure"].to_numpy(), own["lead"].to_numpy()
    steepness, level = np.polyfit(x, y, 1)
    found = slope(own)
    assert found.mean == pytest.approx(steepness)
    design = np.column_stack([np.ones_like(x), x])
    inverse = np.linalg.inv(design.T @ design)
    hat = np.einsum("ij,jk,ik->i", design, inverse, design)
    weighed = design * ((y - level - steepness * x) / (1 - hat))[:, None]
    assert found.error == pytest.approx(np.sqrt((inverse @ (weighed.T @ weighed) @ inverse)[1, 1]))
    assert found.trials == (60, 60)


def test_the_slope_between_models_of_the_same_parameters_ignores_what_differs_between_worlds(leads):
    own = kind(leads, "CIA").copy()
    own.loc[own["world"] == own["world"].iloc[0], "lead"] += 5
    assert slope(own).mean < -5
    assert slope(own, within_worlds=True).mean == pytest.approx(-1, abs=0.1)


def test_a_single_departure_has_no_slope(leads):
    own = kind(leads, "CIA").assign(departure=1e-16 * np.arange(120))
    with pytest.raises(StoreError, match="at least two departures"):
        slope(own)


@pytest.mark.parametrize("name", ["CIA", "Tree"])
def test_the_crossing_point_is_where_the_lead_is_lost(leads, name):
    found = crossing(kind(leads, name))
    assert found.nats == pytest.approx(LOST_AT[name], abs=0.05)
    assert found.low <= found.nats <= found.high < found.low + 0.15


def test_intervals_of_crossing_points_hold_what_they_should(monkeypatch):
    monkeypatch.setattr(departures, "RESAMPLES", 200)
    held = []
    for seed in range(40):
        own = leads_by_departure(made_rows({"Tree": 0.4}, seed=seed, sizes=(1000,)), "EM", "Winnow", 1000)
        found = crossing(own)
        held.append(found.low <= 0.4 <= found.high)
    assert np.mean(held) >= 0.85


def test_a_lead_that_is_never_there_or_never_lost_has_no_crossing_point(leads):
    own = kind(leads, "Threshold")
    assert crossing(own).nats == crossing(own).high == 0
    assert np.isnan(crossing(own).log_error)
    assert crossing(own.assign(lead=-own["lead"])).nats == np.inf


def test_crossing_points_that_differ_are_told_from_those_that_do_not(leads):
    cia, tree, two = (crossing(kind(leads, name)) for name in ("CIA", "Tree", "TwoHidden"))
    assert heterogeneity([cia, tree]).p_value < 1e-6
    same = heterogeneity([cia, two])
    assert same.p_value > 0.05
    assert same.common.low < 0.1 < same.common.high
    assert same.common.high - same.common.low < cia.high - cia.low


def verdict(rows):
    return next(finding for finding in check_claims(rows, beside_reference=False) if finding.id == "B2")


def test_the_claim_holds_where_leads_fall_and_says_that_crossing_points_differ():
    found = verdict(made_rows(trials=500))
    assert found.verdict == "reproduced", found.note
    assert any("none in common" in one.statement for one in found.evidence)
    assert found.trials == "500"


def test_a_slope_by_trials_is_that_of_least_squares_with_errors_of_the_same_size(leads):
    points = Points.of_rows(made_rows())
    for within in (False, True):
        worlds = tuple(kind(leads, "Tree")["world"].unique())
        found = points.estimate(Slope(worlds, "EM", "Winnow", 1000, within))
        known = slope(kind(leads, "Tree"), within_worlds=within)
        assert found.mean == pytest.approx(known.mean)
        assert found.error == pytest.approx(known.error, rel=0.2)
        assert found.n_trials == 60


def test_the_claim_gives_a_common_crossing_point_where_heterogeneity_is_not_rejected():
    found = verdict(made_rows(dict.fromkeys(["CIA", "Tree", "TwoHidden"], 0.35)))
    last = found.evidence[-1]
    assert "have in common" in last.statement
    assert last.low < 0.35 < last.high


def test_the_claim_fails_where_leads_rise_between_models_of_the_same_parameters():
    rows = made_rows(trials=500)
    is_tree = rows["world"].str.startswith("Tree") & (rows["learner"] == "EM")
    low = rows["world"].str.contains("0.3").map({True: 0.3, False: 0.0})
    rows.loc[is_tree, "t"] = 0.9 + (rows["departure"] - low - 2 * low)[is_tree]
    found = verdict(rows)
    assert found.verdict == "not reproduced"
    assert "Tree: slope of the lead between models of the same parameters" in found.note


def test_the_claim_needs_departures_and_both_learners():
    rows = made_rows()
    assert [one.id for one in check_claims(rows.drop(columns="departure"), beside_reference=False)] == []
    assert verdict(rows[rows["learner"] != "Winnow"]).verdict == "no data"


def test_rows_of_another_experiment_that_lack_the_departure_do_not_hide_it():
    rows = made_rows(trials=5)
    others = rows[rows["learner"] != "projection"].drop(columns="departure")
    both = combined([others, rows])
    assert both["departure"].isna().any()
    assert len(leads_by_departure(both, "EM", "Winnow", 1000)) == 4 * 2 * 5


def test_the_figure_shows_every_kind_and_is_written_with_its_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FORMATS", ("svg",))
    rows = made_rows({"Tree": 0.2, "Threshold": -0.2}, trials=12, lows=(0.0,))
    ax = plot_departures(rows)
    assert ax.get_legend_handles_labels()[1] == ["Tree", "Threshold"]
    assert ax.get_ylabel() == "T of EM − T of Winnow"
    written = {path.name for path in write_figures(rows, tmp_path)}
    assert {"departures.svg", "departures.csv"} <= written
    drawn = (tmp_path / "departures.svg").read_text(encoding="utf-8")
    for name in (
        "Tree: attributes depend on each other",
        "Threshold: home ground of rules",
        "projection: EM's plateau",
    ):
        assert f"<!-- {name} -->" in drawn
    table = pd.read_csv(tmp_path / "departures.csv")
    assert list(table.columns) == ["world", "trial", "departure", "EM", "Winnow", "projection"]
    assert len(table) == 2 * 12


def test_rows_of_another_experiment_with_other_sizes_and_learners_are_left_out_of_the_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "FORMATS", ("svg",))
    rows = made_rows({"Tree": 0.2}, trials=12, lows=(0.0,))
    others = rows[(rows["learner"] == "EM") & (rows["size"] == 1000)].drop(columns="departure")
    others = pd.concat([others.assign(size=3000), others.assign(learner="COV")])
    write_figures(combined([rows, others]), tmp_path)
    table = pd.read_csv(tmp_path / "departures.csv")
    assert list(table.columns) == ["world", "trial", "departure", "EM", "Winnow", "projection"]
    assert table.notna().all(axis=None)


def test_without_departures_there_is_nothing_to_draw():
    rows = made_rows(trials=3).drop(columns="departure")
    with pytest.raises(StoreError, match="departure is known"):
        plot_departures(rows)


ROOT = Path(__file__).parents[2]
TABLE = ROOT / "results" / "reference" / "departures.csv.gz"


def test_the_numbers_of_the_page_are_those_of_the_committed_rows():
    spec = importlib.util.spec_from_file_location("departures_script", ROOT / "experiments" / "departures.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    page = script.PAGE.read_text(encoding="utf-8")
    assert page == script.with_tables(page, read(TABLE).rows), "run: python experiments/departures.py --write"


def test_every_kind_has_at_least_200_committed_models():
    models = read(TABLE).rows.groupby("world")["trial"].nunique()
    assert models.min() >= 200
    assert set(models.index.map(kind_of)) == set(LOST_AT)
