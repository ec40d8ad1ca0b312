import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgb
from sklearn.exceptions import NotFittedError

import ciabench
from ciabench import (
    EM,
    CIAFamily,
    CIAModel,
    NaiveBayes,
    Scorer,
    learner_colors,
    plot_chains,
    plot_difference,
    plot_model,
    plot_profiles,
    plot_restarts,
)
from ciabench.errors import ParameterError, StoreError
from ciabench.findings.curves import paired_differences
from ciabench.findings.looks import contrast

LEARNERS = {"EM": {10: 0.1, 100: 0.6}, "Winnow": {10: 0.2, 100: 0.4}}


@pytest.fixture(scope="module")
def em():
    X, y = CIAFamily(n=10, k=3, b=0.9).draw(0).sample(60, 1)
    return EM(n_init=8, random_state=0).fit(X, y)


def test_pictures_are_public():
    names = {"plot_curves", "plot_difference", "plot_model", "plot_pairs", "plot_restarts", "learner_colors"}
    assert names <= set(dir(ciabench))


def test_difference_has_a_line_per_world_in_their_order(made_rows):
    rows = pd.concat([made_rows(LEARNERS, world="$zebra$"), made_rows(LEARNERS)], ignore_index=True)
    ax = plot_difference(rows, "EM", "Winnow")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [r"\$zebra\$", "10 attributes, 2 hidden values"]
    found = paired_differences(rows, "EM", "Winnow")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), found[found["world"] == "$zebra$"]["difference"])
    with pytest.raises(StoreError, match="no rows of a learner called 'COV'"):
        plot_difference(rows, "EM", "COV")


@pytest.mark.parametrize(("n", "k"), [(10, 3), (75, 5), (1, 2)])
def test_model_shows_every_probability(n, k):
    rng = np.random.default_rng(n)
    model = CIAModel(rng.dirichlet(np.ones(k)), rng.random((n + 1, k)))
    ax = plot_model(model)
    drawn = np.column_stack([line.get_ydata() for line in ax.lines[:k]])
    np.testing.assert_array_equal(drawn, model.probs)
    assert ax.get_title() == f"difficulty {model.difficulty():.3f}, headroom {Scorer(model, rng=0).headroom:.3f}"


def test_restarts_end_at_their_likelihoods(em):
    ax = plot_restarts(em)
    ends = sorted(float(line.get_ydata()[-1]) for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_allclose(ends, np.sort(em.log_likelihoods_))
    assert ax.get_title().startswith(f"{em.n_best_reproduced_} of 8 restarts reach the best")
    with pytest.raises(NotFittedError):
        plot_restarts(EM())


@pytest.mark.parametrize(
    ("plot", "value", "expected"),
    [
        (plot_model, CIAFamily(10, 2, 0.9), "CIAModel; got CIAFamily"),
        (plot_restarts, NaiveBayes(), "EM or LatentClass or BeliefNetwork; got NaiveBayes"),
        (plot_chains, EM(), "BayesianMixture; got EM"),
        (plot_profiles, EM(), "LatentClass; got EM"),
    ],
)
def test_a_picture_of_something_else_is_refused(plot, value, expected):
    with pytest.raises(ParameterError, match=f"this picture needs a fitted or drawn {expected}"):
        plot(value)


def test_pictures_go_onto_given_axes_in_the_style_of_the_user(em, made_rows):
    model = CIAModel([0.5, 0.5], [[0.9, 0.1], [0.8, 0.2]])
    with plt.style.context("dark_background"):
        _, axes = plt.subplots(1, 3)
        assert plot_difference(made_rows(LEARNERS), "EM", "Winnow", axes[0]) is axes[0]
        assert plot_model(model, axes[1]) is axes[1]
        assert plot_restarts(em, axes[2]) is axes[2]
    assert len(plt.get_fignums()) == 1
    for line in (*axes[0].lines[:1], *axes[1].lines[:2], *axes[2].lines):
        assert contrast(to_hex(line.get_color()), "#000000") >= 2.5


def test_only_learners_have_colours(em, made_rows):
    worlds = [made_rows(LEARNERS, world=name) for name in ("one", "two", "three")]
    ax = plot_difference(pd.concat(worlds, ignore_index=True), "EM", "Winnow")
    for line in ax.lines:
        assert np.ptp(to_rgb(line.get_color())) < 0.05
    assert len({line.get_color() for line in ax.lines[:3]}) == 3
    colors = learner_colors(["EM", "Winnow"])
    assert {text.get_text(): text.get_color() for text in ax.texts} == {
        "↑ EM ahead": colors["EM"],
        "↓ Winnow ahead": colors["Winnow"],
    }
    assert colors["EM"] in {line.get_color() for line in plot_restarts(em).lines}
