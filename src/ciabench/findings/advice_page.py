"""An advice as plain values, as a web page, and as HTML for notebooks."""

from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from markupsafe import Markup

from ciabench.files import written_whole
from ciabench.findings import advice_words as words
from ciabench.findings.advice_plot import advice_figure
from ciabench.findings.figures import page_images
from ciabench.findings.pages import finite, render
from ciabench.lab.storage.provenance import environment
from ciabench.learners.latent_class import LatentClass

if TYPE_CHECKING:
    from ciabench.findings.advice import Advice

QUESTION = "Fit a model, or learn the classifier directly?"
SHOWN_PAIRS = 12


def as_plain(advice: "Advice") -> dict[str, Any]:
    """Everything as numbers, strings, lists and dicts; numbers are rounded to six decimals."""
    reading, lead, found = advice.reading, advice.lead, advice.misfit
    plain: dict[str, Any] = {
        "table": {"name": reading.world.name, "target": reading.target, **reading.world.parameters},
        "left_out": [{"column": one.column, "reason": one.reason} for one in reading.left_out],
        "notes": reading.notes,
        "answer": lead.answer,
        "verdict": advice.verdict,
        "sentences": advice.sentences,
        "lead": lead._asdict(),
        "margin": advice.margin,
        "best": advice.best,
        "simplest": advice.simplest,
        "learners": _records(advice.table.reset_index()),
        "failed": advice.scores.failed,
        "curves": _records(advice.scores.rows.drop(columns=["hits", "world"])),
        "forecast": None if advice.forecast is None else _records(advice.forecast),
        "chance_of_change": advice.chances.tolist(),
        "hidden_classes": None,
        "drawn": None if advice.drawn is None else _records(advice.drawn.reset_index()),
        "environment": environment(),
    }
    if found is not None:
        plain["hidden_classes"] = {
            "number": found.n_classes,
            "number_by_bic": found.n_chosen,
            "shares": found.model.weights_.tolist(),
            "p_value": found.p_value,
            "unexplained": _records(found.unexplained),
            "profiles": _records(found.model.profiles().rename(columns=str).reset_index()),
        }
    rounded: dict[str, Any] = finite(plain)
    return rounded


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a table, with plain values."""
    return [
        {str(key): value.item() if isinstance(value, np.generic) else value for key, value in row.items()}
        for row in table.to_dict("records")
    ]


def write_page(advice: "Advice", path: str | Path) -> None:
    """Write the page of an advice, completely or not at all."""
    found = advice.misfit
    html = render(
        "advice.html",
        styles=["advice.css"],
        scripts=[],
        data={"name": advice.reading.world.name},
        question=QUESTION,
        summary=words.summary(advice.reading),
        left_out=words.left_out(advice.reading),
        notes=advice.reading.notes,
        sentences=advice.sentences,
        images=page_images(lambda: advice_figure(advice)),
        splits=advice.lead.n_splits,
        has_intervals=advice.has_intervals,
        learners=_html(learners_table(advice)),
        forecast=None if advice.forecast is None else _html(forecast_table(advice)),
        profiles=None if found is None else _html(profiles_table(found.model)),
        model_rows=None if found is None else f"{len(found.model.labels_):,}",
        largest=None if found is None else f"{found.largest_by_chance:.1f}",
        pairs=None if found is None else _html(found.pairs.head(SHOWN_PAIRS).round(1)),
        drawn=None if advice.drawn is None else _html(drawn_table(advice)),
        origins=_origins(advice),
    )
    with written_whole(path) as unfinished:
        unfinished.write_text(html, encoding="utf-8", errors="xmlcharrefreplace")


def notebook_html(advice: "Advice") -> str:
    """Sentences, the table of learners, and the picture."""
    with BytesIO() as file:
        figure = advice_figure(advice)
        figure.savefig(file, format="svg", metadata={"Date": None})
        plt.close(figure)
        picture = file.getvalue().decode("utf-8")
    texts = [words.summary(advice.reading), *advice.reading.notes, *advice.sentences]
    told = "".join(f"<p>{escape(text)}</p>" for text in texts)
    return f"{told}{_html(learners_table(advice))}{picture[picture.index('<svg') :]}"


def learners_table(advice: "Advice") -> pd.DataFrame:
    """The table of learners as it is shown: percent, points, and intervals as text."""
    table = advice.table
    behind = [
        "" if name == advice.best else words.points(row["behind"])
        + (f" ({words.span(row['low'], row['high'])})" if advice.has_intervals else "")
        for name, row in table.iterrows()
    ]  # fmt: skip
    return pd.DataFrame(
        {
            "learner": table.index,
            "way": table["way"].to_numpy(),
            "accuracy": [words.percent(share) for share in table["accuracy"]],
            "points behind": behind,
            "log-loss": _digits(table["log_loss"], 3),
            "AUC": _digits(table["auc"], 3),
            "seconds": _digits(table["seconds"], 2),
        }
    )


def forecast_table(advice: "Advice") -> pd.DataFrame:
    """Accuracies with more rows, as they are shown."""
    lines, assert_given = [], advice.forecast
    assert assert_given is not None
    for name, own in assert_given.groupby("learner", sort=False):
        now = advice.scores.means("success")[str(name)]
        lines.append((name, f"{advice.scores.full:,}", words.percent(now), ""))
        lines += [
            (name, f"{row['rows']:,}", words.percent(row["accuracy"]), words.span(row["low"], row["high"]))
            for _, row in own.iterrows()
        ]
    return pd.DataFrame(lines, columns=["learner", "training rows", "accuracy", "80% interval"])


def drawn_table(advice: "Advice") -> pd.DataFrame:
    """Accuracies here and on drawn tables, as they are shown."""
    assert advice.drawn is not None
    shown = advice.drawn.assign(**{column: advice.drawn[column].map(words.percent) for column in ("here", "drawn")})
    return shown.reset_index()


def profiles_table(model: LatentClass) -> pd.DataFrame:
    """Profiles of the hidden classes, as they are shown."""
    return model.profiles().round(3).rename_axis(columns=None).reset_index()


def _digits(numbers: "pd.Series[float]", digits: int) -> list[str]:
    return ["" if np.isnan(number) else f"{number:.{digits}f}" for number in numbers]


def _html(table: pd.DataFrame) -> Markup:
    """A table as HTML with its cells escaped."""
    return Markup(table.to_html(index=False, border=0, justify="unset", escape=True))  # nosec B704


def _origins(advice: "Advice") -> list[tuple[str, str]]:
    """How the advice was made."""
    made = environment()
    return [
        ("splits", f"{advice.lead.n_splits} of {advice.n_planned}"),
        ("margin", f"{words.points(advice.margin)} points of accuracy"),
        ("made with", f"ciabench {made.get('ciabench', '')}, Python {made.get('python', '')}"),
    ]
