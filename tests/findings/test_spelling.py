import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from ciabench.findings.claims import check_claims
from ciabench.findings.figures import spelling_figure, write_figures
from ciabench.findings.spelling import accuracies, is_of_pair, mean_leads, of_pairs, to_table
from ciabench.lab.plan.experiment import load
from ciabench.lab.plan.learner import from_estimator
from ciabench.lab.spelling import LEARNERS, SEED, SPLITS, answer, measure
from ciabench.world.pairs import DEFAULT_PAIRS

PAIRS = [f"{letter}/{letter}{letter}" for letter in "abcdefghijkl"]
EXPERIMENT = Path(__file__).parents[2] / "experiments" / "spelling.toml"


def rows_of(leads, trials=5, sizes=(100, 10_000)):
    """Rows of twelve pairs on which learners lead the majority by about so much."""
    rng, rows = np.random.default_rng(0), []
    for number, pair in enumerate(PAIRS):
        label = {"world": pair, "pair": pair, "corpus": "sotu", "min_count": 2, "examples": 1000 + number}
        for learner, lead in leads.items():
            for size in sizes:
                success = 0.7 + lead + rng.normal(0, 0.01, trials)
                measured = {"trial": range(trials), "size": size, "learner": learner, "success": success}
                rows.append(pd.DataFrame({**label, **measured, "best": 1.0, "constant": 0.7, "t_error": 0.0}))
    frame = pd.concat(rows, ignore_index=True)
    return frame.assign(t=(frame["success"] - 0.7) / 0.3)


def c12(rows):
    return next(finding for finding in check_claims(rows) if finding.id == "C12")


def printed(table):
    console = Console(width=200)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_on_the_addresses_winnow_is_above_majority_and_em():
    rows = measure(["passed/past", "lead/led"])
    assert list(rows.columns[:5]) == ["world", "pair", "corpus", "min_count", "examples"]
    measured = accuracies(rows).set_index(["world", "learner"])
    for pair in ("passed/past", "lead/led"):
        winnow = measured.loc[(pair, "Winnow")]
        assert winnow["lead"] > 0.1
        assert winnow["p"] < 0.05
        assert mean_leads(rows, "Winnow", "EM")[pair] > 0.05


def test_the_shell_and_the_experiment_share_pairs_learners_seed_and_splits():
    experiment = load(EXPERIMENT)
    (family,) = tomllib.loads(EXPERIMENT.read_text(encoding="utf-8"))["families"]
    assert tuple(family["pair"]) == DEFAULT_PAIRS
    own = {name: from_estimator(name, learner).identity for name, learner in LEARNERS.items()}
    assert {table.label: table.resolved().identity for table in experiment.learners} == own
    assert (experiment.seed, experiment.trials) == (SEED, SPLITS)


def test_claim_twelve_follows_the_rows():
    assert c12(rows_of({"EM": 0.0, "Winnow": 0.2})).verdict == "reproduced"
    assert c12(rows_of({"EM": 0.1, "Winnow": 0.2})).verdict == "not reproduced"
    assert c12(rows_of({"EM": 0.0, "Winnow": 0.01})).verdict == "not reproduced"
    assert c12(rows_of({"EM": 0.0})).verdict == "no data"
    assert check_claims(rows_of({"EM": 0.0}).drop(columns=["pair", "examples"])) == []


def test_claim_twelve_names_the_exceptions():
    rows = rows_of({"EM": 0.0, "Winnow": 0.2})
    rows.loc[(rows["world"] == "c/cc") & (rows["learner"] == "EM"), "success"] = 0.85
    assert "c/cc +0.150" in c12(rows).evidence[0].statement


def test_pairs_are_recognised_by_their_parameters_not_by_a_slash(made_rows):
    own = made_rows({"EM": {10: 0.5}}, trials=2, world="heads/tails")
    both = pd.concat([own, rows_of({"EM": 0.0})])
    assert not is_of_pair(own).any()
    assert set(of_pairs(both)["world"]) == set(PAIRS)


def test_errors_allow_for_overlapping_splits():
    rows = rows_of({"EM": 0.0}, sizes=(100,))
    measured = accuracies(rows).set_index("world").loc["a/aa"]
    success = rows[rows["world"] == "a/aa"]["success"]
    assert measured["accuracy"] == pytest.approx(success.mean())
    assert measured["error"] == pytest.approx(success.std() * np.sqrt(1 / 5 + 1 / 4))
    assert 0.05 < measured["p"] <= 1


def test_a_learner_that_is_the_majority_has_no_lead():
    rows = rows_of({"EM": 0.0}).assign(success=0.7)
    assert (accuracies(rows)["p"] == 1).all()


def test_one_split_is_no_evidence():
    rows = rows_of({"EM": 0.2}, trials=1, sizes=(100,))
    assert accuracies(rows)["p"].isna().all()
    assert "*" not in printed(to_table(rows))


def test_the_table_shows_learners_whose_scores_failed():
    lines = printed(to_table(rows_of({"EM": 0.1}, sizes=(100,)), ["EM", "Winnow"])).splitlines()
    assert lines[0].split() == ["pair", "examples", "majority", "EM", "Winnow"]
    assert lines[1].split()[-1] == "failed"


def test_the_figure_has_a_panel_per_pair_with_its_majority():
    figure = spelling_figure(accuracies(rows_of({"EM": 0.0, "Winnow": 0.2})))
    panels = [ax for ax in figure.axes if ax.get_title()]
    assert [ax.get_title() for ax in panels[:2]] == ["a/aa (1,000)", "b/bb (1,001)"]
    assert len(panels) == 12
    assert [label.get_text() for label in panels[0].get_xticklabels()] == ["100", "all"]
    assert "majority" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_pairs_and_families_go_into_figures_of_their_own(tmp_path, made_rows):
    families = made_rows({"EM": {10: 0.5, 100: 0.8}}, trials=5)
    both = pd.concat([families, rows_of({"EM": 0.0})])
    names = {path.name for path in write_figures(both, tmp_path)}
    assert {"spelling.png", "spelling.csv", "fig1.png", "overview.pdf"} < names
    assert set(pd.read_csv(tmp_path / "overview.csv")["world"]) == {"CIA(10, 2, 0.9)"}
    assert set(pd.read_csv(tmp_path / "spelling.csv")["world"]) == set(PAIRS)


def test_a_blank_is_filled_with_reasons(small_corpus):
    word, evidence = answer("They ___ the law", "passed/past", str(small_corpus))
    assert word == "passed"
    assert evidence["they _ the"] > 0
    assert max(evidence.values()) == evidence[next(iter(evidence))]
