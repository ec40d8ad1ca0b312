"""The limit beside the learners: losses, their picture, marks where chains disagree, and the claims about the limit."""

import numpy as np
import pandas as pd
import pytest

from ciabench import plot_curves, plot_losses, reference
from ciabench.errors import ParameterError, StoreError
from ciabench.findings.claims import check_claims
from ciabench.findings.figures import write_figures
from ciabench.findings.limits import limit_of, losses
from ciabench.findings.paper import SIX

SIZES = (10, 100, 200, 1000)
WRONG = ("Tree(10, 1, 0.9)", "Tree(10, 2, 0.9)", "Threshold(10, 5, 0.05, 0.9)", "Threshold(10, 7, 0.05, 0.9)")


def flat(mean):
    return dict.fromkeys(SIZES, mean)


def with_halves(rows, random, truth):
    """Rows with T of both halves of the limit's chains, by size."""
    halves = {"limit_random": random, "limit_truth": truth}
    return rows.assign(**{name: rows["t"] + rows["size"].map(half) for name, half in halves.items()})


def test_losses_add_up_and_are_paired(made_rows):
    rows = made_rows({"EM": {10: 0.2, 100: 0.6}, "limit": {10: 0.5, 100: 0.9}}, trials=50)
    incomplete = rows[(rows["learner"] != "limit") | (rows["trial"] < 40)]
    found = losses(incomplete).set_index("size")
    assert (found["trials"] == 40).all()
    for size in (10, 100):
        own = incomplete[(incomplete["size"] == size) & (incomplete["trial"] < 40)].groupby("learner")["t"].mean()
        assert found.loc[size, "sample"] == pytest.approx(1 - own["limit"])
        assert found.loc[size, "sample"] + found.loc[size, "method"] == pytest.approx(1 - own["EM"])


def test_a_bar_stands_on_what_the_sample_costs_or_hangs_below_it(made_rows):
    rows = made_rows({"EM": {10: 0.2, 100: 0.6}, "lucky": {10: 0.7, 100: 0.95}, "limit": {10: 0.5, 100: 0.9}})
    found, ax = losses(rows).set_index(["learner", "size"]), plot_losses(rows)
    bars = {container.get_label(): container.patches for container in ax.containers}
    assert list(bars) == ["what the sample costs", "EM", "lucky"]
    for learner, sign in (("EM", 1), ("lucky", -1)):
        for bar, size in zip(bars[learner], (10, 100), strict=True):
            assert bar.get_y() == pytest.approx(found.loc[(learner, size), "sample"])
            assert bar.get_height() == pytest.approx(found.loc[(learner, size), "method"])
            assert np.sign(bar.get_height()) == sign


def test_losses_need_a_limit_and_one_world(made_rows):
    rows = made_rows({"EM": flat(0.5)})
    with pytest.raises(StoreError, match=r'ask for it with references = \["limit"\]'):
        plot_losses(rows)
    both = made_rows({"EM": flat(0.5), "limit": flat(0.6)})
    with pytest.raises(ParameterError, match="draws one world, and the rows hold 2"):
        plot_losses(pd.concat([both, both.assign(world="other")]))


def test_sizes_at_which_chains_disagree_are_marked(made_rows):
    rows = made_rows({"EM": flat(0.5), "limit": flat(0.6)})
    apart = with_halves(rows, {10: 0.0, 100: -0.1, 200: -0.01, 1000: 0.0}, dict.fromkeys(SIZES, 0.0))
    ax = plot_curves(apart)
    (circles,) = [line for line in ax.lines if line.get_marker() == "o" and line.get_linestyle() == "None"]
    assert circles.get_xdata().tolist() == [100]
    agreeing = with_halves(rows, dict.fromkeys(SIZES, 0.0), dict.fromkeys(SIZES, 0.0))
    assert not [line for line in plot_curves(agreeing).lines if line.get_linestyle() == "None"]


def test_figures_show_losses_and_say_what_circles_are(made_rows, tmp_path):
    rows = made_rows({"EM": {10: 0.5, 100: 0.6}, "limit": {10: 0.6, 100: 0.8}})
    apart = with_halves(rows, {10: 0.0, 100: -0.1}, {10: 0.0, 100: 0.0})
    other = apart.assign(world="other", n=np.nan, k=np.nan, b=np.nan)
    names = {path.name for path in write_figures(pd.concat([apart, other]), tmp_path)}
    assert {"losses.png", "losses.csv", "fig1.svg"} <= names
    assert "chains disagree" in (tmp_path / "fig1.svg").read_text(encoding="utf-8")
    assert len(pd.read_csv(tmp_path / "losses.csv")) == 4


def findings(made_rows, means):
    """Claims on the limit, on rows of the six families and of worlds that are no mixtures."""
    parts = []
    for seed, world in enumerate((*SIX, *WRONG)):
        own = means(world)
        learners = own if world in SIX else {name: mean for name, mean in own.items() if name != "limit"}
        drawn = {name: mean if isinstance(mean, dict) else flat(mean) for name, mean in learners.items()}
        parts.append(made_rows(drawn, world=world, seed=seed, trials=500, spread=0.05))
    return {one.id: one for one in check_claims(pd.concat(parts, ignore_index=True))}


def as_expected(world):
    """T of the learners where all three claims hold."""
    few = world.split(", ")[1] == "2"
    averaged, winnow = (0.85, 0.7) if world in SIX else (0.6, 0.9)
    return {"limit": 0.86, "BayesianMixture": averaged, "Winnow": winnow, "EM": 0.8 if few else 0.4}


def test_claims_about_the_limit_hold_where_they_should(made_rows):
    found = findings(made_rows, as_expected)
    assert {found[name].verdict for name in ("L1", "L2", "L3")} == {"reproduced"}
    assert len(found["L1"].evidence) == 18
    assert len(found["L2"].evidence) == 12


@pytest.mark.parametrize(
    ("claim", "wrong"),
    [
        ("L1", {"Winnow": 0.97}),
        ("L2", {"BayesianMixture": {10: 0.85, 100: 0.85, 200: 0.7, 1000: 0.85}}),
        ("L3", {"EM": 0.8}),
        ("L3", {"Winnow": 0.3}),
    ],
)
def test_claims_about_the_limit_fail_where_they_should(made_rows, claim, wrong):
    found = findings(made_rows, lambda world: {**as_expected(world), **wrong})
    assert found[claim].verdict == "not reproduced"


def test_levels_of_other_claims_are_as_they_were():
    from ciabench.findings.claims import CLAIMS
    from ciabench.findings.tester import error_rate

    assert [error_rate(name, CLAIMS) for name in ("C1", "B1", "L1")] == [0.05 / 12, 0.05 / 4, 0.05 / 3]


def test_the_shipped_limit_is_that_of_the_papers_trials():
    paper = reference("paper")
    limit = limit_of(paper[paper["trial"] < 5])
    assert set(limit["learner"]) == {"limit"}
    assert set(limit["trial"]) == set(range(5))
    assert set(limit["world"]) == set(SIX)
    assert limit["size"].max() == 1000
    keys = ["world", "trial"]
    both = limit.merge(paper[[*keys, "best", "constant"]].drop_duplicates(keys), on=keys)
    np.testing.assert_allclose(both["best_x"], both["best_y"], atol=1e-9)
    assert limit[["limit_random", "limit_truth", "limit_unweighted"]].notna().all(axis=None)
