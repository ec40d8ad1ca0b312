import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from ciabench.findings.curves import learning_curves
from ciabench.findings.figures import COLORS, FLOOR, overview, plot_curves, style, write_figures

LEARNERS = {"EM": {10: -0.9, 100: 0.5, 1000: 0.9}, "Winnow": {10: -0.2, 100: 0.4, 1000: 0.7}}


def test_curves_show_means_errors_and_what_is_cut(made_rows):
    rows = made_rows(LEARNERS)
    ax = plot_curves(rows)
    assert [text.get_text() for text in [ax.title]] == ["CIA(10, 2, 0.9)"]
    drawn = {container.get_label(): container.lines[0].get_ydata() for container in ax.containers}
    means = rows.groupby(["learner", "size"])["t"].mean()
    np.testing.assert_allclose(drawn["EM"], means["EM"])
    arrows = [line for line in ax.lines if line.get_marker() == 7 and len(line.get_xdata())]
    assert len(arrows) == 1
    assert arrows[0].get_xdata().tolist() == [10]
    assert ax.get_ylim()[0] == FLOOR


def test_a_learner_looks_the_same_in_every_figure():
    assert style("Winnow", ["EM", "Winnow"]) == style("Winnow", ["Winnow", "my own", "COV"])
    looks = [style(name, ["EM", "COV", "Winnow", "mine"]) for name in ("EM", "COV", "Winnow", "mine")]
    assert len({(look["color"], look["marker"]) for look in looks}) == 4


def test_first_colors_are_distinct_in_grey():
    grey = [np.dot(to_rgb(color), [0.2126, 0.7152, 0.0722]) for color in COLORS[:3]]
    assert min(abs(a - b) for i, a in enumerate(grey) for b in grey[:i]) > 0.02


def test_several_families_need_the_overview(made_rows):
    rows = pd.concat([made_rows(LEARNERS), made_rows(LEARNERS, family=(75, 3, 0.9))])
    with pytest.raises(ValueError, match="draws one family; rows hold 2"):
        plot_curves(rows)
    figure = overview(learning_curves(rows))
    assert sorted(ax.get_title() for ax in figure.axes if ax.axison) == ["CIA(10, 2, 0.9)", "CIA(75, 3, 0.9)"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["EM", "Winnow"]


def test_figures_are_written_in_the_order_of_the_paper_and_again_the_same(made_rows, tmp_path):
    rows = pd.concat([made_rows(LEARNERS, family=family) for family in [(10, 3, 0.9), (75, 2, 0.9)]])
    first, second = write_figures(rows, tmp_path / "a"), write_figures(rows, tmp_path / "b")
    assert {path.name for path in first} == {
        f"{stem}.{form}" for stem in ("fig1", "fig2", "overview") for form in ("png", "svg", "pdf", "csv")
    }
    families = [pd.read_csv(tmp_path / "a" / f"fig{number}.csv")[["n", "k"]].iloc[0].tolist() for number in (1, 2)]
    assert families == [[75, 2], [10, 3]]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
