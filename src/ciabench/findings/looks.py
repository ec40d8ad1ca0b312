"""The look of figures and pages: colours, axes, and fonts for names in any script.

Colour means a learner, the same one everywhere; everything else is drawn in shades of the text's colour.
"""

from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb, to_rgba
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

STYLE = {
    "font.size": 9,
    "text.color": "#1c1f24",
    "axes.edgecolor": "#5a616b",
    "axes.labelcolor": "#1c1f24",
    "axes.labelsize": 9,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "xtick.color": "#5a616b",
    "xtick.labelcolor": "#1c1f24",
    "ytick.color": "#5a616b",
    "ytick.labelcolor": "#1c1f24",
    "legend.fontsize": 9,
    "legend.frameon": False,
}
"""Settings of matplotlib for the figures that are written to files; `plot_*` use those of the user."""

COLORS = (
    "#0072B2",
    "#BC8408",
    "#D55E00",
    "#009E73",
    "#C575A2",
    "#4A96C2",
    "#882255",
    "#332288",
    "#117733",
    "#6B4E16",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "p")
LINES = (
    "-",
    (0, (5, 1.5)),
    "-",
    (0, (3, 1, 1, 1)),
    (0, (1, 1)),
    (0, (5, 1, 1, 1, 1, 1)),
    "--",
    ":",
    (0, (8, 2, 1, 2)),
)
"""Cycles of ten colours, nine markers and nine line styles: no two of the first 90 learners share all three.

All colours can be seen on white; on other backgrounds they are mixed with the text's colour where necessary.
"""

SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star", "pentagon")
DASHES = (
    "solid",
    "8px,2px",
    "solid",
    "5px,2px,2px,2px",
    "2px,2px",
    "8px,2px,2px,2px,2px,2px",
    "5px,3px",
    "2px,4px",
    "11px,3px,2px,3px",
)
"""Plotly's names for the markers and line styles."""

KNOWN = ("EM", "COV", "Winnow", "Perceptron", "NaiveBayes", "LogisticRegression")
"""Learners whose style never depends on the others."""

REFERENCES = ("limit", "projection")
"""Not learners but what they are measured against: a quiet line with a band."""

LINE_CONTRAST = 3.0
FEW_SIZES = 4
"""Up to this many sizes, all are marked on the axis; otherwise only powers of ten."""

TEXT_CONTRAST = 4.5
STRONGEST_CELL = 65
"""Largest share, in percent, of a learner's colour in the background of a cell."""

LAST_RESORT = "Last Resort High-Efficiency"
"""Font shipped with matplotlib that draws any character as a box showing its script."""


class Scheme(NamedTuple):
    """Colours of the page (as in report.css), and the minimum contrast of lines against its panels."""

    paper: str
    card: str
    ink: str
    line_contrast: float


SCHEMES = {
    "light": Scheme("#ffffff", "#f6f7f9", "#1c1f24", 3.0),
    "dark": Scheme("#14171b", "#1c2026", "#e7eaee", 4.5),
}


def in_order(learners: Iterable[str]) -> list[str]:
    """Known learners first, then the others by name, and references at the end.

    Examples
    --------
    >>> in_order(["mine", "limit", "Winnow", "EM"])
    ['EM', 'Winnow', 'mine', 'limit']
    """
    rank = {name: place for place, name in enumerate((*KNOWN, "", *REFERENCES))}
    return sorted(set(learners), key=lambda name: (rank.get(name, len(KNOWN)), name))


def _place(learner: str, learners: Iterable[str]) -> int:
    """Position in the cycles."""
    if learner in KNOWN:
        return KNOWN.index(learner)
    return len(KNOWN) + sorted({*learners, learner} - {*KNOWN, *REFERENCES}).index(learner)


def learner_colors(learners: Iterable[str]) -> dict[str, str]:
    """Colours of learners in all figures, for figures of your own.

    Parameters
    ----------
    learners : iterable of str
        Names of all learners in the figure.

    Returns
    -------
    dict
        Name → colour.

    Examples
    --------
    >>> learner_colors(["EM", "Winnow"])
    {'EM': '#0072b2', 'Winnow': '#d55e00'}
    """
    names = list(learners)
    light = SCHEMES["light"]
    return {name: shade(light, 60) if name in REFERENCES else _color(name, names, light) for name in names}


def _color(learner: str, learners: Iterable[str], scheme: "Scheme") -> str:
    return line_color(COLORS[_place(learner, learners) % len(COLORS)], scheme)


def style(learner: str, learners: Iterable[str], scheme: "Scheme") -> dict[str, Any]:
    """Colour, marker and line style of one of the learners for matplotlib; distinct also in greyscale.

    Examples
    --------
    >>> style("EM", ["EM", "Winnow"], SCHEMES["light"])
    {'color': '#0072b2', 'marker': 'o', 'linestyle': '-'}
    """
    if learner in REFERENCES:
        return {"color": shade(scheme, 60), "marker": "", "linestyle": "-"}
    place = _place(learner, learners)
    return {
        "color": _color(learner, learners, scheme),
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": LINES[place % len(LINES)],
    }


def scheme_of(ax: Axes) -> "Scheme":
    """Colours of axes in the style of the user."""
    figure = ax.get_figure(root=True)
    behind = [ax.get_facecolor(), "white" if figure is None else figure.get_facecolor(), "white"]
    paper = next(to_hex(color) for color in behind if to_rgba(color)[3] > 0)
    return Scheme(paper, paper, to_hex(ax.xaxis.label.get_color()), LINE_CONTRAST)


def shade(scheme: "Scheme", percent: int) -> str:
    """Shade between the paper (0) and the ink (100).

    Examples
    --------
    >>> shade(Scheme("#ffffff", "#ffffff", "#000000", 3.0), 50)
    '#808080'
    """
    return mixed(scheme.ink, scheme.paper, percent)


def shades(scheme: "Scheme", count: int) -> list[str]:
    """Shades for things that are not learners, from the ink to the palest that can be seen."""
    return [shade(scheme, round(percent)) for percent in np.linspace(100, 50, count)]


def dress(ax: Axes) -> Axes:
    """What all plots share: no frame above and on the right."""
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def box(ax: Axes) -> dict[str, Any]:
    """Settings of a legend inside axes: a box in the colour of the paper, so that no line runs through its names."""
    return {"frameon": True, "facecolor": scheme_of(ax).paper, "edgecolor": "none", "framealpha": 0.9}


def mark_sizes(ax: Axes, sizes: Collection[float] = ()) -> None:
    """Logarithmic x axis with plain numbers: powers of ten, or the sizes if they are few, and nothing between."""
    ax.set_xscale("log")
    powers = [size for size in sizes if np.log10(size) % 1 == 0]
    if sizes and (len(sizes) <= FEW_SIZES or len(powers) < 2):
        ax.set_xticks(sorted(sizes))
    else:
        ax.xaxis.set_major_locator(LogLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:,.0f}"))
    ax.xaxis.set_minor_locator(NullLocator())


def legend_entries(axes: Iterable[Axes]) -> tuple[list[Any], list[str]]:
    """Handles and labels of all learners on some axes, each once, in order."""
    entries: dict[str, Any] = {}
    for ax in axes:
        entries.update(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    names = in_order(entries)
    return [entries[name] for name in names], names


def page_style(learner: str, learners: Iterable[str]) -> dict[str, Any]:
    """Style of a learner on the page; its colour and strongest cell background are given for both colour schemes."""
    colors = {name: style(learner, learners, scheme)["color"] for name, scheme in SCHEMES.items()}
    place = 0 if learner in REFERENCES else _place(learner, learners)
    return {
        "color": colors,
        "cell": {name: strongest_cell(color, SCHEMES[name]) for name, color in colors.items()},
        "symbol": SYMBOLS[place % len(SYMBOLS)],
        "dash": DASHES[place % len(DASHES)],
        "is_reference": learner in REFERENCES,
    }


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours (WCAG 2).

    Examples
    --------
    >>> contrast("#000000", "#ffffff")
    21.0
    """
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def mixed(color: str, other: str, percent: int) -> str:
    """Mix `percent` of a colour into another, as `color-mix(in srgb, …)` does."""
    share = percent / 100
    red, green, blue = (share * one + (1 - share) * two for one, two in zip(to_rgb(color), to_rgb(other), strict=True))
    return to_hex((red, green, blue))


@cache
def line_color(color: str, scheme: Scheme) -> str:
    """Colour mixed with as little ink as sufficient contrast against the panels requires."""
    inked = (mixed(scheme.ink, color, percent) for percent in range(101))
    return next((one for one in inked if contrast(one, scheme.card) >= scheme.line_contrast), scheme.ink)


def strongest_cell(color: str, scheme: Scheme) -> int:
    """Largest percentage of a colour in the background of a cell that leaves its text readable."""
    shares = range(STRONGEST_CELL, -1, -1)
    return next(one for one in shares if contrast(mixed(color, scheme.paper, one), scheme.ink) >= TEXT_CONTRAST)


def plain(name: str) -> str:
    """Name escaped so that matplotlib does not treat it as a formula."""
    return name.replace("$", r"\$")


def make_readable(artist: Artist) -> None:
    """Give the texts of a figure or axes fonts that have their characters; characters in no font become boxes."""
    for text in artist.findobj(Text):
        assert isinstance(text, Text)
        families = list(text.get_fontfamily())
        if missing := _missing(text.get_text(), tuple(families)):
            text.set_fontfamily([*families, *_fonts_with(missing)])


def _missing(characters: str, families: tuple[str, ...]) -> frozenset[str]:
    """Characters that the fonts of the families lack; ASCII is in all of them."""
    rare = {one for one in characters if one > "\x7f"}
    for family in families if rare else ():
        rare -= _covered(font_manager.findfont(font_manager.FontProperties(family=[family])), frozenset(rare))
    return frozenset(rare)


@cache
def _fonts_with(characters: frozenset[str]) -> tuple[str, ...]:
    """Installed fonts that together have these characters, and the last-resort font if any are left."""
    chosen, missing = [], characters
    for name, path in _upright_fonts():
        if covered := _covered(path, missing):
            chosen.append(name)
            missing -= covered
        if not missing:
            return tuple(chosen)
    return (*chosen, LAST_RESORT) if LAST_RESORT in font_manager.get_font_names() else tuple(chosen)


def _upright_fonts() -> Iterator[tuple[str, str]]:
    """Names and files of upright fonts of normal weight, sans-serif ones first."""
    entries = (
        entry
        for entry in font_manager.fontManager.ttflist
        if entry.style == "normal" and entry.weight in (400, "normal", "regular") and entry.name != LAST_RESORT
    )
    yield from sorted(((one.name, one.fname) for one in entries), key=lambda font: ("Sans" not in font[0], font))


def _covered(path: str, characters: frozenset[str]) -> frozenset[str]:
    """The characters that a font can draw."""
    try:
        font = font_manager.get_font(path)
        return frozenset(one for one in characters if font.scalable and font.get_char_index(ord(one)))
    except (OSError, RuntimeError, ValueError):
        return frozenset()
