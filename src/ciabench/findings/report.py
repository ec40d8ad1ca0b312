"""A self-contained HTML page of results: curves, differences, claims, failures, and how to reproduce them.

Everything from the results (names of worlds, parameters and learners, errors, provenance) reaches the page as escaped
text, or as JSON in which no tag can start.
"""

import json
import math
import shlex
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ciabench.errors import StoreError
from ciabench.files import written_whole
from ciabench.findings import paper
from ciabench.findings.claims import check_claims
from ciabench.findings.curves import learning_curves, paired_differences, worlds_of
from ciabench.findings.figures import losses_images
from ciabench.findings.looks import in_order, page_style
from ciabench.findings.pages import render
from ciabench.findings.panels import CEILING, FLOOR, T_LABEL, t_label
from ciabench.findings.selection import combined
from ciabench.findings.spelling import is_of_pair
from ciabench.lab.storage.rows import Reading, Source, read
from ciabench.lab.storage.view import WORLD

STATISTICS = {"t": "T", "pooled": "pooled ratio", "success": "success rate"}
AXES = {**STATISTICS, "t": T_LABEL}
SHOWN_FAILURES = 200
QUESTION = "When to fit a model with a hidden variable, and when to learn the classifier directly?"
OTHER_QUESTION = "Which learner makes most of how many examples?"
"""Question of a page that holds none of the paper's worlds."""


class Part(NamedTuple):
    """One source of the page: its unique name, its file, and what was read from it."""

    name: str
    file: str
    reading: Reading

    @property
    def provenance(self) -> dict[str, Any]:
        """Its provenance; empty if unknown."""
        return self.reading.provenance or {}

    @property
    def experiment(self) -> dict[str, Any]:
        """Experiment that it comes from; empty if unknown."""
        spec = self.provenance.get("experiment")
        return spec if isinstance(spec, dict) else {}


def write_report(sources: Source | Iterable[Source], path: str | Path) -> None:
    """Write the page of one or more stores and tables, completely or not at all."""
    html = page(sources)
    with written_whole(path) as unfinished:
        unfinished.write_text(html, encoding="utf-8")


def page(sources: Source | Iterable[Source]) -> str:
    """HTML page of one or more stores and tables, with everything it needs embedded."""
    parts = _parts([sources] if isinstance(sources, str | Path | pd.DataFrame) else list(sources))
    frames = [part.reading.rows for part in parts if not part.reading.rows.empty]
    if not frames:
        named = ", ".join(part.file for part in parts) or "no source"
        raise StoreError(f"{named}: no trial is finished, so there is nothing to show yet.")
    rows = combined(frames)
    failures = [failure for part in parts for failure in part.reading.failures]
    findings = check_claims(rows)
    data = _curve_data(rows, [name for part in parts for name in _asked_for(part)])
    name = " + ".join(part.name for part in parts)
    return render(
        "report.html",
        styles=["report.css"],
        scripts=["curves.js", "report.js"],
        data={**data, "name": name, "sources": [_experiment_file(part) for part in parts]},
        losses=losses_images(rows),
        question=QUESTION if findings else OTHER_QUESTION,
        summary=_summary(parts, data),
        unknown_best=any(panel["t_label"] != T_LABEL for panel in data["panels"]),
        findings=findings,
        failures=[(failure.place, failure.cause) for failure in failures[:SHOWN_FAILURES]],
        unlisted=len(failures) - SHOWN_FAILURES,
        n_tables=sum(part.reading.counts is None for part in parts),
        blocks=[(part.name, part.file, _origins(part), bool(part.experiment)) for part in parts],
        commands=_commands(parts),
    )


def _parts(sources: Sequence[Source]) -> list[Part]:
    """Read all sources, and give each a unique name."""
    parts: list[Part] = []
    for source in sources:
        file = "rows" if isinstance(source, pd.DataFrame) else Path(source).name
        part = Part(file.partition(".")[0], file, read(source))
        name = part.experiment.get("name")
        name = name if isinstance(name, str) and name else part.name
        taken = {other.name for other in parts}
        numbered = (f"{name}-{number}" for number in range(2, len(parts) + 3))
        parts.append(part._replace(name=next(one for one in (name, *numbered) if one not in taken)))
    return parts


def _asked_for(part: Part) -> list[str]:
    """Learners and references that the experiment of a source names."""
    named = [
        table.get("name", table.get("use")) if isinstance(table, dict) else table
        for key in ("learners", "references")
        for table in _list(part.experiment.get(key))
    ]
    return [name for name in named if isinstance(name, str)]


def _list(value: Any) -> list[Any]:
    """A list as it is; anything else as an empty list."""
    return value if isinstance(value, list) else []


def _curve_data(rows: pd.DataFrame, asked_for: Iterable[str] = ()) -> dict[str, Any]:
    """Everything that the script draws; learners in `asked_for` are listed even without scores."""
    curves, worlds, found = _bars(rows), worlds_of(rows), in_order(rows["learner"])
    grids = _grids(worlds, set(rows[is_of_pair(rows)][WORLD]))
    order = [name for grid in grids for name in grid["worlds"] if name is not None]
    return {
        "statistics": STATISTICS,
        "axes": AXES,
        "range": [FLOOR, CEILING],
        "learners": [{"name": name, **page_style(name, found)} for name in found],
        "without_scores": in_order(set(asked_for) - set(found)),
        "parameters": list(worlds.columns),
        "grids": grids,
        "panels": [_panel(name, worlds.loc[name], curves[curves[WORLD] == name]) for name in order],
        "differences": [
            {"first": first, "second": second, "cells": _cells(paired_differences(rows, first, second))}
            for first, second in combinations(found, 2)
        ],
    }


def _bars(rows: pd.DataFrame) -> pd.DataFrame:
    """`learning_curves` with the ends of the error bars of every statistic."""
    curves = learning_curves(rows)
    for statistic in ("t", "success"):
        for end, sign in (("low", -1), ("high", 1)):
            curves[f"{statistic}_{end}"] = curves[statistic] + sign * curves[f"{statistic}_sem"]
    return curves


def _grids(worlds: pd.DataFrame, pairs: Collection[str]) -> list[dict[str, Any]]:
    """Groups of panels in the order of the paper's figures: its families, pairs of words, then all others.

    Families fill the columns of the paper's overview, one number of hidden values after the other, in `lines` lines;
    the others take any number of columns.
    """
    own = paper.select(worlds)
    grids = []
    for b, family in own.groupby("b"):
        lines = paper.arrange(family)
        by_column = [line[place] for place in range(len(lines[0])) for line in lines]
        grids.append({"title": f"Families of difficulty {b:g}", "lines": len(lines), "worlds": by_column})
    others = [name for name in worlds.index if name not in own.index]
    groups = {
        "Pairs of words": [name for name in others if name in pairs],
        "Other worlds" if len(others) < len(worlds) else "Worlds": [name for name in others if name not in pairs],
    }
    return [*grids, *({"title": title, "lines": 0, "worlds": names} for title, names in groups.items() if names)]


def _panel(name: str, parameters: "pd.Series[Any]", curves: pd.DataFrame) -> dict[str, Any]:
    """One world: name, parameters, number of trials, mean constant success and headroom, and the learners' curves."""
    columns = ["size", "trials", *(f"{statistic}{end}" for statistic in STATISTICS for end in ("", "_low", "_high"))]
    columns += [column for column in ("is_unmixed",) if column in curves]
    return {
        "world": name,
        "title": paper.description(name) or name,
        "parameters": [_simple(value) for value in parameters],
        "trials": int(curves["trials"].max()),
        "constant": float(curves["constant"].mean()),
        "headroom": float(curves["headroom"].mean()),
        "t_label": t_label(curves),
        "curves": {learner: curve[columns].to_dict("list") for learner, curve in curves.groupby("learner")},
    }


def _simple(value: Any) -> Any:
    """Value of a parameter for JSON; None if a world does not have it."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)


def _cells(differences: pd.DataFrame) -> list[list[Any]]:
    """World, size, trials, difference, low and high for every cell of the heat map."""
    columns = [WORLD, "size", "trials", "difference", "low", "high"]
    return [list(cell) for cell in differences[columns].itertuples(index=False, name=None)]


def _summary(parts: Sequence[Part], data: dict[str, Any]) -> str:
    """Summary of what the page shows."""
    counts = [part.reading.counts for part in parts if part.reading.counts is not None]
    in_tables = sum(len(part.reading.rows) for part in parts if part.reading.counts is None)
    done, wanted, failed = (sum(getattr(one, name) for one in counts) for name in ("done", "scores_wanted", "failed"))
    without = ", ".join(data["without_scores"])
    learners = len(data["learners"]) + len(data["without_scores"])
    shown = [
        f"{_counted(len(data['panels']), 'world')}, {_counted(learners, 'learner')}",
        *([f" (without scores: {without})"] if without else []),
        *([f"; {done:,} of {wanted:,} scores done, {failed:,} failed"] if counts else []),
        *([f"; {_counted(in_tables, 'score')} from tables, which do not list failures"] if in_tables else []),
    ]
    return "".join(shown)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _experiment_file(part: Part) -> dict[str, str]:
    """File from which a source can be reproduced."""
    return {"name": part.name, "text": json.dumps(part.provenance, indent=2)}


def _origins(part: Part) -> list[tuple[str, str]]:
    """Labels and values of what is known about the provenance of a source."""
    spec = part.experiment
    known = [
        ("seed", spec.get("seed")),
        ("trials per world", spec.get("trials")),
        ("hash of the experiment", part.provenance.get("hash")),
    ]
    for environment in _list(part.provenance.get("environments")):
        if isinstance(environment, dict):
            known += [("made with", _software(environment)), ("libraries", _libraries(environment))]
    return [(label, str(value)) for label, value in known if value not in (None, "")]


def _software(environment: dict[str, Any]) -> str:
    """Package, commit, Python and machine, as far as known."""
    commit = environment.get("commit")
    changes = " with changes" if environment.get("dirty") else ""
    named = [
        f"ciabench {environment.get('ciabench', '')}" + (f" at {str(commit)[:12]}{changes}" if commit else ""),
        f"Python {environment.get('python', '')}",
        *(str(environment[key]) for key in ("platform", "cpu") if key in environment),
        *([f"{environment['cores']} cores"] if "cores" in environment else []),
    ]
    return ", ".join(named)


def _libraries(environment: dict[str, Any]) -> str:
    """Names and versions of libraries."""
    libraries = environment.get("libraries")
    named = [f"{name} {version}" for name, version in libraries.items()] if isinstance(libraries, dict) else []
    return ", ".join([*named, *map(str, _list(environment.get("blas")))])


def _commands(parts: Sequence[Part]) -> list[str]:
    """Shell commands that reproduce the page from the experiments embedded in it."""
    runs, sources = [], []
    for part in parts:
        if not part.experiment:
            sources.append(part.file)
            continue
        name = str(part.experiment.get("name", part.name))
        folder = "again" if part.name == name else f"again-{part.name}"
        runs.append(shlex.join(["ciabench", "run", "--from", f"{part.name}.json", "--out", folder]))
        sources.append(f"{folder}/{name}.db")
    return [*runs, shlex.join(["ciabench", "report", *sources, "--out", "again/report.html"])] if runs else []
