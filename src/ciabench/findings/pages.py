"""Self-contained HTML pages: `page/` beside this file holds their templates, styles and scripts.

`base.html`, `base.css` and `base.js` are what every page needs; `parts.html` holds macros for pieces that pages share
(wide tables, verdicts, claims, failures, provenance, panels of curves), and `curves.js` draws the panels.
"""

import math
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup
from plotly.offline import get_plotlyjs

DIGITS = 6


def render(template: str, styles: Sequence[str], scripts: Sequence[str], data: dict[str, Any], **context: Any) -> str:
    """Page from a template that extends `base.html`, with everything it needs embedded.

    Parameters
    ----------
    template : str
        File of the template.
    styles : sequence of str
        Style sheets to add to `base.css`.
    scripts : sequence of str
        Scripts to add to `base.js`, in their order.
    data : dict
        What the scripts read; numbers are rounded, those that JSON cannot represent become null.
    **context
        What the template reads.
    """
    loader = jinja2.FunctionLoader(_file)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "ensure_ascii": False}
    return environment.get_template(template).render(
        data=finite(data),
        style=_trusted("\n".join(map(_file, ("base.css", *styles)))),
        script=_trusted("\n".join(map(_file, ("base.js", *scripts)))),
        plotly=_trusted(get_plotlyjs()),
        **context,
    )


def _file(name: str) -> str:
    return (files("ciabench.findings") / "page" / name).read_text(encoding="utf-8")


def _trusted(source: str) -> Markup:
    """Text that is not escaped: files of this package and of plotly, never anything from results."""
    return Markup(source)  # nosec B704


def finite(value: Any) -> Any:
    """Replace numbers that JSON cannot represent with None; round the others to six decimals.

    Examples
    --------
    >>> finite({"t": [0.12345678, float("nan")]})
    {'t': [0.123457, None]}
    """
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float):
        return round(value, DIGITS) if math.isfinite(value) else None
    return value
