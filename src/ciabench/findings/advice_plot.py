"""The picture of an advice: accuracies against training rows, and what each learner is behind the best one."""

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ciabench.findings.looks import dress, make_readable, mark_sizes, scheme_of, shade, style

if TYPE_CHECKING:
    from ciabench.findings.advice import Advice

SIZE = (10.0, 4.0)


def advice_figure(advice: "Advice") -> Figure:
    """Figure of two panels."""
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=SIZE)
    draw_curves(advice, left)
    draw_behind(advice, right)
    make_readable(figure)
    return figure


def draw_curves(advice: "Advice", ax: Axes) -> None:
    """Accuracies against training rows; those who represent the ways have colours, and intervals of the forecast."""
    scores, scheme = advice.scores, scheme_of(ax)
    named = list(dict.fromkeys([*advice.lead.representatives.values(), advice.best]))
    sizes = scores.sizes
    for name in sorted(scores.learners, key=named.__contains__):
        accuracy = 100 * (1 - scores.errors(name).mean(axis=0))
        if name not in named:
            ax.plot(sizes, accuracy, color=shade(scheme, 25), linewidth=0.9, zorder=1)
            continue
        look = style(name, scores.learners, scheme)
        ax.plot(sizes, accuracy, **look, markersize=4.5, label=name, zorder=3)
        if advice.forecast is not None:
            own = advice.forecast[advice.forecast["learner"] == name]
            place = own["rows"] * 1.05 ** named.index(name)  # beside each other
            middle, low, high = (100 * own[column] for column in ("accuracy", "low", "high"))
            ends = np.array([middle - low, high - middle])
            ax.errorbar(place, middle, ends, fmt="none", ecolor=look["color"], capsize=3, linewidth=1.4, zorder=2)
            ax.plot([sizes[-1], *place], [accuracy[-1], *middle], color=look["color"], linewidth=0.8, alpha=0.5)
            ax.plot(place, middle, color=look["color"], marker=look["marker"], markerfacecolor="none", linestyle="none")
    ax.axhline(100 * scores.at_full_size["constant"].mean(), color=shade(scheme, 50), linestyle="--", linewidth=0.8,
               label="most common answer", zorder=0)  # fmt: skip
    forecast = [] if advice.forecast is None else [*advice.forecast["rows"].unique()]
    mark_sizes(ax, [sizes[0], sizes[-1], *forecast])
    ax.set(xlabel="training rows", ylabel="accuracy, %", title="More rows (open: forecast, 80% interval)")
    ax.legend(loc="best")
    dress(ax)


def draw_behind(advice: "Advice", ax: Axes) -> None:
    """What each learner is behind the best one, in points, with 95% intervals; the margin is a band."""
    scheme, table = scheme_of(ax), advice.table
    for place, (name, row) in enumerate(table.iterrows()):
        color = style(str(name), advice.scores.learners, scheme)["color"]
        if advice.has_intervals and name != advice.best:
            ax.plot([-100 * row["high"], -100 * row["low"]], [place, place], color=color, linewidth=1.6)
        ax.plot(-100 * row["behind"], place, "o", color=color, markersize=5)
    ax.axvspan(-100 * advice.margin, 100 * advice.margin, color=shade(scheme, 10), zorder=0, linewidth=0)
    ax.axvline(0, color=shade(scheme, 60), linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(table)), list(table.index))
    ax.invert_yaxis()
    ax.set(xlabel="points of accuracy, 95% interval (grey: the margin)", title=f"All learners less {advice.best}")
    dress(ax)
