import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib import font_manager
from matplotlib.colors import to_rgb

from ciabench.errors import ParameterError, StoreError
from ciabench.findings import figures, looks
from ciabench.findings.curves import learning_curves, worlds_of
from ciabench.findings.figures import arrangements, overview, write_figures
from ciabench.findings.looks import COLORS, SCHEMES, contrast, learner_colors, make_readable, style
from ciabench.findings.panels import FLOOR, plot_curves
from ciabench.findings.pictures import plot_difference

LEARNERS = {"EM": {10: -0.9, 100: 0.5, 1000: 0.9}, "Winnow": {10: -0.2, 100: 0.4, 1000: 0.7}}
PAPER = [(n, k, 0.9) for n in (10, 75) for k in (2, 3, 5)]
CHINESE = "我的分类器"


@pytest.fixture
def only_png(monkeypatch):
    """Figures are written in one format, which is faster."""
    monkeypatch.setattr(figures, "FORMATS", ("png",))
    monkeypatch.setattr(figures, "DPI", 50)


def rows_of_worlds(made_rows, worlds, **options):
    """Rows of some worlds, each a family or a name."""
    given = [{"family": one} if isinstance(one, tuple) else {"world": one} for one in worlds]
    return pd.concat([made_rows(LEARNERS, trials=3, **one, **options) for one in given], ignore_index=True)


def titles(figure):
    return [ax.get_title() for ax in figure.axes if ax.axison]


def written_worlds(folder, count):
    return [pd.read_csv(folder / f"fig{number}.csv")["world"].iloc[0] for number in range(1, count + 1)]


def names_of(figure):
    """Names of the worlds of all panels, under their titles."""
    return [ax.texts[0].get_text().removesuffix(", difficulty 0.9") for ax in figure.axes if ax.axison]


def marks_in_lane(ax):
    return [line for line in ax.lines if line.get_linestyle() == "None" and not line.get_clip_on()]


def test_curves_show_means_errors_and_a_legend(made_rows):
    rows = made_rows(LEARNERS)
    ax = plot_curves(rows)
    assert (ax.get_title(), ax.texts[0].get_text()) == (
        "10 attributes, 2 hidden values",
        "CIA(10, 2, 0.9), difficulty 0.9",
    )
    assert ax.get_ylabel() == "T: share of learnable accuracy"
    drawn = {container.get_label(): container.lines[0].get_ydata() for container in ax.containers}
    np.testing.assert_allclose(drawn["EM"], rows.groupby(["learner", "size"])["t"].mean()["EM"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["EM", "Winnow"]
    assert plot_curves(made_rows({"EM": {10: 0.0, 100: 0.5}})).get_ylim()[0] == FLOOR


def test_marks_below_the_axis_neither_hide_each_other_nor_change_their_learners_look(made_rows):
    low = {10: -0.9, 20: -0.8, 100: 0.5}
    ax = plot_curves(made_rows({"EM": low, "COV": low, "Winnow": low, "Perceptron": {10: 0.0, 100: 0.5}}))
    ax.figure.canvas.draw()
    lines = marks_in_lane(ax)
    looks_of = [style(name, [], SCHEMES["light"]) for name in ("EM", "COV", "Winnow")]
    assert {(to_rgb(line.get_color()), line.get_marker()) for line in lines} == {
        (to_rgb(look["color"]), look["marker"]) for look in looks_of
    }
    places = np.vstack([ax.transData.transform(line.get_xydata()) for line in lines])
    assert len(places) == 6
    gaps = [np.abs(one - other).max() for number, one in enumerate(places) for other in places[:number]]
    assert min(gaps) > 4 * ax.figure.dpi / 72  # the width of a mark
    assert ax.get_ylim()[0] < min(line.get_ydata()[0] for line in lines) < FLOOR
    assert "< −0.5" in [label.get_text() for label in ax.get_yticklabels()]


def test_what_is_below_the_floor_is_marked_in_the_lane_only(made_rows):
    ax = plot_curves(made_rows({"EM": {10: FLOOR - 0.01, 100: 0.2}}))
    (curve,) = ax.containers
    assert curve.lines[0].get_markevery() == [1]
    assert [len(line.get_xdata()) for line in marks_in_lane(ax)] == [1]


def test_curves_do_not_enter_the_lane(made_rows):
    ax = plot_curves(made_rows(LEARNERS))
    ax.figure.canvas.draw()
    (floor,) = {round(child.get_clip_box().y0) for one in ax.containers for child in one.get_children()}
    assert floor == round(ax.transData.transform((10, FLOOR))[1])


def test_a_reference_is_a_quiet_line_with_a_band(made_rows):
    ax = plot_curves(made_rows({**LEARNERS, "limit": {10: 0.2, 100: 0.7, 1000: 1.0}}))
    assert [container.get_label() for container in ax.containers] == ["EM", "Winnow"]
    (line,) = [line for line in ax.lines if line.get_label() == "limit"]
    red, green, blue = to_rgb(line.get_color())
    assert max(red, green, blue) - min(red, green, blue) < 0.05
    assert line.get_marker() in ("", "None")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["EM", "Winnow", "limit"]


def test_a_learner_looks_the_same_in_every_figure(made_rows):
    assert learner_colors(["EM", "Winnow"])["Winnow"] == learner_colors(["Winnow", "my own", "COV"])["Winnow"]
    rows = pd.concat([
        made_rows({"a": {10: 0.1}, "b": {10: 0.2}}, world="one"),
        made_rows({"b": {10: 0.2}}, world="two"),
    ])  # fmt: skip
    figure = overview(learning_curves(rows), arrangements(worlds_of(rows))[0])
    colors = [
        {line.get_label(): line.lines[0].get_color() for line in ax.containers}["b"] for ax in figure.axes if ax.axison
    ]
    assert colors[0] == colors[1] == learner_colors(["a", "b"])["b"]


@pytest.mark.parametrize("user_style", ["default", "dark_background", "ggplot"])
def test_learners_can_be_seen_in_the_style_of_the_user(made_rows, user_style):
    with plt.style.context(user_style):
        ax = plot_curves(made_rows({**LEARNERS, "mine": {10: 0.2, 100: 0.3}, "yours": {10: 0.3, 100: 0.3}}))
        paper = looks.scheme_of(ax).paper
        for container in ax.containers:
            assert contrast(container.lines[0].get_color(), paper) >= 3


def test_many_learners_can_be_told_apart():
    names = [f"learner {number:02}" for number in range(40)]
    seen = {tuple(map(str, style(name, names, SCHEMES["light"]).values())) for name in [*names, *looks.KNOWN]}
    assert len(seen) == 46


def test_eight_learners_have_colours_of_their_own():
    assert len(set(learner_colors([*looks.KNOWN, "mine", "yours"]).values())) == 8


def test_first_colors_are_distinct_in_grey():
    grey = [np.dot(to_rgb(color), [0.2126, 0.7152, 0.0722]) for color in COLORS[:3]]
    assert min(abs(a - b) for i, a in enumerate(grey) for b in grey[:i]) > 0.02


def test_rows_of_several_worlds_are_refused_by_name(made_rows):
    rows = rows_of_worlds(made_rows, ["coins", (10, 2, 0.9)])
    with pytest.raises(ParameterError, match=r"one world, and the rows hold 2: coins, CIA\(10, 2, 0\.9\)"):
        plot_curves(rows)
    with pytest.raises(ParameterError, match="one world, and there are no rows"):
        plot_curves(rows.iloc[:0])


def test_families_that_differ_in_headroom_alone_stay_apart(made_rows, tmp_path, only_png):
    strict = "CIA(10, 2, 0.9, min_headroom=0.05)"
    other = made_rows(LEARNERS, trials=3, seed=1).assign(world=strict, min_headroom=0.05)
    rows = pd.concat([made_rows(LEARNERS, trials=3), other], ignore_index=True)
    assert names_of(overview(learning_curves(rows), arrangements(worlds_of(rows))[0])) == ["CIA(10, 2, 0.9)", strict]
    write_figures(rows, tmp_path)
    assert written_worlds(tmp_path, 2) == ["CIA(10, 2, 0.9)", strict]
    found = plot_difference(rows, "EM", "Winnow").get_legend().get_texts()
    assert [text.get_text() for text in found] == ["CIA(10, 2, 0.9)", strict]


def test_the_papers_worlds_have_its_layout_and_numbers(made_rows, tmp_path, only_png):
    rows = rows_of_worlds(made_rows, PAPER[::-1])
    (grid,) = arrangements(worlds_of(rows))
    assert grid == [[f"CIA({n}, {k}, 0.9)" for k in (2, 3, 5)] for n in (10, 75)]
    write_figures(rows, tmp_path)
    assert written_worlds(tmp_path, 6) == [f"CIA({n}, {k}, 0.9)" for k in (2, 3, 5) for n in (10, 75)]
    assert {"n", "k", "b", "min_headroom"} < set(pd.read_csv(tmp_path / "overview.csv"))


def test_other_worlds_come_in_their_order(made_rows, tmp_path, only_png):
    rows = rows_of_worlds(made_rows, ["zebra", "apple", "$mango$", "fig", "pear"])
    (grid,) = arrangements(worlds_of(rows))
    assert grid == [["zebra", "apple", "$mango$"], ["fig", "pear", None]]
    assert titles(overview(learning_curves(rows), grid))[2] == r"\$mango\$"
    write_figures(rows, tmp_path)
    assert written_worlds(tmp_path, 5) == ["zebra", "apple", "$mango$", "fig", "pear"]
    assert (tmp_path / "overview.png").exists()


def test_mixed_experiments_have_both_overviews(made_rows, tmp_path, only_png):
    rows = rows_of_worlds(made_rows, ["coins", (75, 2, 0.9), (10, 3, 0.9)])
    names = {path.name for path in write_figures(rows, tmp_path)}
    assert {"overview.png", "overview-others.png", "fig3.png"} < names
    assert written_worlds(tmp_path, 3) == ["CIA(75, 2, 0.9)", "CIA(10, 3, 0.9)", "coins"]
    assert set(pd.read_csv(tmp_path / "overview-others.csv")["world"]) == {"coins"}


@pytest.mark.soak
def test_figures_are_the_same_again(made_rows, tmp_path):
    rows = rows_of_worlds(made_rows, [(10, 3, 0.9)])
    first, second = write_figures(rows, tmp_path / "a"), write_figures(rows, tmp_path / "b")
    assert {path.name for path in first} == {
        f"{stem}.{form}" for stem in ("fig1", "overview") for form in ("png", "svg", "pdf", "csv")
    }
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    with pytest.raises(StoreError, match="nothing to draw"):
        write_figures(rows.iloc[:0], tmp_path)


@pytest.mark.skipif(
    looks.LAST_RESORT not in font_manager.get_font_names(),
    reason="matplotlib before 3.11 has no font of last resort, and warns of characters that no font has",
)
def test_names_in_any_script_are_drawn_without_warnings(made_rows, tmp_path):
    rows = made_rows({CHINESE: {10: 0.1, 100: 0.5}, "EM ✓ 😀": {10: 0.1, 100: 0.4}}, trials=3, world="世界 एक")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_curves(rows).figure.canvas.draw()
        plot_difference(rows, CHINESE, "EM ✓ 😀").figure.canvas.draw()
        write_figures(rows, tmp_path)


def test_an_installed_font_that_has_the_characters_is_preferred(monkeypatch):
    looks._fonts_with.cache_clear()
    monkeypatch.setattr(looks, "_upright_fonts", lambda: iter([("Poor Sans", "poor"), ("Rich Sans", "rich")]))
    monkeypatch.setattr(looks, "_covered", lambda path, missing: missing if path == "rich" else frozenset())
    text = plt.figure().text(0, 0, CHINESE)
    monkeypatch.setattr(font_manager, "findfont", lambda properties: "poor")
    make_readable(text.figure)
    looks._fonts_with.cache_clear()
    assert text.get_fontfamily() == ["sans-serif", "Rich Sans"]
