"""One self-contained HTML page of a store: curves, differences, claims, failures, and how to make it all again.

Whatever a store holds (names of learners, errors) reaches the page as escaped text or as JSON in which no tag can
start. `page/` beside this file has the template, the style and the script.
"""

import json
import math
import os
import shlex
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from ciabench.errors import StoreError
from ciabench.findings.claims import check_claims
from ciabench.findings.curves import FAMILY, learning_curves, paired_differences
from ciabench.findings.figures import CEILING, COLORS, FLOOR, KNOWN, style
from ciabench.findings.selection import Family, family_names
from ciabench.lab.storage.results import Results
from ciabench.lab.storage.store import Failure, Store

SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "triangle-left")
DASHES = ("solid", "8px,2px", "solid", "5px,2px,2px,2px", "2px,2px", "8px,2px,2px,2px,2px,2px", "5px,3px", "2px,4px")
"""Markers and lines of `figures`, in the words of plotly."""

STATISTICS = {"t": "T", "pooled": "pooled ratio", "success": "success rate"}
SHOWN_FAILURES = 200
DIGITS = 6


def write_report(source: str | Path, path: str | Path) -> None:
    """Write the page of a store, whole or not at all."""
    path, html = Path(path), page(source)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(html, encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        raise StoreError(f"{path}: can not be written; {error.strerror or error}.") from error
    finally:
        unfinished.unlink(missing_ok=True)


def page(source: str | Path) -> str:
    """HTML of a store, with all that it needs in it."""
    with Store(source) as store:
        failures, provenance, counts = list(store.failures()), store.provenance(), store.counts()
    rows = Results(source).rows()
    if rows.empty:
        raise StoreError(f"{source}: holds no finished trial; there is nothing to show yet.")
    name = provenance["experiment"]["name"]
    own = files("ciabench.findings") / "page"
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    template.policies["json.dumps_kwargs"] = {"allow_nan": False, "ensure_ascii": False}
    return template.from_string((own / "report.html").read_text(encoding="utf-8")).render(
        name=name,
        data={**_finite(_curve_data(rows)), "name": name, "provenance": json.dumps(provenance, indent=2)},
        findings=check_claims(rows),
        counts=counts,
        failures=[(_where(failure), failure.cause) for failure in failures[:SHOWN_FAILURES]],
        unlisted=len(failures) - SHOWN_FAILURES,
        provenance=provenance,
        commands=_commands(name),
        sources={file: _trusted((own / file).read_text(encoding="utf-8")) for file in ("report.css", "report.js")},
        plotly=_trusted(get_plotlyjs()),
    )


def _trusted(source: str) -> Markup:
    """Text that goes onto the page as it is: files of this package and of plotly, nothing from a store."""
    return Markup(source)  # nosec B704


def _curve_data(rows: pd.DataFrame) -> dict[str, Any]:
    """All that the script draws."""
    curves, names = _bars(rows), family_names(rows)
    found = set(curves["learner"])
    learners = [name for name in KNOWN if name in found] + sorted(found - set(KNOWN))
    panels = [_panel(curve, names) for _, curve in curves.groupby(["b", "k", "n"])]
    return {
        "statistics": STATISTICS,
        "range": [FLOOR, CEILING],
        "learners": [{"name": name, **_look(name, learners)} for name in learners],
        "panels": panels,
        "differences": [
            {"first": first, "second": second, "cells": _cells(paired_differences(rows, first, second), names)}
            for first, second in combinations(learners, 2)
        ],
    }


def _bars(rows: pd.DataFrame) -> pd.DataFrame:
    """`learning_curves` with the ends of the error bars of every statistic, and the mean of the constant rule."""
    groups = rows.groupby([*FAMILY, "learner", "size"])
    curves = learning_curves(rows).assign(
        constant=groups["constant"].mean().to_numpy(), success_sem=groups["success"].sem().to_numpy()
    )
    for statistic in ("t", "success"):
        for end, sign in (("low", -1), ("high", 1)):
            curves[f"{statistic}_{end}"] = curves[statistic] + sign * curves[f"{statistic}_sem"]
    return curves


def _panel(curves: pd.DataFrame, names: dict[Family, str]) -> dict[str, Any]:
    """One family: its name, what is common to its trials, and the curve of every learner."""
    columns = ["size", "trials", *(f"{name}{end}" for name in STATISTICS for end in ("", "_low", "_high"))]
    n, k, b = next(curves[FAMILY].itertuples(index=False, name=None))
    return {
        "family": names[n, k, b],
        "n": n,
        "k": k,
        "b": b,
        "trials": int(curves["trials"].max()),
        "constant": float(curves["constant"].mean()),
        "headroom": float(curves["headroom"].mean()),
        "curves": {name: curve[columns].to_dict("list") for name, curve in curves.groupby("learner")},
    }


def _cells(differences: pd.DataFrame, names: dict[Family, str]) -> list[list[Any]]:
    """Family, size, trials, difference, low and high of every cell of the heat map."""
    columns = [*FAMILY, "size", "trials", "difference", "low", "high"]
    cells = differences[columns].itertuples(index=False, name=None)
    return [[names[n, k, b], *values] for n, k, b, *values in cells]


def _look(learner: str, learners: list[str]) -> dict[str, str]:
    """Colour, marker and line of a learner, as in the figures."""
    turn = COLORS.index(style(learner, learners)["color"])
    return {"color": COLORS[turn], "symbol": SYMBOLS[turn], "dash": DASHES[turn]}


def _where(failure: Failure) -> str:
    """What failed, in words."""
    trial = f"{failure.task} trial {failure.trial}"
    return f"{trial}, size {failure.size}, {failure.learner}" if failure.learner else trial


def _commands(name: str) -> list[str]:
    """Shell commands that make the page again from the experiment that it holds."""
    experiment, store, page = map(shlex.quote, (f"{name}.json", f"again/{name}.db", f"again/{name}.html"))
    return [f"ciabench run --from {experiment} --out again", f"ciabench report {store} --out {page}"]


def _finite(value: Any) -> Any:
    """Replace numbers that JSON can not hold by None; keep six digits of the others."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return round(value, DIGITS) if math.isfinite(value) else None
    return value
