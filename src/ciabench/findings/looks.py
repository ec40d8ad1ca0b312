"""Styles of learners in figures and on the page, and fonts for names in any script."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text

COLORS = ("#0072B2", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000", "#8C6D1F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
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
"""Cycles of eight colours, seven markers and nine line styles: no two of the first 56 learners share all three."""

SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x")
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
    """Known learners first, then the others by name.

    Examples
    --------
    >>> in_order(["mine", "Winnow", "EM"])
    ['EM', 'Winnow', 'mine']
    """
    return sorted(set(learners), key=lambda name: (KNOWN.index(name) if name in KNOWN else len(KNOWN), name))


def _place(learner: str, learners: Iterable[str]) -> int:
    """Position in the cycles."""
    if learner in KNOWN:
        return KNOWN.index(learner)
    return len(KNOWN) + sorted(set(learners) - set(KNOWN)).index(learner)


def style(learner: str, learners: Iterable[str]) -> dict[str, Any]:
    """Colour, marker and line style of one of the learners for matplotlib; distinct also in greyscale.

    Examples
    --------
    >>> style("EM", ["EM", "Winnow"])
    {'color': '#0072B2', 'marker': 'o', 'linestyle': '-'}
    """
    place = _place(learner, learners)
    return {
        "color": COLORS[place % len(COLORS)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": LINES[place % len(LINES)],
    }


def page_style(learner: str, learners: Iterable[str]) -> dict[str, Any]:
    """Style of a learner on the page; its colour and strongest cell background are given for both colour schemes."""
    place = _place(learner, learners)
    colors = {name: line_color(COLORS[place % len(COLORS)], scheme) for name, scheme in SCHEMES.items()}
    return {
        "color": colors,
        "cell": {name: strongest_cell(color, SCHEMES[name]) for name, color in colors.items()},
        "symbol": SYMBOLS[place % len(SYMBOLS)],
        "dash": DASHES[place % len(DASHES)],
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


def line_color(color: str, scheme: Scheme) -> str:
    """Colour mixed with as little ink as sufficient contrast against the panels requires."""
    inked = (mixed(scheme.ink, color, percent) for percent in range(101))
    return next(one for one in inked if contrast(one, scheme.card) >= scheme.line_contrast)


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
