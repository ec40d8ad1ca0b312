import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from ciabench.findings.claims import check_claims
from ciabench.findings.figures import spelling_figure, write_figures
from ciabench.findings.spelling import accuracies, answer, mean_leads, measure, of_pairs

PAIRS = [f"{letter}/{letter}{letter}" for letter in "abcdefghijkl"]


def rows_of(leads, trials=5, sizes=(100, 10_000)):
    """Rows of twelve pairs on which learners lead the majority by about so much."""
    rng, rows = np.random.default_rng(0), []
    for number, pair in enumerate(PAIRS):
        label = {"task": pair, "n": 1000 + number, "k": 2, "b": 0.7, "best": 1.0, "constant": 0.7, "t_error": 0.0}
        for learner, lead in leads.items():
            for size in sizes:
                success = 0.7 + lead + rng.normal(0, 0.01, trials)
                told = {"trial": range(trials), "size": size, "learner": learner, "success": success}
                rows.append(pd.DataFrame(label | told))
    frame = pd.concat(rows, ignore_index=True)
    return frame.assign(t=(frame["success"] - 0.7) / 0.3)


def c12(rows):
    return next(finding for finding in check_claims(rows) if finding.id == "C12")


def test_on_the_addresses_winnow_is_above_majority_and_em():
    rows = measure(["passed/past", "lead/led"])
    told = accuracies(rows).set_index(["task", "learner"])
    for pair in ("passed/past", "lead/led"):
        winnow = told.loc[(pair, "Winnow")]
        assert winnow["lead"] > 0.1
        assert winnow["p"] < 0.05
        assert mean_leads(rows, "Winnow", "EM")[pair] > 0.05


def test_claim_twelve_follows_the_rows():
    assert c12(rows_of({"EM": 0.0, "Winnow": 0.2})).verdict == "reproduced"
    assert c12(rows_of({"EM": 0.1, "Winnow": 0.2})).verdict == "not reproduced"
    assert c12(rows_of({"EM": 0.0, "Winnow": 0.01})).verdict == "not reproduced"
    assert c12(rows_of({"EM": 0.0})).note == "no rows of Winnow for pairs of words"
    assert c12(rows_of({"EM": 0.0}).drop(columns="task")).verdict == "no data"


def test_claim_twelve_names_the_exceptions():
    rows = rows_of({"EM": 0.0, "Winnow": 0.2})
    rows.loc[(rows["task"] == "c/cc") & (rows["learner"] == "EM"), "success"] = 0.85
    assert "not so in 1: c/cc +0.150" in c12(rows).evidence[0].statement


def test_errors_allow_for_overlapping_splits():
    rows = rows_of({"EM": 0.0}, sizes=(100,))
    told = accuracies(rows).set_index("task").loc["a/aa"]
    success = rows[rows["task"] == "a/aa"]["success"]
    assert told["accuracy"] == pytest.approx(success.mean())
    assert told["error"] == pytest.approx(success.std() * np.sqrt(1 / 5 + 1 / 4))
    assert 0.05 < told["p"] <= 1


def test_a_learner_that_is_the_majority_has_no_lead():
    rows = rows_of({"EM": 0.0}).assign(success=0.7)
    assert (accuracies(rows)["p"] == 1).all()


def test_the_figure_has_a_panel_a_pair_with_its_majority():
    figure = spelling_figure(accuracies(rows_of({"EM": 0.0, "Winnow": 0.2})))
    panels = [ax for ax in figure.axes if ax.get_title()]
    assert [ax.get_title() for ax in panels[:2]] == ["a/aa (1,000)", "b/bb (1,001)"]
    assert len(panels) == 12
    assert [label.get_text() for label in panels[0].get_xticklabels()] == ["100", "all"]
    assert "majority" in [text.get_text() for text in figure.legends[0].get_texts()]
    plt.close(figure)


def test_pairs_and_families_go_into_figures_of_their_own(tmp_path, made_rows):
    families = made_rows({"EM": {10: 0.5, 100: 0.8}}, trials=5)
    both = pd.concat([families, rows_of({"EM": 0.0})], ignore_index=True)
    names = {path.name for path in write_figures(both, tmp_path)}
    assert {"spelling.png", "spelling.csv", "fig1.png", "overview.pdf"} < names
    assert of_pairs(families).empty


def test_a_blank_is_filled_with_reasons(small_corpus):
    word, evidence = answer("They ___ the law", "passed/past", str(small_corpus))
    assert word == "passed"
    assert evidence["they _ the"] > 0
    assert max(evidence.values()) == evidence[next(iter(evidence))]
