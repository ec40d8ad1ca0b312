"""Learning curves of one world on axes: T against sample size, with a lane for what lies below the axis."""

import textwrap
from collections.abc import Collection, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox, TransformedBbox

from ciabench.errors import ParameterError, StoreError, check_choice
from ciabench.findings import paper
from ciabench.findings.curves import learning_curves, measured_curves
from ciabench.findings.looks import (
    REFERENCES,
    box,
    dress,
    in_order,
    legend_entries,
    make_readable,
    mark_sizes,
    plain,
    scheme_of,
    shade,
    style,
)
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.view import WORLD

FLOOR, CEILING = -0.5, 1.08
"""T below the floor is marked in a lane under it, so that a poor start does not compress the rest."""

LINE_OF_LANE, MOST_LANE = 0.09, 0.45
"""Height in T of a learner's line in the lane, and the largest height of the lane."""

T_LABEL = "T: share of learnable accuracy"
UNKNOWN_BEST_LABEL = "T with S_best = 1: errors avoided"
"""Label of T where the best rule is unknown: the share of the errors of the constant rule that are avoided."""

MEASURE_LABELS = {"success": "success rate", "log_loss": "log-loss in nats", "auc": "AUC"}
MOST_INSIDE = 6
"""Largest number of learners for which the legend fits inside the axes."""

LONG_NAME, NAMED_WORLDS = 45, 5


def plot_curves(rows: pd.DataFrame, ax: Axes | None = None, *, y: str = "t") -> Axes:
    """Plot T, or another measure, against sample size for one world: mean, standard error, for T lines at 0 and 1.

    Marks in the grey lane under the axis are means of T below −0.5. The reference `limit` is a grey line with a band,
    with open circles where its chains disagree, so that it may be too low. For data, whose best rule is unknown, T is
    computed with S_best = 1, and the axis says so.

    Parameters
    ----------
    rows : DataFrame
        Results of one world, as returned by `learning_curve` or read from a store.
    ax : Axes, optional
        Where to draw (default: a new figure).
    y : {"t", "success", "log_loss", "auc"}
        What is plotted; the last two are columns that `learning_curve(…, facts=…)` adds for worlds of data.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from ciabench import CIAFamily, NaiveBayes, learning_curve
    >>> rows = learning_curve(
    ...     CIAFamily(n=10, k=2, b=0.9), {"NaiveBayes": NaiveBayes()}, sizes=[30, 300], trials=5, random_state=0
    ... )
    >>> plot_curves(rows).get_ylabel()
    'T: share of learnable accuracy'
    """
    rows = read(rows).rows
    check_choice("y", y, ("t", *MEASURE_LABELS))
    names = list(dict.fromkeys(rows[WORLD]))
    if len(names) != 1:
        shown = ", ".join(names[:NAMED_WORLDS]) + (", …" if len(names) > NAMED_WORLDS else "")
        held = f"the rows hold {len(names)}: {shown}" if names else "there are no rows"
        raise ParameterError(f'plot_curves draws one world, and {held}; select one with rows["world"] == name.')
    curves = learning_curves(rows)
    if ax is None:
        _, ax = plt.subplots(figsize=alone_size(curves), layout="constrained")
    if y == "t":
        draw_alone(curves, rows["learner"].unique(), ax)
    else:
        draw_measure(rows, y, ax)
    return ax


def alone_size(curves: pd.DataFrame) -> tuple[float, float]:
    """Size in inches of a figure of one world: wider if its legend stands beside the axes."""
    return 7.4 if _is_long(curves) else 5.6, 4.0


def _is_long(curves: pd.DataFrame) -> bool:
    return curves["learner"].nunique() > MOST_INSIDE


def draw_alone(curves: pd.DataFrame, learners: Collection[str], ax: Axes) -> None:
    """Draw the `learning_curves` of one world with a legend, beside the axes if it is long."""
    draw_panel(curves, learners, below_floor(curves), ax)
    bottom = ax.get_ylim()[0]
    _add_legend(ax, _is_long(curves), (FLOOR - bottom) / (CEILING - bottom))


def _add_legend(ax: Axes, is_long: bool, lane: float) -> None:
    """Add a legend, beside the axes if it is long, otherwise above the lane."""
    handles, names = legend_entries([ax])
    if is_long:
        ax.legend(handles, names, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    else:
        ax.legend(handles, names, loc="best", bbox_to_anchor=(0, lane, 1, 1 - lane), **box(ax))
    make_readable(ax)


def draw_measure(rows: pd.DataFrame, y: str, ax: Axes) -> pd.DataFrame:
    """Draw another measure than T of one world, and return what is drawn; learners without it are not drawn."""
    curves, learners = measured_curves(rows, y), rows["learner"].unique()
    if curves.empty:
        raise StoreError(f"there is no {y} in these rows; only held-out data and learners with predict_proba have it.")
    for learner in in_order(curves["learner"]):
        curve = curves[curves["learner"] == learner]
        look = style(learner, learners, scheme_of(ax))
        ax.errorbar(
            curve["size"], curve[y], curve[f"{y}_sem"], label=plain(learner), markersize=4.5, linewidth=1.4, **look
        )
    if y == "success":
        ax.axhline(rows["constant"].mean(), color=shade(scheme_of(ax), 60), linestyle=":", label="constant rule")
    ax.set(xlabel="training examples", ylabel=MEASURE_LABELS[y])
    mark_sizes(ax, sorted(curves["size"].unique()))
    put_title(dress(ax), curves[WORLD].iloc[0])
    _add_legend(ax, _is_long(curves), 0)
    return curves


def t_label(curves: pd.DataFrame) -> str:
    """Label of T: another one if the best rules are unknown, that is, if S_best = 1 in all worlds."""
    is_unknown = np.isclose(curves["constant"] + curves["headroom"], 1, rtol=0, atol=1e-12).all()
    return UNKNOWN_BEST_LABEL if is_unknown else T_LABEL


def below_floor(curves: pd.DataFrame) -> list[str]:
    """Learners with a mean below the floor: each has a line of its own in the lane."""
    return in_order(set(curves[curves["t"] < FLOOR]["learner"]) - set(REFERENCES))


def draw_panel(curves: pd.DataFrame, learners: Collection[str], lane: Sequence[str], ax: Axes) -> None:
    """Draw the curves of one world; `learners` are all of the figure, `lane` those that it has a lane for."""
    scheme = scheme_of(ax)
    above = TransformedBbox(Bbox([[0, FLOOR], [1, CEILING]]), ax.get_yaxis_transform())
    for level in (0, 1):
        ax.axhline(level, color=shade(scheme, 35), linewidth=0.8, zorder=0)
    for learner in in_order(curves["learner"]):
        curve = curves[curves["learner"] == learner]
        size, t, error = (curve[column].to_numpy(dtype=float) for column in ("size", "t", "t_sem"))
        look = style(learner, learners, scheme)
        if learner in REFERENCES:
            drawn = [
                *ax.plot(size, t, label=plain(learner), linewidth=1, zorder=1.5, **look),
                ax.fill_between(size, t - error, t + error, color=look["color"], alpha=0.25, linewidth=0, zorder=1),
                *_mark_unmixed(curve, look["color"], ax),
            ]
        else:
            drawn = list(
                ax.errorbar(
                    size,
                    t,
                    yerr=error,
                    label=plain(learner),
                    markersize=4.5,
                    markevery=np.flatnonzero(t >= FLOOR).tolist(),
                    linewidth=1.4,
                    elinewidth=1,
                    **look,
                ).get_children()
            )
        for artist in drawn:
            artist.set_clip_box(above)
    _draw_lane(curves[(curves["t"] < FLOOR) & curves["learner"].isin(lane)], learners, lane, ax)
    ax.set(xlabel="training examples", ylabel=t_label(curves))
    mark_sizes(ax, sorted(curves["size"].unique()))
    put_title(dress(ax), curves[WORLD].iloc[0])


def _mark_unmixed(curve: pd.DataFrame, color: str, ax: Axes) -> list[Artist]:
    """Open circles where the limit's chains disagree."""
    if not are_unmixed(curve).any():
        return []
    marked = curve[are_unmixed(curve)]
    look: dict[str, Any] = {"marker": "o", "linestyle": "none", "markerfacecolor": "none", "markersize": 6}
    return [*ax.plot(marked["size"], marked["t"], zorder=1.5, color=color, **look)]


def are_unmixed(curves: pd.DataFrame) -> "pd.Series[bool]":
    """Whether each point is of the limit, and its chains disagree."""
    is_limit = curves["learner"] == "limit"
    return is_limit & curves["is_unmixed"] if "is_unmixed" in curves else is_limit & False


def _draw_lane(below: pd.DataFrame, learners: Collection[str], lane: Sequence[str], ax: Axes) -> None:
    """Set up the y axis with a lane under the floor, in which every learner marks the sizes at which it is below."""
    scheme, line = scheme_of(ax), min(LINE_OF_LANE, MOST_LANE / max(len(lane), 1))
    bottom = FLOOR - line * len(lane)
    if lane:
        ax.axhspan(bottom, FLOOR, color=shade(scheme, 9), linewidth=0, zorder=0)
    for learner, found in below.groupby("learner"):
        look = {**style(str(learner), learners, scheme), "linestyle": "none", "markerfacecolor": scheme.paper}
        heights = np.full(len(found), FLOOR - line * (lane.index(str(learner)) + 0.5))
        ax.plot(found["size"], heights, markersize=4, clip_on=False, **look)
    ax.set_ylim(bottom, CEILING)
    ax.set_yticks([(bottom + FLOOR) / 2, 0, 0.5, 1], ["< −0.5" if lane else "−0.5", "0", "0.5", "1"])


def put_title(ax: Axes, world: str) -> None:
    """Describe a family in words, with name and difficulty in small print; any other world has its name as title."""
    description = paper.description(world)
    if description is None:
        ax.set_title(plain(textwrap.fill(world, LONG_NAME)))
        return
    side = rcParams["axes.titlelocation"]
    small = 0.85 * float(ax.xaxis.label.get_fontsize())
    ax.set_title(description, pad=rcParams["axes.titlepad"] + 1.2 * small)
    ax.annotate(
        f"{world}, difficulty {paper.difficulty(world)}",
        ({"left": 0, "center": 0.5, "right": 1}[side], 1),
        xycoords="axes fraction",
        xytext=(0, 4),
        textcoords="offset points",
        ha=side,
        va="bottom",
        fontsize=small,
        color=shade(scheme_of(ax), 70),
    )
