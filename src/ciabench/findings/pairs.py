"""Pairs of words in one dot plot: the gain of every learner over the majority."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ciabench.errors import ParameterError
from ciabench.findings.looks import dress, in_order, make_readable, plain, scheme_of, shade, style
from ciabench.findings.spelling import SIGNIFICANT, accuracies, of_pairs
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.view import WORLD

SPREAD = 0.66
"""Share of a pair's line over which its learners are spread."""


def plot_pairs(rows: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Plot the gain of every learner over always choosing the commoner word, at the largest size, one line per pair.

    Pairs are sorted by their largest gain. A filled mark differs from zero (paired test over splits, 5% level); bars
    are standard errors. The share of the commoner word and the number of examples stand on the right.

    Parameters
    ----------
    rows : DataFrame
        Results on pairs of words, as returned by `learning_curve` or read from a store; other rows are left out.
    ax : Axes, optional
        Where to draw (default: a new figure).

    Returns
    -------
    Axes

    Examples
    --------
    >>> rows = pd.DataFrame({
    ...     "world": "lead/led", "pair": "lead/led", "examples": 535, "trial": [0, 1], "size": 100, "learner": "EM",
    ...     "success": [0.7, 0.8], "best": 1.0, "constant": 0.65, "t": [0.1, 0.4], "t_error": 0.0,
    ... })
    >>> [label.get_text() for label in plot_pairs(rows).get_yticklabels()]
    ['lead/led']
    """
    pairs = of_pairs(read(rows).rows)
    if pairs.empty:
        raise ParameterError("plot_pairs draws pairs of words, and the rows hold none.")
    measured = accuracies(pairs)
    if ax is None:
        _, ax = plt.subplots(figsize=pairs_size(measured), layout="constrained")
    draw_pairs(measured, ax)
    return ax


def pairs_size(measured: pd.DataFrame) -> tuple[float, float]:
    """Size in inches of a figure of these pairs."""
    return 7.4, 0.3 * measured[WORLD].nunique() + 1.4


def draw_pairs(measured: pd.DataFrame, ax: Axes) -> None:
    """Draw `accuracies` at the largest size."""
    largest = measured["size"].max()
    drawn = measured[measured["size"] == largest]
    worlds = drawn.groupby(WORLD, sort=False)["lead"].max().sort_values(kind="stable").index
    learners = in_order(drawn["learner"])
    for place, learner in enumerate(learners):
        shift = SPREAD * (0.5 - (place + 0.5) / len(learners))
        _draw_learner(drawn[drawn["learner"] == learner].set_index(WORLD).reindex(worlds), learner, shift, ax)
    _set_up(ax, drawn.drop_duplicates(WORLD).set_index(WORLD).loc[worlds])
    is_all = (largest >= 0.8 * drawn["examples"]).all()
    ax.set_title(
        "Gain over always choosing the commoner word, " + ("all examples" if is_all else f"{largest:,} examples")
    )
    ax.legend(loc="lower right", frameon=False)
    make_readable(ax)


def _draw_learner(found: pd.DataFrame, learner: str, shift: float, ax: Axes) -> None:
    """Draw the gains of one learner on all pairs, filled where they are significant."""
    scheme = scheme_of(ax)
    look = style(learner, [learner], scheme) | {"linestyle": "none"}
    heights, gain, error = np.arange(len(found)) + shift, 100 * found["lead"], 100 * found["lead_error"]
    ax.hlines(heights, gain - error, gain + error, color=look["color"], linewidth=1)
    clear = (found["p"] < SIGNIFICANT).to_numpy()
    ax.plot(gain[~clear], heights[~clear], markersize=5, markerfacecolor=scheme.paper, zorder=3, **look)
    ax.plot(gain[clear], heights[clear], markersize=5, zorder=3, label=plain(learner), **look)


def _set_up(ax: Axes, pairs: pd.DataFrame) -> None:
    """Name the pairs on the left, and what is known of them on the right."""
    scheme = scheme_of(ax)
    for height in range(len(pairs)):
        if height % 2 == 0:
            ax.axhspan(height - 0.5, height + 0.5, color=shade(scheme, 4), linewidth=0, zorder=0)
    ax.axvline(0, color=shade(scheme, 60), linewidth=0.8, zorder=0)
    ax.set_yticks(range(len(pairs)), [plain(str(name)) for name in pairs.index])
    ax.tick_params(axis="y", length=0)
    ax.set(ylim=(-0.5, len(pairs) - 0.5), xlabel="gain in percentage points; bars: standard error; filled: p < 0.05")
    known = zip(pairs["majority"], pairs["examples"], strict=True)
    labels = [*(f"{100 * majority:.0f}% of {n:,}" for majority, n in known), "majority"]
    for height, label in enumerate(labels):
        ax.text(
            1.01,
            height,
            label,
            transform=ax.get_yaxis_transform(),
            va="center",
            fontsize="small",
            color=shade(scheme, 70),
        )
    dress(ax).spines["left"].set_visible(False)
