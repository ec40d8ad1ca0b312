"""The command that advises on a table."""

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ciabench.cli.group import FILE, FILE_TO_WRITE, example, main, one_line

if TYPE_CHECKING:
    from ciabench.findings.advice import Advice

UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


def _seconds(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """Read a time, such as 90, 60s, 5m or 1h."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)", value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is not a time such as 90, 60s, 5m or 1h.", context, parameter)
    return float(found[1]) * UNITS[found[2]]


@main.command()
@click.argument("file")
@click.option("--target", help="Column of the classes.")
@click.option(
    "--budget",
    default="60s",
    show_default=True,
    callback=_seconds,
    metavar="TIME",
    help="Time for splits, such as 60s or 5m.",
)
@click.option("--keep", multiple=True, metavar="NAME", help="Keep a column that would be left out (repeatable).")
@click.option("--leave-out", multiple=True, metavar="NAME", help="Leave a column out (repeatable).")
@click.option("--margin", default=1.0, show_default=True, type=click.FloatRange(0, 100),
              help="Points of accuracy that do not matter.")  # fmt: skip
@click.option("--json", "json_file", type=FILE_TO_WRITE, help="Write everything to this file as JSON.")
@click.option("--page", type=FILE_TO_WRITE, help="Write a web page to this file.")
@click.option("--out", default="results", show_default=True, type=FILE, help="Folder that keeps finished splits.")
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes (default: one per core).")
@example("ciabench advise my.csv --target y --page advice.html")
def advise(
    file: str,
    target: str | None,
    budget: float,
    keep: tuple[str, ...],
    leave_out: tuple[str, ...],
    margin: float,
    json_file: Path | None,
    page: Path | None,
    out: Path,
    jobs: int | None,
) -> None:
    """Advise on your own table: fit a model or learn directly.

    FILE is a CSV or TSV file in UTF-8, or a Parquet file, with a row per case and a column of classes. Learners that
    fit a model with hidden classes are compared with direct learners of the classifier on paired splits of the rows,
    for as long as --budget says. Ctrl-C ends with the advice that the finished splits support. They are kept, and the
    same command goes on from there.
    """
    from ciabench.findings.advice import advise as advise_on
    from ciabench.findings.advice_words import counted

    if target is None:
        raise click.UsageError(f"give --target, the column of the classes; {_columns(file)}.")
    store = out / f"{Path(file).stem}-advice.db"
    found = advise_on(
        file, target, keep=keep, leave_out=leave_out, margin=margin / 100, budget=budget,
        n_jobs=jobs or os.cpu_count() or 1, store=store,
    )  # fmt: skip
    show(found)
    if json_file is not None:
        from ciabench.files import written_whole

        with written_whole(json_file) as unfinished:
            unfinished.write_text(json.dumps(found.to_dict(), indent=2) + "\n", encoding="utf-8")
    if page is not None:
        found.write_page(page)
        click.echo(f"{page}: open it in a browser.")
    if found.lead.n_splits < found.n_planned:
        kept = counted(found.lead.n_splits, "split")
        click.echo(f"{store} keeps {kept}; the same command goes on from there.")


def _columns(file: str) -> str:
    """Names of the columns of a file."""
    from ciabench.world.table_file import read_table
    from ciabench.world.table_parts import shown_names

    return f"{file} has {shown_names(read_table(file))}"


def show(advice: "Advice") -> None:
    """Print an advice: what was read, sentences, and the table of learners."""
    from rich.console import Console
    from rich.table import Table

    from ciabench.findings import advice_words as words
    from ciabench.findings.advice_page import learners_table

    console = Console(highlight=False)

    def say(text: str, style: str | None = None) -> None:
        console.print(one_line(text), style=style, markup=False)

    say(words.summary(advice.reading))
    if left_out := words.left_out(advice.reading):
        say(f"left out: {left_out}; keep one with --keep NAME")
    for note in advice.reading.notes:
        say(f"note: {note}")
    for place, sentence in enumerate(advice.sentences):
        console.print()
        say(sentence, "bold" if place == 0 else None)
    console.print()
    shown = learners_table(advice)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column in shown.columns:
        table.add_column(column, justify="left" if column in ("learner", "way") else "right", no_wrap=True)
    for row in shown.itertuples(index=False):
        table.add_row(*map(str, row))
    console.print(table)
