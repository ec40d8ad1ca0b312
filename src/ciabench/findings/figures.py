"""Figures as files: every world alone, overviews of all, pairs of words; computes nothing but the layout."""

import textwrap
from base64 import b64encode
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from ciabench.errors import StoreError
from ciabench.files import written_whole
from ciabench.findings import paper
from ciabench.findings.curves import worlds_of
from ciabench.findings.departure_figure import departure_table, departures_figure
from ciabench.findings.digest import Digest, digest
from ciabench.findings.limits import LIMIT, MOST_LOST, draw_losses, losses
from ciabench.findings.looks import SCHEMES, STYLE, in_order, legend_entries, make_readable, scheme_of, shade
from ciabench.findings.pairs import draw_pairs, pairs_size
from ciabench.findings.panels import (
    FLOOR,
    T_LABEL,
    alone_size,
    are_unmixed,
    below_floor,
    draw_alone,
    draw_measure,
    draw_panel,
    t_label,
)
from ciabench.findings.paper import Grid
from ciabench.findings.spelling import accuracies
from ciabench.lab.storage.view import WORLD

PANELS_IN_LINE, LETTERS_PER_INCH = 4, 16
FORMATS = ("png", "svg", "pdf")
DPI, MOST_PIXELS = 200, 30_000
SAVED: dict[str, dict[str, Any]] = {
    "png": {"metadata": {"Software": None}, "pil_kwargs": {"compress_level": 3}},
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
"""How files are saved: without dates; more compression would take longer and save a tenth."""


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
    shape = len(grid), len(grid[0])
    size = (3.5 * max(shape[1], 2), 2.8 * shape[0] + 0.7)
    figure, axes = plt.subplots(*shape, figsize=size, squeeze=False, sharey=True)
    by_world, learners, lane = dict(list(curves.groupby(WORLD))), curves["learner"].unique(), below_floor(curves)
    for line, (names, line_axes) in enumerate(zip(grid, axes, strict=True)):
        for place, (name, ax) in enumerate(zip(names, line_axes, strict=True)):
            if name is None:
                ax.set_axis_off()
                continue
            is_first, is_last = not any(names[:place]), not any(below[place] for below in grid[line + 1 :])
            draw_panel(by_world[name], learners, lane, ax)
            ax.set(ylabel=t_label(curves) if is_first else "", xlabel="training examples" if is_last else "")
            ax.tick_params(labelleft=is_first)
    _add_legend(figure)
    _add_caption(figure, _caption(curves))
    make_readable(figure)
    return figure


def losses_figure(found: pd.DataFrame, worlds: pd.DataFrame, learners: Sequence[str]) -> Figure:
    """Draw the `losses` of all worlds that have a limit: the paper's arranged as in the paper, the others below."""
    by_world = {str(world): own for world, own in found.groupby(WORLD, sort=False)}
    lines = [line for grid in arrangements(worlds.loc[list(by_world)]) for line in grid]
    shape = len(lines), max(map(len, lines))
    size = (4.4 * max(shape[1], 2), 2.8 * shape[0] + 0.7)
    figure, axes = plt.subplots(*shape, figsize=size, squeeze=False, sharey=True)
    for names, line_axes in zip(lines, axes, strict=True):
        for place, ax in enumerate(line_axes):
            name = names[place] if place < len(names) else None
            if name is None:
                ax.set_axis_off()
                continue
            draw_losses(by_world[name], learners, ax)
            ax.set(ylabel=ax.get_ylabel() if place == 0 else "", xlabel="training examples")
    _add_legend(figure, axes[0][0].get_legend_handles_labels())
    words = "Grey: 1 − limit, what the sample costs. Bars: limit − T, what the method costs."
    is_cut = (found["sample"] + found["method"].clip(lower=0) > MOST_LOST).any()
    cut = f" Bars end at {MOST_LOST:g}, where T is −0.5." if is_cut else ""
    _add_caption(figure, f"{words} Means of {_counted(found['trials'])} trials.{cut}")
    make_readable(figure)
    return figure


def losses_images(rows: pd.DataFrame) -> dict[str, str]:
    """The figure of losses as images of a page; none without a limit."""
    if LIMIT not in set(rows["learner"]):
        return {}
    found, worlds, learners = losses(rows), worlds_of(rows), rows["learner"].unique().tolist()
    return page_images(lambda: losses_figure(found, worlds, learners))


def page_images(draw: Callable[[], Figure]) -> dict[str, str]:
    """A figure as data URIs of SVG, for a page in light and in dark colours."""
    images = {}
    for name, scheme in SCHEMES.items():
        inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color")
        labels = {"xtick.labelcolor": scheme.ink, "ytick.labelcolor": scheme.ink}
        grounds = {"axes.facecolor": scheme.paper, "figure.facecolor": scheme.paper}
        colors = {**dict.fromkeys(inked, scheme.ink), **labels, **grounds, "svg.hashsalt": name}
        with plt.style.context(["default", {**STYLE, **colors}]), BytesIO() as file:
            figure = draw()
            ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.06).execute(figure)
            figure.savefig(file, format="svg", metadata={"Date": None})
            plt.close(figure)
            images[name] = f"data:image/svg+xml;base64,{b64encode(file.getvalue()).decode()}"
    return images


def write_measure(rows: pd.DataFrame, folder: str | Path, y: str) -> list[Path]:
    """Write another measure than T, as fig1-log_loss, fig2-log_loss, … in the formats of `write_figures`."""
    folder, written = Path(folder), []
    folder.mkdir(parents=True, exist_ok=True)
    with plt.style.context(["default", STYLE]):
        for number, (_, found) in enumerate(rows.groupby(WORLD, sort=False), start=1):
            figure, ax = plt.subplots(figsize=alone_size(found))
            drawn = draw_measure(found, y, ax)
            without = ", ".join(in_order(set(found["learner"]) - set(drawn["learner"])))
            note = f" Not drawn, without probabilities: {without}." if without else ""
            _add_caption(figure, f"Means of {drawn['trials'].max()} trials, bars: standard error.{note}")
            written += _save(figure, folder / f"fig{number}-{y}", drawn)
    return written


def write_figures(rows: pd.DataFrame, folder: str | Path) -> list[Path]:
    """Write fig1, fig2, … and an overview, each as PNG, SVG, PDF and CSV.

    The paper's worlds come first, in its order; all others follow in the order of the rows, with a separate overview.
    Pairs of words are drawn in one figure, `spelling`, departures from the binary model in another, `departures`, and
    what the sample and the method cost in a third, `losses`, if there is a limit.
    """
    return write_digest(digest([rows]), folder)


def write_digest(found: Digest, folder: str | Path) -> list[Path]:
    """Write the figures of `write_figures`, of rows that came in parts."""
    if found.curves.empty and found.pairs.empty:
        raise StoreError("no trial has finished yet, so there is nothing to draw.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    with plt.style.context(["default", STYLE]):
        if not found.pairs.empty:
            measured = accuracies(found.pairs)
            figure, ax = plt.subplots(figsize=pairs_size(measured))
            draw_pairs(measured, ax)
            written += _save(figure, folder / "spelling", measured)
        if not found.models.empty:
            written += _save(departures_figure(found.models), folder / "departures", departure_table(found.models))
        if not found.losses.empty:
            figure = losses_figure(found.losses, found.worlds, found.learners)
            written += _save(figure, folder / "losses", found.losses)
        if not found.curves.empty:
            written += write_curves(found.worlds, found.curves, folder)
    return written


def write_curves(worlds: pd.DataFrame, curves: pd.DataFrame, folder: Path) -> list[Path]:
    """Write a figure per world, and the overviews.

    Parameters
    ----------
    worlds : DataFrame
        Parameters of the worlds, as `worlds_of` returns them.
    curves : DataFrame
        Their `learning_curves`.
    folder : Path
    """
    written: list[Path] = []
    table = _with_parameters(curves, worlds)
    order = list(dict.fromkeys([*paper.select(worlds).index, *worlds.index]))
    with plt.style.context(["default", STYLE]):
        for number, name in enumerate(order, start=1):
            chosen = curves[WORLD] == name
            figure, ax = plt.subplots(figsize=alone_size(curves[chosen]))
            draw_alone(curves[chosen], curves["learner"].unique(), ax)
            _add_caption(figure, _caption(curves[chosen]))
            written += _save(figure, folder / f"fig{number}", table[chosen].dropna(axis="columns", how="all"))
        for stem, grid in zip(("overview", "overview-others"), arrangements(worlds), strict=False):
            written += write_overview(curves, table, grid, folder / stem)
    return written


def write_overview(curves: pd.DataFrame, table: pd.DataFrame, grid: Grid, path: Path) -> list[Path]:
    """Write one figure of the worlds of a grid, and the table of their curves."""
    chosen = curves[WORLD].isin([name for line in grid for name in line])
    with plt.style.context(["default", STYLE]):
        return _save(overview(curves[chosen], grid), path, table[chosen])


def _with_parameters(curves: pd.DataFrame, worlds: pd.DataFrame) -> pd.DataFrame:
    """Curves with the parameters of their worlds after the world's name."""
    joined = curves.join(worlds.add_prefix("world_").rename(columns=_own_names(worlds, curves)), on=WORLD)
    return joined[[WORLD, *joined.columns[len(curves.columns) :], *curves.columns[1:]]]


def _own_names(worlds: pd.DataFrame, curves: pd.DataFrame) -> dict[str, str]:
    """Original names of the parameters that clash with no column of the curves, by prefixed name."""
    return {f"world_{name}": str(name) for name in worlds if name not in curves}


def _save(figure: Figure, path: Path, data: pd.DataFrame) -> list[Path]:
    """Write one figure in all formats, without dates, and its data as CSV; it is laid out once for all of them."""
    paths = [path.with_suffix(f".{form}") for form in FORMATS]
    ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.06).execute(figure)
    dpi = min(DPI, MOST_PIXELS / max(figure.get_size_inches()))
    for target in paths:
        form = target.suffix[1:]
        with plt.rc_context({"svg.hashsalt": path.name}), written_whole(target) as unfinished:
            figure.savefig(unfinished, format=form, dpi=dpi, **SAVED[form])
    plt.close(figure)
    with written_whole(path.with_suffix(".csv")) as unfinished:
        data.to_csv(unfinished, index=False)
    return [*paths, path.with_suffix(".csv")]


def _caption(curves: pd.DataFrame) -> str:
    """Caption with trials and headroom."""
    trials = _counted(curves["trials"])
    marks = f" Marks in the lane: T below {FLOOR:g}.".replace("-", "−") if (curves["t"] < FLOOR).any() else ""
    if (are_unmixed(curves) & (curves["t"] >= FLOOR)).any():
        marks += " Open circles: the limit's chains disagree, so that it may be too low."
    room = f"Mean headroom {curves['headroom'].mean():.3f}."
    if t_label(curves) != T_LABEL:
        room = f"Accuracy of the constant rule {curves['constant'].mean():.3f}."
    return f"Means of {trials} trials, bars: standard error. {room}{marks}"


def _counted(trials: "pd.Series[int]") -> str:
    """Number of trials, or the fewest and the most."""
    fewest, most = trials.min(), trials.max()
    return f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"


def _add_caption(figure: Figure, text: str) -> None:
    """Add small print below all panels, in as many lines as the figure's width needs."""
    text = textwrap.fill(text, int(LETTERS_PER_INCH * figure.get_size_inches()[0]))
    figure.supxlabel(text, x=0.01, ha="left", fontsize="small", color=shade(scheme_of(figure.axes[0]), 70))


def _add_legend(figure: Figure, entries: tuple[Sequence[Any], Sequence[str]] | None = None) -> None:
    """Add one legend above all panels, in as many lines as its names need."""
    handles, names = entries or legend_entries(figure.axes)
    width = 0.7 + 0.09 * max(map(len, names))
    columns = max(1, min(len(names), int(figure.get_size_inches()[0] / width)))
    figure.legend(handles, names, loc="outside upper left", ncols=columns)
