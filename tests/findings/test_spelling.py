import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from scipy import stats

from ciabench import learner_colors, plot_pairs
from ciabench.errors import ParameterError
from ciabench.findings.claims import check_claims
from ciabench.findings.figures import write_figures
from ciabench.findings.spelling import accuracies, is_of_pair, leads, of_pairs, to_table
from ciabench.lab.plan.experiment import load
from ciabench.lab.plan.learner import from_estimator
from ciabench.lab.spelling import LEARNERS, SEED, SPLITS, answer, measure
from ciabench.world.pairs import DEFAULT_PAIRS

PAIRS = [*(f"{letter}/{letter}{letter}" for letter in "abcdefghijk"), "passed/past"]
EXPERIMENT = Path(__file__).parents[2] / "experiments" / "spelling.toml"


def rows_of(leads, trials=5, sizes=(100, 10_000)):
    """Rows of twelve pairs on which learners lead the majority by about so much, or by exactly 0."""
    rng, rows = np.random.default_rng(0), []
    for number, pair in enumerate(PAIRS):
        label = {"world": pair, "pair": pair, "corpus": "sotu", "min_count": 2, "examples": 1000 + number}
        for learner, lead in leads.items():
            for size in sizes:
                success = 0.7 + (lead + rng.normal(0, 0.01, trials) if lead else np.zeros(trials))
                measured = {"trial": range(trials), "size": size, "learner": learner, "success": success}
                rows.append(pd.DataFrame({**label, **measured, "best": 1.0, "constant": 0.7, "t_error": 0.0}))
    frame = pd.concat(rows, ignore_index=True)
    return frame.assign(t=(frame["success"] - 0.7) / 0.3)


def finding_of(identity, rows):
    return next(finding for finding in check_claims(rows) if finding.id == identity)


def with_lead(rows, learner, pairs, lead):
    """The same rows, with another lead of a learner on some pairs."""
    chosen = rows["world"].isin(pairs) & (rows["learner"] == learner)
    noise = np.random.default_rng(1).normal(0, 0.01, len(rows))
    return rows.assign(success=rows["success"].mask(chosen, 0.7 + lead + noise))


def printed(table):
    console = Console(width=200)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


@pytest.mark.soak
def test_on_the_addresses_em_lines_up_with_one_pair_and_is_the_majority_on_another():
    rows = measure(["passed/past", "lead/led"])
    assert list(rows.columns[:5]) == ["world", "pair", "corpus", "min_count", "examples"]
    measured = accuracies(rows).set_index(["world", "learner"])
    for pair in ("passed/past", "lead/led"):
        winnow = measured.loc[(pair, "Winnow")]
        assert winnow["lead"] > 0.1
        assert winnow["p"] < 0.05
    assert (leads(rows, "EM").loc["lead/led"] == 0).all()
    assert leads(rows, "EM").loc["passed/past"].min() > 0.2
    assert leads(rows, "EM", "Winnow").loc["passed/past"].abs().mean() < 0.05
    reached = rows.set_index("learner")["n_best_reproduced"]
    assert reached["EM"].between(1, 20).all()
    assert reached.drop("EM").isna().all()


def test_the_shell_and_the_experiment_share_pairs_learners_seed_and_splits():
    experiment = load(EXPERIMENT)
    (family,) = tomllib.loads(EXPERIMENT.read_text(encoding="utf-8"))["families"]
    assert tuple(family["pair"]) == DEFAULT_PAIRS
    own = {name: from_estimator(name, learner).identity for name, learner in LEARNERS.items()}
    assert {table.label: table.resolved().identity for table in experiment.learners} == own
    assert (experiment.seed, experiment.trials) == (SEED, SPLITS)


def test_claim_twelve_is_about_the_pair_of_the_paper():
    rows = rows_of({"EM": 0.3, "Winnow": 0.3})
    like_the_paper = with_lead(rows, "EM", ["passed/past"], 0.001)
    assert finding_of("C12", like_the_paper).verdict == "reproduced"
    assert finding_of("C12", rows).verdict == "not reproduced"
    assert finding_of("C12", with_lead(like_the_paper, "Winnow", ["passed/past"], 0.01)).verdict == "not reproduced"
    assert finding_of("C12", rows_of({"EM": 0.1})).verdict == "no data"
    assert finding_of("C12", rows[rows["world"] != "passed/past"]).note.startswith("no rows of passed/past; ")
    assert check_claims(rows.drop(columns=["pair", "examples"])) == []


def test_claim_twelve_judges_every_corpus_by_its_overlapping_splits():
    rows = rows_of({"EM": 0.001, "Winnow": 0.3})
    other = rows[rows["world"] == "passed/past"].assign(world="passed/past (corpus=mine)", corpus="mine")
    evidence = finding_of("C12", pd.concat([rows, other])).evidence
    assert [one.statement.split(": ")[0] for one in evidence] == ["passed/past"] * 2 + ["passed/past (corpus=mine)"] * 2
    splits = leads(rows, "Winnow").loc["passed/past"]
    error = splits.std() * np.sqrt(1 / 5 + 1 / 4)
    assert evidence[1].low == pytest.approx(splits.mean() + stats.t.ppf(0.05 / 12, 4) * error)
    assert evidence[1].high == pytest.approx(splits.mean() - stats.t.ppf(0.05 / 12 / 4, 4) * error)
    assert evidence[1].trials_needed is None


def test_claim_b3_counts_pairs_that_line_up_and_pairs_that_are_the_majority():
    rows = with_lead(rows_of({"EM": 0, "Winnow": 0.2}), "EM", PAIRS[:5], 0.2)
    finding = finding_of("B3", rows)
    shares = [(one.statement.split(" pairs")[0], one.estimate) for one in finding.evidence[:3]]
    assert shares == [("12 of 12", 1), ("5 of 12", pytest.approx(5 / 12)), ("7 of 12", pytest.approx(7 / 12))]
    assert "a/aa +0.2" in finding.evidence[1].statement
    assert finding.evidence[3].statement.startswith("mean over 5 pairs: EM within ±0.05 of Winnow")
    assert finding.verdict == "reproduced"


def test_claim_b3_judges_each_corpus_by_itself():
    rows = with_lead(rows_of({"EM": 0, "Winnow": 0.2}), "EM", PAIRS[:5], 0.2).assign(corpus="sotu")
    other = rows_of({"EM": 0.02, "Winnow": 0.2}).assign(corpus="brown")
    other["world"] += " (corpus=brown)"
    finding = finding_of("B3", pd.concat([rows, other]))
    assert finding.verdict == "not reproduced"
    by_corpus = {one.statement.partition(" pairs: ")[2].partition(",")[0] for one in finding.evidence}
    assert by_corpus == {"sotu", "brown"}
    assert "12 of 12 pairs: sotu, EM does one or the other" in finding.evidence[0].statement
    assert finding.evidence[4].statement.startswith("0 of 12 pairs: brown, EM does one or the other")


def test_claim_b3_names_the_pairs_that_are_neither():
    rows = with_lead(rows_of({"EM": 0, "Winnow": 0.2}), "EM", ["a/aa", "b/bb"], 0.02)
    finding = finding_of("B3", rows)
    assert finding.evidence[0].statement.startswith("10 of 12 pairs: EM does one or the other; neither: a/aa +0.0")
    assert len(finding.evidence) == 3
    everywhere = finding_of("B3", rows_of({"EM": 0.02, "Winnow": 0.2}))
    assert everywhere.verdict == "not reproduced"


def test_claim_b3_compares_with_winnow_where_other_splits_line_up():
    rows = with_lead(rows_of({"EM": 0, "Winnow": 0.2}), "EM", PAIRS[:3], 0.2)
    lucky = (rows["world"] == "d/dd") & (rows["learner"] == "EM") & (rows["trial"] == 0)
    rows.loc[lucky, "success"] = 1.0
    assert leads(rows, "EM").loc["d/dd"].mean() >= 0.05
    of_three = finding_of("B3", rows).evidence[3]
    chosen = leads(rows, "EM", "Winnow").loc[[*PAIRS[:3], "d/dd"]]
    expected = [*chosen.iloc[:3].mean(axis=1), chosen.iloc[3, 1:].mean()]
    assert of_three.estimate == pytest.approx(np.mean(expected))


def test_pairs_are_recognised_by_their_parameters_not_by_a_slash(made_rows):
    own = made_rows({"EM": {10: 0.5}}, trials=2, world="heads/tails")
    both = pd.concat([own, rows_of({"EM": 0.0})])
    assert not is_of_pair(own).any()
    assert set(of_pairs(both)["world"]) == set(PAIRS)


def test_errors_allow_for_overlapping_splits():
    rows = rows_of({"EM": 1e-6}, sizes=(100,))
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


def test_an_optimum_that_was_reached_once_is_marked():
    rows = rows_of({"EM": 0.1, "Winnow": 0.1}, sizes=(100,))
    assert "†" not in printed(to_table(rows))
    counts = np.where((rows["world"] == "b/bb") & (rows["learner"] == "EM") & (rows["trial"] == 3), 1, 7)
    marked = printed(to_table(rows.assign(n_best_reproduced=counts))).splitlines()
    assert [line.split()[0] for line in marked if "†" in line] == ["b/bb"]
    assert marked[2].split()[3].endswith("†")


def test_pairs_are_one_dot_plot_sorted_by_their_largest_gain():
    rows = with_lead(rows_of({"EM": 0.0, "Winnow": 0.2}), "Winnow", ["c/cc"], 0.25)
    rows = with_lead(rows, "Winnow", ["d/dd"], 0.1)
    ax = plot_pairs(rows)
    pairs = [label.get_text() for label in ax.get_yticklabels()]
    assert (pairs[0], pairs[-1]) == ("d/dd", "c/cc")
    assert "70% of 1,002" in [text.get_text() for text in ax.texts]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["EM", "Winnow"]
    measured = accuracies(rows).query("size == 10_000 and learner == 'Winnow'").set_index("world")
    (drawn,) = [line for line in ax.lines if line.get_label() == "Winnow"]
    np.testing.assert_allclose(drawn.get_xdata(), 100 * measured.loc[pairs, "lead"])


def test_gains_that_may_be_none_are_hollow():
    ax = plot_pairs(rows_of({"EM": 1e-6, "Winnow": 0.2}))
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "#ffffff" and len(line.get_xdata())]
    assert {line.get_color() for line in hollow} == {learner_colors(["EM"])["EM"]}


def test_what_is_no_pair_cannot_be_drawn_as_one(made_rows):
    with pytest.raises(ParameterError, match="the rows hold none"):
        plot_pairs(made_rows({"EM": {10: 0.5}}, trials=2))


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
