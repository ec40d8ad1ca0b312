"""Settling: trials are added only where statements are undecided, and a run that was killed ends with the same rows."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ciabench.cli import main
from ciabench.errors import ExperimentError
from ciabench.findings import rounds, settling
from ciabench.findings.claims import check_claims
from ciabench.findings.paper import named
from ciabench.findings.rounds import Standing, Trials, next_look
from ciabench.findings.settling import settle
from ciabench.lab.plan.experiment import validate
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.store import Store

FIVE = named(10, 5)
KEYS = ["world", "trial", "size", "learner"]


def experiment(name="own", k=5, sizes=(10, 50, 1000), learners=("EM", "COV", "Winnow"), **kwargs):
    families = [{"n": 10, "k": k, "b": 0.9}]
    table = {"name": name, "seed": 1997, "trials": 2, "sizes": list(sizes), "learners": list(learners)}
    return validate({**table, "families": families, **kwargs}, f"{name}.toml")


def rows_in(folder, name="own"):
    return read(folder / f"{name}.db").rows.drop(columns="fit_seconds").sort_values(KEYS, ignore_index=True)


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    """Folder with a settled store, what the run wanted, and what it reported."""
    folder, reported = tmp_path_factory.mktemp("settled"), []
    found = settle([experiment()], folder, report=lambda standing, cells: reported.append((standing, cells)))
    return folder, found, reported


def test_trials_are_added_only_where_a_claim_needs_them(settled):
    folder, found, _ = settled
    counts = rows_in(folder).groupby(["learner", "size"]).size().to_dict()
    assert set(counts) == {(learner, size) for learner in ("EM", "Winnow") for size in (50, 1000)}
    assert counts == {(learner, size): found.wanted[FIVE, learner, size] for learner, size in counts}
    assert counts["EM", 1000] == 500 <= counts["EM", 50]


def test_it_stops_when_the_claim_is_decided(settled):
    folder, _, reported = settled
    (claim,) = [one for one in check_claims(rows_in(folder), beside_reference=False) if one.id == "C3"]
    (last,) = reported[-1][0]
    assert (last.id, last.verdict, reported[-1][1]) == ("C3", claim.verdict, 0)
    assert claim.verdict in ("reproduced", "not reproduced", "on the margin")
    ((first,), cells) = reported[0]
    assert (first.verdict, cells) == ("no data", 500)


def test_settling_again_computes_nothing(settled, monkeypatch):
    folder, found, _ = settled
    monkeypatch.setattr(settling, "computed", lambda *args, **kwargs: pytest.fail("computed a cell again"))
    assert settle([experiment()], folder).wanted == found.wanted


def test_a_run_that_was_killed_ends_with_the_same_rows(settled, tmp_path, monkeypatch):
    folder, found, _ = settled
    whole = settling.computed

    def killed(*args, **kwargs):
        for number, cell in enumerate(whole(*args, **kwargs)):
            if number == 230:
                raise KeyboardInterrupt
            yield cell

    with monkeypatch.context() as context:
        context.setattr(settling, "computed", killed)
        with pytest.raises(KeyboardInterrupt):
            settle([experiment()], tmp_path)
    assert 230 <= len(rows_in(tmp_path)) / 4 < 500
    assert settle([experiment()], tmp_path).wanted == found.wanted
    pd.testing.assert_frame_equal(rows_in(tmp_path), rows_in(folder))


def test_without_time_nothing_is_computed_and_the_claim_stays_open(tmp_path):
    reported = []
    settle([experiment()], tmp_path, budget=1e-9, report=lambda standing, cells: reported.append(cells))
    assert reported == [0]
    assert not (tmp_path / "own.db").exists()


def test_a_budget_ends_a_round_where_it_is_and_the_next_run_goes_on(settled, tmp_path):
    folder, found, _ = settled
    first = settle([experiment()], tmp_path, budget=0.5)
    assert max(first.wanted.values()) == 500
    assert 0 < len(rows_in(tmp_path)) / 4 == first.n_tried((FIVE, "EM", 50)) < 500
    assert settle([experiment()], tmp_path).wanted == found.wanted
    pd.testing.assert_frame_equal(rows_in(tmp_path), rows_in(folder))


def test_most_trials_are_not_exceeded(tmp_path):
    found = settle([experiment(sizes=(50,))], tmp_path, most=20)
    assert max(found.wanted.values()) == 20
    assert len(rows_in(tmp_path)) == 2 * 20


def test_points_that_two_experiments_offer_are_computed_by_the_first(tmp_path):
    settle([experiment(sizes=(50,)), experiment("other", sizes=(50, 100))], tmp_path, most=20)
    assert set(rows_in(tmp_path)["size"]) == {50}
    assert set(rows_in(tmp_path, "other")["size"]) == {100}
    with pytest.raises(ExperimentError, match="need the same seed"):
        settle([experiment(), experiment("other", seed=1)], tmp_path)


def test_what_a_run_left_that_was_killed_at_once_is_no_hindrance(tmp_path):
    (tmp_path / "own.db").touch()
    settle([experiment(sizes=(50,))], tmp_path, most=20)
    assert len(rows_in(tmp_path)) == 2 * 20


def test_what_a_store_has_is_used_whatever_its_view_is(tmp_path):
    settle([experiment(sizes=(50,))], tmp_path, most=20)
    small = experiment(sizes=(50,))
    with Store.continued(tmp_path / "own.db", small.spec(), small.plan(), {}) as store:
        assert store.view().trials == 2
    settle([small], tmp_path, most=20)
    assert len(rows_in(tmp_path)) == 2 * 20


def test_failed_scores_are_not_tried_again(tmp_path):
    broken = [{"use": "EM"}, {"use": "sklearn.svm:SVC", "name": "Winnow", "C": -1.0}]
    chosen = experiment(sizes=(50,), learners=broken)
    settle([chosen], tmp_path, most=5)
    reported = []
    settle([chosen], tmp_path, most=5, report=lambda standing, cells: reported.append(cells))
    assert reported == [0, 0]


def test_departures_are_points_too(tmp_path):
    worlds = [{"use": "Tree", "n": 5, "d": [0.5, 1], "b": 0.8}]
    offered = experiment(learners=("EM", "Winnow"), sizes=(100, 1000), families=[], worlds=worlds)
    with_departures = offered.model_copy(update={"references": ("projection",)})
    found = settle([with_departures], tmp_path, most=30)
    counts = rows_in(tmp_path).groupby(["learner", "size"]).size().to_dict()
    assert counts == {(learner, 1000): 2 * 30 for learner in ("EM", "Winnow", "projection")}
    departures = [found.of((f"Tree(5, {d}, 0.8)", "departure", 1000)) for d in ("0.5", "1")]
    assert all(np.isfinite(one).all() and len(one) == 30 for one in departures)
    settle([with_departures], tmp_path, most=30)
    assert len(rows_in(tmp_path)) == 6 * 30


def test_looks_grow_and_the_size_with_the_fewest_trials_is_served_first():
    looks = [0]
    while looks[-1] < 10_000:
        looks.append(next_look(looks[-1]))
    assert looks[1:4] == [500, 600, 800]
    assert len(looks) < 25
    trials = Trials([("w", "EM", 10), ("w", "EM", 100)], 1_000)
    small, large = ("w", "EM", 10), ("w", "EM", 100)
    trials.want_more([[small], [small], [small]])
    assert trials.wanted == {small: 500, large: 0}
    trials.want_more([[small, large]])
    assert trials.wanted == {small: 500, large: 500}
    trials.want_more([[small], [small, large]])
    assert trials.wanted == {small: 600, large: 600}


def test_undecided_claims_come_before_undecided_statements_of_decided_ones():
    decided, undecided = (Standing("C1", verdict, None) for verdict in ("not reproduced", "undecided, leaning for"))
    small, large = ("w", "EM", 10), ("w", "EM", 100)
    trials = Trials([small, large], 500)
    found = [(decided, [[large]]), (undecided, [[small]])]
    settling.want_more(trials, found)
    assert trials.wanted == {small: 500, large: 0}
    settling.want_more(trials, found)
    assert trials.wanted == {small: 500, large: 500}


def test_the_command_shows_where_trials_went(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = ['name = "own"', "seed = 1997", "trials = 2", "sizes = [50]", 'learners = ["EM", "Winnow"]']
    (tmp_path / "own.toml").write_text("\n".join([*lines, "[[families]]", "n = 10", "k = 5", "b = 0.9"]))
    result = CliRunner().invoke(main, ["settle", "own.toml", "--out", ".", "--most-trials", "10"])
    assert result.exit_code == 0, result.output
    assert "C3 no data; 10 cells to compute" in result.output
    assert "C3  undecided, leaning" in result.output
    assert f"{FIVE}  10" in result.output
    assert CliRunner().invoke(main, ["settle", "own.toml", "--budget", "soon"]).exit_code == 2
    assert "no point that a claim needs" in rounds.summary(Trials([], 10))
