"""Curves → matplotlib figures; computes nothing but the layout."""

import textwrap
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from matplotlib.transforms import offset_copy

from ciabench.errors import ParameterError, StoreError
from ciabench.findings import paper
from ciabench.findings.curves import learning_curves, worlds_of
from ciabench.findings.looks import in_order, make_readable, plain, style
from ciabench.findings.paper import Grid
from ciabench.findings.spelling import accuracies, is_of_pair
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.view import WORLD

FLOOR, CEILING = -0.5, 1.08
"""T below the floor is drawn as an arrow at the floor, so that a poor start does not compress the rest."""

PANELS_IN_LINE, PAIRS_IN_LINE = 4, 6
MOST_INSIDE = 6
"""Largest number of learners for which the legend fits inside the axes."""

LONG_NAME, NAMED_WORLDS = 30, 5
FEW_SIZES = 4
"""Up to this many sizes, all are marked on the axis; otherwise only powers of ten."""

ARROW_GAP, ARROWS_WIDTH = 6.0, 24.0
"""Distance in points between arrows at the same size, and maximum width of all of them."""

FORMATS = ("png", "svg", "pdf")
DPI, MOST_PIXELS = 200, 30_000


def plot_curves(rows: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Plot T against sample size for one world: mean, standard error, lines at 0 and 1.

    Parameters
    ----------
    rows : DataFrame
        Results of one world, as `learning_curve` or a store gives them.
    ax : Axes, optional
        Where to draw (default: a new figure).

    Returns
    -------
    Axes

    Examples
    --------
    >>> from ciabench import CIAFamily, NaiveBayes, learning_curve
    >>> rows = learning_curve(
    ...     CIAFamily(n=10, k=2, b=0.9), {"NaiveBayes": NaiveBayes()}, sizes=[30, 300], trials=5, random_state=0
    ... )
    >>> plot_curves(rows).get_title()
    'CIA(10, 2, 0.9)'
    """
    rows = read(rows).rows
    names = list(dict.fromkeys(rows[WORLD]))
    if len(names) != 1:
        shown = ", ".join(names[:NAMED_WORLDS]) + (", …" if len(names) > NAMED_WORLDS else "")
        held = f"the rows hold {len(names)}: {shown}" if names else "there are no rows"
        raise ParameterError(f'plot_curves draws one world, and {held}; select one with rows["world"] == name.')
    return _draw_alone(learning_curves(rows), rows["learner"].unique(), ax)


def arrangements(worlds: pd.DataFrame) -> list[Grid]:
    """Grids of panels: the paper's worlds arranged as in the paper, then all others in order.

    Examples
    --------
    >>> arrangements(pd.DataFrame(index=["one", "two", "three", "four", "five"]))
    [[['one', 'two', 'three'], ['four', 'five', None]]]
    """
    own = paper.select(worlds)
    others = [str(name) for name in worlds.index if name not in own.index]
    return [grid for grid in (paper.arrange(own), _wrapped(others, PANELS_IN_LINE)) if grid]


def _wrapped(names: Sequence[str], most: int) -> Grid:
    """Names in as few lines as possible, of equal length."""
    n_lines = -(-len(names) // most)
    length = -(-len(names) // n_lines) if n_lines else 0
    padded = [*names, *[None] * (n_lines * length - len(names))]
    return [padded[start : start + length] for start in range(0, len(padded), length or 1)]


def overview(curves: pd.DataFrame, grid: Grid) -> Figure:
    """Draw the `learning_curves` of the worlds of a grid in one figure, with one legend."""
    figure, axes = plt.subplots(
        len(grid),
        len(grid[0]),
        figsize=(3.6 * max(len(grid[0]), 2), 3.0 * len(grid) + 0.5),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    by_world, learners = dict(list(curves.groupby(WORLD))), curves["learner"].unique()
    for names, line in zip(grid, axes, strict=True):
        for place, (name, ax) in enumerate(zip(names, line, strict=True)):
            if name is None:
                ax.set_axis_off()
                continue
            is_first = not any(names[:place])
            _draw(by_world[name], learners, ax).set_ylabel("T" if is_first else "")
            ax.tick_params(labelleft=is_first)
    _shared_legend(figure)
    make_readable(figure)
    return figure


def spelling_figure(measured: pd.DataFrame) -> Figure:
    """Draw `accuracies` in one figure: a panel per pair, a line per learner, a dashed line for the majority."""
    grid = _wrapped(list(measured[WORLD].unique()), PAIRS_IN_LINE)
    size = (2.6 * max(len(grid[0]), 2), 2.4 * len(grid) + 0.6)
    figure, axes = plt.subplots(len(grid), len(grid[0]), figsize=size, squeeze=False, layout="constrained")
    for name, ax in zip((name for line in grid for name in line), axes.flat, strict=True):
        if name is None:
            ax.set_axis_off()
        else:
            _draw_pair(measured[measured[WORLD] == name], measured["learner"].unique(), ax)
    title = "accuracy in % against training examples; dashed: majority; bars: standard error"
    figure.suptitle(textwrap.fill(title, round(14 * size[0])), fontsize=9)
    _shared_legend(figure)
    make_readable(figure)
    return figure


def _draw_pair(measured: pd.DataFrame, learners: Collection[str], ax: Axes) -> None:
    """Draw one pair: accuracies at the sizes for which it has enough examples, and with all of them."""
    largest, examples = measured["size"].max(), measured["examples"].iloc[0]
    drawn = measured[(measured["size"] < 0.8 * examples) | (measured["size"] == largest)]
    sizes = sorted(drawn["size"].unique())
    for learner in in_order(drawn["learner"]):
        curve = drawn[drawn["learner"] == learner]
        places = [sizes.index(size) for size in curve["size"]]
        accuracy, error = 100 * curve["accuracy"].to_numpy(), 100 * curve["error"].to_numpy()
        ax.errorbar(places, accuracy, error, label=plain(learner), capsize=2, **style(learner, learners))
    ax.axhline(100 * measured["majority"].iloc[0], color="0.4", linestyle="--", linewidth=1, label="majority")
    labels = [f"{size:,}" if size < 0.8 * examples else "all" for size in sizes]
    ax.set_xticks(range(len(sizes)), labels, fontsize=8)
    ax.set_title(plain(textwrap.fill(f"{measured[WORLD].iloc[0]} ({examples:,})", LONG_NAME)), fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)


def write_figures(rows: pd.DataFrame, folder: str | Path) -> list[Path]:
    """Write fig1, fig2, … and an overview, each as PNG, SVG, PDF and CSV.

    The paper's worlds come first, in its order; all others follow in the order of the rows, with a separate overview.
    Pairs of words are drawn in one figure, `spelling`.
    """
    if rows.empty:
        raise StoreError("no trial has finished yet, so there is nothing to draw.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    is_text = is_of_pair(rows)
    measured = accuracies(rows[is_text])
    written = [] if measured.empty else _save(spelling_figure(measured), folder / "spelling", measured)
    return written if is_text.all() else written + _write_curves(rows[~is_text], folder)


def _write_curves(rows: pd.DataFrame, folder: Path) -> list[Path]:
    """Write a figure per world, and the overviews."""
    worlds, curves, written = worlds_of(rows), learning_curves(rows), []
    table = _with_parameters(curves, worlds)
    order = list(dict.fromkeys([*paper.select(worlds).index, *worlds.index]))
    for number, name in enumerate(order, start=1):
        chosen = curves[WORLD] == name
        figure = _draw_alone(curves[chosen], curves["learner"].unique()).get_figure(root=True)
        assert figure is not None
        figure.supxlabel(_caption(curves[chosen]), fontsize=8)
        written += _save(figure, folder / f"fig{number}", table[chosen].dropna(axis="columns", how="all"))
    for stem, grid in zip(("overview", "overview-others"), arrangements(worlds), strict=False):
        names = [name for line in grid for name in line]
        chosen = curves[WORLD].isin(names)
        written += _save(overview(curves[chosen], grid), folder / stem, table[chosen])
    return written


def _with_parameters(curves: pd.DataFrame, worlds: pd.DataFrame) -> pd.DataFrame:
    """Curves with the parameters of their worlds after the world's name."""
    joined = curves.join(worlds.add_prefix("world_").rename(columns=_own_names(worlds, curves)), on=WORLD)
    return joined[[WORLD, *joined.columns[len(curves.columns) :], *curves.columns[1:]]]


def _own_names(worlds: pd.DataFrame, curves: pd.DataFrame) -> dict[str, str]:
    """Original names of the parameters that clash with no column of the curves, by prefixed name."""
    return {f"world_{name}": str(name) for name in worlds if name not in curves}


def _save(figure: Figure, path: Path, data: pd.DataFrame) -> list[Path]:
    """Write one figure in all formats, without dates, and its data as CSV."""
    paths = [path.with_suffix(f".{form}") for form in FORMATS]
    dateless = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    dpi = min(DPI, MOST_PIXELS / max(figure.get_size_inches()))
    for target in paths:
        with plt.rc_context({"svg.hashsalt": path.name}):
            figure.savefig(target, dpi=dpi, metadata=dateless[target.suffix[1:]])
    plt.close(figure)
    data.to_csv(path.with_suffix(".csv"), index=False)
    return [*paths, path.with_suffix(".csv")]


def _draw_alone(curves: pd.DataFrame, learners: Collection[str], ax: Axes | None = None) -> Axes:
    """Draw the curves of one world with a legend, beside the axes if it is long."""
    is_long = curves["learner"].nunique() > MOST_INSIDE
    if ax is None:
        _, ax = plt.subplots(figsize=(7.4 if is_long else 5.2, 3.9), layout="constrained")
    _draw(curves, learners, ax)
    if is_long:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    else:
        ax.legend(loc="lower right", frameon=False)
    make_readable(ax)
    return ax


def _draw(curves: pd.DataFrame, learners: Collection[str], ax: Axes) -> Axes:
    """Draw the curves of one world; `learners` are all learners of the figure."""
    for learner in in_order(curves["learner"]):
        curve = curves[curves["learner"] == learner]
        size, t, error = (curve[column].to_numpy(dtype=float) for column in ("size", "t", "t_sem"))
        look = style(learner, learners)
        ax.errorbar(size, t, yerr=error, label=plain(learner), capsize=2, markersize=5, linewidth=1.4, **look)
    _dress(ax, curves[WORLD].iloc[0], sorted(curves["size"].unique()))
    cut = curves[curves["t"] < FLOOR]
    for place in sorted(cut["size"].unique()):
        below = in_order(cut[cut["size"] == place]["learner"])
        _draw_arrows(ax, place, [style(learner, learners)["color"] for learner in below])
    return ax


def _draw_arrows(ax: Axes, size: float, colors: Sequence[str]) -> None:
    """Draw arrows side by side at the floor, one for each learner whose T is below it."""
    gap = min(ARROW_GAP, ARROWS_WIDTH / len(colors))
    for place, color in enumerate(colors):
        shift = gap * (place - (len(colors) - 1) / 2)
        arrow = ax.annotate(
            "",
            xy=(size, FLOOR),
            xycoords=offset_copy(ax.transData, ax.get_figure(root=True), shift, 0, "points"),
            xytext=(0, 14),
            textcoords="offset points",
            arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0},
        )
        arrow.set_in_layout(False)


def _dress(ax: Axes, name: str, sizes: list[int]) -> None:
    """Set up axes, reference lines and title."""
    for level in (0, 1):
        ax.axhline(level, color="0.6", linewidth=0.8, zorder=0)
    ax.set(xscale="log", ylim=(FLOOR, CEILING), xlabel="training examples", ylabel="T")
    powers = [size for size in sizes if np.log10(size) % 1 == 0]
    ax.set_xticks(sizes if len(sizes) <= FEW_SIZES or len(powers) < 2 else powers)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_title(plain(textwrap.fill(name, 45)), fontsize="large" if len(name) <= LONG_NAME else "small")
    ax.spines[["top", "right"]].set_visible(False)


def _caption(curves: pd.DataFrame) -> str:
    """Caption with trials and headroom."""
    fewest, most = curves["trials"].min(), curves["trials"].max()
    trials = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    cut = "; arrows: T below the axis" if (curves["t"] < FLOOR).any() else ""
    return f"{trials} trials per point, mean headroom {curves['headroom'].mean():.3f}; bars: standard error{cut}"


def _shared_legend(figure: Figure) -> None:
    """Add one legend below all panels, in as many lines as its names need."""
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        entries.update(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    ordered = [
        *in_order(name for name in entries if name != "majority"),
        *(["majority"] if "majority" in entries else []),
    ]
    width = 0.7 + 0.09 * max(map(len, entries))
    columns = max(1, min(len(entries), int(figure.get_size_inches()[0] / width)))
    handles = [entries[name] for name in ordered]
    figure.legend(handles, ordered, loc="outside lower center", ncols=columns, frameon=False)
