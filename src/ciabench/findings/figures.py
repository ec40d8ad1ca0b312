"""Curves → matplotlib; computes nothing but where to put ink."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ciabench.errors import ParameterError, StoreError
from ciabench.findings.curves import FAMILY, learning_curves
from ciabench.findings.spelling import accuracies, of_pairs

FLOOR, CEILING = -0.5, 1.08
"""T below the floor is drawn as an arrow on it, so that a dismal start does not squash the rest."""

PANELS_IN_LINE = 6
FORMATS = ("png", "svg", "pdf")
COLORS = ("#0072B2", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000", "#8C6D1F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
LINES = ("-", (0, (5, 1.5)), "-", (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)), "--", ":")
KNOWN = ("EM", "COV", "Winnow", "Perceptron", "NaiveBayes", "LogisticRegression")


def style(learner: str, learners: Iterable[str]) -> dict[str, Any]:
    """Colour, marker and line of a learner: the same in every figure, distinct also in grey."""
    others = sorted(set(learners) - set(KNOWN))
    place = KNOWN.index(learner) if learner in KNOWN else len(KNOWN) + others.index(learner)
    turn = place % len(COLORS)
    return {"color": COLORS[turn], "marker": MARKERS[turn], "linestyle": LINES[turn]}


def plot_curves(rows: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Plot T against sample size for one family: mean, standard error, lines at 0 and 1.

    Parameters
    ----------
    rows : DataFrame
        Results of one family, as `learning_curve` or a store gives them.
    ax : Axes, optional
        Where to draw; a new figure without it.

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
    return _draw(learning_curves(rows), ax)


def _draw(curves: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the curves of one family."""
    if ax is None:
        _, ax = plt.subplots(figsize=(5.2, 3.9), layout="constrained")
    families = curves[FAMILY].drop_duplicates()
    if len(families) != 1:
        raise ParameterError(
            f"plot_curves draws one family; rows hold {len(families)}. Select one, or use the overview."
        )
    learners = curves["learner"].unique()
    for learner in sorted(learners, key=lambda name: KNOWN.index(name) if name in KNOWN else len(KNOWN)):
        _plot_one(ax, curves[curves["learner"] == learner], style(learner, learners))
    _dress(ax, families.iloc[0], sorted(curves["size"].unique()))
    return ax


def overview(curves: pd.DataFrame) -> Figure:
    """All `learning_curves` in one figure, a row for each n and b, a column for each k, with one legend."""
    families = curves[FAMILY].drop_duplicates()
    rows_of = sorted({(b, n) for n, b in zip(families["n"], families["b"], strict=True)})
    columns = sorted(families["k"].unique())
    figure, axes = plt.subplots(
        len(rows_of),
        len(columns),
        figsize=(3.6 * len(columns), 3.0 * len(rows_of) + 0.5),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    for (b, n), line in zip(rows_of, axes, strict=True):
        for k, ax in zip(columns, line, strict=True):
            chosen = curves[(curves["n"] == n) & (curves["k"] == k) & (curves["b"] == b)]
            if chosen.empty:
                ax.set_axis_off()
                continue
            _draw(chosen, ax).set_ylabel("T" if k == columns[0] else "")
    _shared_legend(figure)
    return figure


def spelling_figure(told: pd.DataFrame) -> Figure:
    """`accuracies` in one figure: a panel for each pair, a line for each learner, a dashed one for the majority."""
    pairs = list(told["task"].unique())
    n_lines = -(-len(pairs) // PANELS_IN_LINE)
    figure, axes = plt.subplots(
        n_lines,
        min(len(pairs), PANELS_IN_LINE),
        figsize=(2.6 * min(len(pairs), PANELS_IN_LINE), 2.4 * n_lines + 0.5),
        squeeze=False,
        layout="constrained",
    )
    for pair, ax in zip(pairs, axes.flat, strict=False):
        _draw_pair(told[told["task"] == pair], ax)
    for ax in axes.flat[len(pairs) :]:
        ax.set_axis_off()
    figure.suptitle("accuracy in % against training examples; dashed: majority; bars: standard error", fontsize=9)
    _shared_legend(figure)
    return figure


def _draw_pair(told: pd.DataFrame, ax: Axes) -> None:
    """Draw one pair: accuracies at the sizes that it has examples for, and at last with all of them."""
    largest, examples = told["size"].max(), told["examples"].iloc[0]
    drawn = told[(told["size"] < 0.8 * examples) | (told["size"] == largest)]
    sizes = sorted(drawn["size"].unique())
    for learner, curve in drawn.groupby("learner"):
        look = style(str(learner), told["learner"])
        places = [sizes.index(size) for size in curve["size"]]
        ax.errorbar(
            places, 100 * curve["accuracy"], 100 * curve["error"], label=_plain(str(learner)), capsize=2, **look
        )
    ax.axhline(100 * told["majority"].iloc[0], color="0.4", linestyle="--", linewidth=1, label="majority")
    labels = [f"{size:,}" if size < 0.8 * examples else "all" for size in sizes]
    ax.set_xticks(range(len(sizes)), labels, fontsize=8)
    ax.set_title(f"{told['task'].iloc[0]} ({examples:,})", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)


def write_figures(rows: pd.DataFrame, folder: str | Path) -> list[Path]:
    """Write fig1, fig2, … (by b, k, then n: the paper's order) and overview, each as PNG, SVG, PDF and CSV.

    Pairs of words go into one figure, `spelling`.
    """
    if rows.empty:
        raise StoreError("there is no finished trial yet, and nothing to draw.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pairs = of_pairs(rows)
    told = accuracies(pairs)
    written = [] if told.empty else _save(spelling_figure(told), folder / "spelling", told)
    drawn = rows if pairs.empty else rows.drop(index=pairs.index)
    return written if drawn.empty else written + _write_curves(drawn, folder)


def _write_curves(rows: pd.DataFrame, folder: Path) -> list[Path]:
    """Write a figure for each family, and the overview."""
    curves, written = learning_curves(rows), []
    for number, (_, family) in enumerate(curves.groupby(["b", "k", "n"]), start=1):
        ax = _draw(family)
        ax.legend(loc="lower right", frameon=False)
        ax.get_figure(root=True).supxlabel(_caption(family), fontsize=8)  # type: ignore[union-attr]
        written += _save(ax.get_figure(root=True), folder / f"fig{number}", family)
    return written + _save(overview(curves), folder / "overview", curves)


def _save(figure: Any, path: Path, data: pd.DataFrame) -> list[Path]:
    """Write one figure in all formats, without dates, and its data."""
    paths = [path.with_suffix(f".{form}") for form in FORMATS]
    for target in paths:
        dateless = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
        with plt.rc_context({"svg.hashsalt": path.name}):
            figure.savefig(target, dpi=200, metadata=dateless[target.suffix[1:]])
    plt.close(figure)
    data.to_csv(path.with_suffix(".csv"), index=False)
    return [*paths, path.with_suffix(".csv")]


def _plain(name: str) -> str:
    """A name as matplotlib shows it unchanged, though it may look like a formula."""
    return name.replace("$", r"\$")


def _plot_one(ax: Axes, curve: pd.DataFrame, look: dict[str, Any]) -> None:
    """One learner: points with standard errors, and arrows where T lies below the floor."""
    size, t, error = (curve[column].to_numpy(dtype=float) for column in ("size", "t", "t_sem"))
    ax.errorbar(
        size, t, yerr=error, label=_plain(curve["learner"].iloc[0]), capsize=2, markersize=5, linewidth=1.4, **look
    )
    cut = t < FLOOR
    ax.plot(size[cut], np.full(cut.sum(), FLOOR + 0.03), linestyle="none", marker=7, color=look["color"], markersize=8)


def _dress(ax: Axes, family: "pd.Series[Any]", sizes: list[int]) -> None:
    """Axes, reference lines and title."""
    for level in (0, 1):
        ax.axhline(level, color="0.6", linewidth=0.8, zorder=0)
    ax.set(xscale="log", ylim=(FLOOR, CEILING), xlabel="training examples", ylabel="T")
    ax.set_xticks([size for size in sizes if np.log10(size) % 1 == 0] or sizes)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_title(f"CIA({family['n']:.0f}, {family['k']:.0f}, {family['b']:g})")
    ax.spines[["top", "right"]].set_visible(False)


def _caption(curves: pd.DataFrame) -> str:
    """Trials and headroom, in words."""
    fewest, most = curves["trials"].min(), curves["trials"].max()
    told = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    cut = "; arrows: T below the axis" if (curves["t"] < FLOOR).any() else ""
    return f"{told} trials a point, mean headroom {curves['headroom'].mean():.3f}; bars: standard error{cut}"


def _shared_legend(figure: Figure) -> None:
    """One legend below all panels."""
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        entries.update(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=len(entries), frameon=False)
