"""Figure of the departures: leads and T against the distance from the binary model, and T against sample size."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter

from ciabench.errors import StoreError
from ciabench.findings.curves import learning_curves
from ciabench.findings.departures import (
    MODEL,
    Crossing,
    crossing,
    departures_of,
    kind_of,
    leads_by_departure,
    measured,
)
from ciabench.findings.looks import (
    COLORS,
    KNOWN,
    box,
    dress,
    in_order,
    make_readable,
    mark_sizes,
    plain,
    scheme_of,
    shade,
    style,
)
from ciabench.findings.panels import CEILING, FLOOR, T_LABEL
from ciabench.findings.points import DEPARTURE
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.view import STATED, WORLD

GROUPS = 8
"""Groups of equally many models, by departure, whose means are drawn."""

TICKS, FEW_TICKS = (0, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10), (0, 0.1, 0.5, 1, 2, 5, 10)
KIND_COLORS, KIND_MARKERS = COLORS[len(KNOWN) :], ("s", "D", "P", "X", "p", "*")
"""Colours that no known learner has, and markers that EM, Winnow and NaiveBayes do not have."""

LOWEST_LEAD, HIGHEST_LEAD = -1.05, 0.75
"""Leads of single models beyond these are drawn at the edge."""

LINE_OF_LANE = 0.12
"""Height of a kind's line in the lane below, which shows where its lead is lost."""

PROJECTION = STATED[DEPARTURE]
IN_WORDS = {
    PROJECTION: "projection: EM's plateau",
    "CIA": "CIA: more hidden values",
    "Tree": "Tree: attributes depend on each other",
    "TwoHidden": "TwoHidden: two hidden variables",
    "Threshold": "Threshold: home ground of rules",
}
"""Titles of panels."""


def plot_departures(
    rows: pd.DataFrame, ax: Axes | None = None, *, first: str = "EM", second: str = "Winnow", size: int | None = None
) -> Axes:
    """Plot the lead of one learner over another against the departure from the binary model, by kind of world.

    Small points are models; large ones are means of groups of models with their standard errors. Bars in the grey lane
    are 95% intervals of the departure at which a kind's lead is lost.

    Parameters
    ----------
    rows : DataFrame
        Results of worlds with the reference "projection", as `learning_curve` or a store gives them.
    ax : Axes, optional
        Where to draw (default: a new figure).
    first : str
        Name of a learner.
    second : str
        Name of the learner to compare it with.
    size : int, optional
        Number of training examples (default: the largest).

    Returns
    -------
    Axes

    Examples
    --------
    >>> from ciabench import EM, TwoHiddenFamily, Winnow, learning_curve
    >>> rows = learning_curve(
    ...     TwoHiddenFamily(n=8, b=0.8), [EM(), Winnow()], sizes=[200], trials=20, random_state=0,
    ...     references=["projection"],
    ... )
    >>> plot_departures(rows).get_ylabel()
    'T of EM − T of Winnow'
    """
    rows = read(rows).rows
    if size is None:
        own = measured(rows)
        size = int((rows if own.empty else own)["size"].max())
    leads = leads_by_departure(rows, first, second, size)
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    kinds, floor = list(leads["kind"].unique()), LOWEST_LEAD - 0.05
    for kind, of_kind in leads.groupby("kind", sort=False):
        look = _look(str(kind), kinds)
        shown = of_kind["lead"].clip(LOWEST_LEAD, HIGHEST_LEAD)
        ax.plot(of_kind[DEPARTURE], shown, ".", color=look["color"], markersize=2.5, alpha=0.35, zorder=1)
        _draw_groups(ax, of_kind[DEPARTURE], of_kind["lead"], str(kind), look)
        _draw_crossing(ax, crossing(of_kind), floor - LINE_OF_LANE * (kinds.index(str(kind)) + 0.5), look)
    _dress(ax, TICKS)
    ax.set_ylabel(plain(f"T of {first} − T of {second}"))
    ax.axhline(0, color=shade(scheme_of(ax), 35), linewidth=0.8, zorder=0)
    bottom = floor - LINE_OF_LANE * len(kinds)
    ax.axhspan(bottom, floor, color=shade(scheme_of(ax), 9), linewidth=0, zorder=0)
    ax.set_ylim(bottom, HIGHEST_LEAD + 0.05)
    ax.set_yticks([(bottom + floor) / 2, -1, -0.5, 0, 0.5], ["lost at", "−1", "−0.5", "0", "0.5"])
    ax.set_title(plain(f"Lead of {first} over {second} with {size:,} training examples, and where it is lost"))
    ax.legend(loc="upper right", **box(ax))
    make_readable(ax)
    return ax


def departures_figure(rows: pd.DataFrame) -> Figure:
    """Draw the leads, T of every learner against the departure, and T against sample size for every kind of world."""
    rows = measured(rows)
    if rows.empty:
        raise StoreError('no departures are known; ask for them with references = ["projection"].')
    learners, kinds = in_order(rows["learner"]), list(dict.fromkeys(map(kind_of, rows[WORLD])))
    width = max(len(learners), len(kinds), 2)
    figure = plt.figure(figsize=(3.2 * width, 10.5), layout="constrained")
    grid = figure.add_gridspec(3, width, height_ratios=[1.4, 1, 1])
    plot_departures(rows, figure.add_subplot(grid[0, :]))
    for place, learner in enumerate(learners):
        _draw_learner(figure.add_subplot(grid[1, place]), rows, learner, kinds)
    _share_t(figure.axes[1:])
    for place, kind in enumerate(kinds):
        _draw_kind(figure.add_subplot(grid[2, place]), rows, kind, learners)
    by_size = figure.axes[1 + len(learners) :]
    _share_t(by_size)
    by_size[0].legend(loc="lower right", fontsize="small", **box(by_size[0]))
    make_readable(figure)
    return figure


def departure_table(rows: pd.DataFrame) -> pd.DataFrame:
    """T of every learner by model, at the largest size, with the model's departure: what the figure shows."""
    rows = measured(rows)
    chosen = rows[rows["size"] == rows["size"].max()]
    wide = chosen.pivot(index=MODEL, columns="learner", values="t")
    return departures_of(rows).to_frame().join(wide, how="inner").reset_index()


def _look(kind: str, kinds: Sequence[str]) -> dict[str, Any]:
    """Colour and marker of a kind of world."""
    place = list(kinds).index(kind)
    return {"color": KIND_COLORS[place % len(KIND_COLORS)], "marker": KIND_MARKERS[place % len(KIND_MARKERS)]}


def _draw_groups(ax: Axes, x: "pd.Series[float]", y: "pd.Series[float]", label: str, look: dict[str, Any]) -> None:
    """Draw means of groups of models, of equally many models each, joined by a line."""
    ranks = x.rank(method="first")
    group = np.minimum((ranks - 1) * GROUPS // len(x), GROUPS - 1)
    means, errors = x.groupby(group).mean(), y.groupby(group).sem().fillna(0)
    shown = y.groupby(group).mean()
    ax.errorbar(means, shown, errors, label=plain(label), capsize=2, markersize=6, linewidth=1.4, zorder=3, **look)


def _draw_crossing(ax: Axes, found: Crossing, height: float, look: dict[str, Any]) -> None:
    """Draw a crossing point with its interval, if there is one."""
    if np.isfinite(found.log_error):
        ends = [[found.nats - found.low], [found.high - found.nats]]
        ax.errorbar([found.nats], [height], xerr=ends, capsize=3, markersize=5, linewidth=2, zorder=3, **look)


def _draw_learner(ax: Axes, rows: pd.DataFrame, learner: str, kinds: Sequence[str]) -> None:
    """Draw T of one learner at the largest size against the departure, a line per kind."""
    own = departure_table(rows)[[WORLD, DEPARTURE, learner]].dropna()
    by_kind = own.groupby(own[WORLD].map(kind_of), sort=False)
    for kind, group in by_kind:
        _draw_groups(ax, group[DEPARTURE], group[learner], str(kind), _look(str(kind), kinds))
    _dress(ax, FEW_TICKS)
    ax.set_title(plain(IN_WORDS.get(learner, learner)), fontsize="medium")


def _draw_kind(ax: Axes, rows: pd.DataFrame, kind: str, learners: Sequence[str]) -> None:
    """Draw T of every learner against sample size, averaged over all worlds of one kind; EM's plateau is dashed."""
    own = rows[rows[WORLD].map(kind_of) == kind]
    curves = learning_curves(own.assign(**{WORLD: kind}))
    for learner in in_order(curves["learner"]):
        curve = curves[curves["learner"] == learner]
        if learner == PROJECTION:
            color = shade(scheme_of(ax), 70)
            ax.axhline(float(curve["t"].mean()), color=color, linestyle="--", linewidth=1, label="EM's plateau")
            continue
        look = style(learner, learners, scheme_of(ax))
        ax.errorbar(curve["size"], curve["t"], curve["t_sem"], label=plain(learner), capsize=2, markersize=5, **look)
    mark_sizes(ax, curves["size"].unique().tolist())
    ax.set_xlabel("training examples")
    dress(ax).set_title(plain(IN_WORDS.get(kind, kind)), fontsize="medium")


def _dress(ax: Axes, ticks: Sequence[float]) -> None:
    """Set up the axis of departures: by square roots, which show 0 and keep small ones apart."""
    largest = ax.dataLim.xmax
    ax.set_xscale("function", functions=(lambda nats: np.sqrt(np.maximum(nats, 0)), np.square))
    ax.set_xlim(0, 1.05 * largest if largest > 0 else 1)
    ax.xaxis.set_major_locator(FixedLocator([tick for tick in ticks if tick <= 1.05 * largest] or [0, 1]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda nats, _: f"{nats:g}"))
    dress(ax).set_xlabel("departure (nats)")


def _share_t(axes: Sequence[Axes]) -> None:
    """Give panels in a line the same axis of T, named on the first one."""
    lowest = min(ax.dataLim.ymin for ax in axes)
    for ax in axes:
        for level in (0, 1):
            ax.axhline(level, color=shade(scheme_of(ax), 35), linewidth=0.8, zorder=0)
        ax.set_ylim(max(FLOOR, min(0, lowest)) - 0.04, CEILING)
        ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
        ax.tick_params(labelleft=ax is axes[0])
    axes[0].set_ylabel(T_LABEL)
