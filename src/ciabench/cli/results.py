"""Commands that read results: status, merge, export, figures, claims, report, compare."""

import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from ciabench.cli.group import FILE, FILE_TO_WRITE, SOURCE, example, main, one_line

if TYPE_CHECKING:
    import pandas as pd

    from ciabench.findings.tester import Finding
    from ciabench.lab.storage.records import Counts, Failure

SHOWN_FAILURES = 10


@main.command()
@click.argument("source", type=SOURCE)
@example("ciabench status paper")
def status(source: Path) -> None:
    """Show progress and failures of an experiment.

    SOURCE is a store or an exported table, or the name of an experiment that comes with ciabench.
    """
    from ciabench.lab.storage.export import is_table
    from ciabench.lab.storage.store import Store

    if is_table(source):
        from ciabench.lab.storage.rows import read

        rows = read(source).rows
        click.echo(f"cells   {len(rows.drop_duplicates(['world', 'trial']))}")
        click.echo(f"scores  {len(rows)} done; a table does not list failed or missing scores")
        return
    with Store(source) as opened:
        counts, failures = opened.counts(), list(opened.failures())
    for line in _status_lines(counts, failures):
        click.echo(line)
    sys.exit(1 if failures else 0)


def _status_lines(counts: "Counts", failures: "list[Failure]") -> list[str]:
    """Counts and the first failures."""
    lines = [
        f"cells   {counts.cells} of {counts.cells_wanted}",
        f"scores  {counts.done} of {counts.scores_wanted} done, {counts.failed} failed",
    ]
    if counts.beyond:
        lines.append(f"kept    {counts.beyond} more scores that the experiment file no longer asks for (export --all)")
    lines += [f"failed  {one_line(f'{failure.place}: {failure.cause}')}" for failure in failures[:SHOWN_FAILURES]]
    if len(failures) > SHOWN_FAILURES:
        lines.append(f"failed  … and {len(failures) - SHOWN_FAILURES} more")
    return lines


@main.command()
@click.argument("sources", nargs=-1, required=True, type=FILE)
@click.option("--out", required=True, type=FILE_TO_WRITE, help="Store to write; it must not exist.")
@example("ciabench merge one/paper.db two/paper.db --out results/paper.db")
def merge(sources: tuple[Path, ...], out: Path) -> None:
    """Merge stores of the same seed into one.

    The result is what a single run would have computed. The stores hold different trials (`ciabench run --part`),
    worlds, sizes or learners. What two of them share must be bit-identical, except for timings.
    """
    from ciabench.lab.storage.merge import merge as merge_stores

    counts = merge_stores(sources, out)
    click.echo(f"{out}: {counts.cells} of {counts.cells_wanted} cells, {counts.done} scores done.")


@main.command()
@click.argument("store", type=SOURCE)
@click.option("--to", "form", required=True, type=click.Choice(["csv", "json", "parquet"]), help="Format.")
@click.option("--out", type=FILE_TO_WRITE, help="Output file (default: standard output).")
@click.option("--no-timings", is_flag=True, help="Leave out fit_seconds, so that equal results give equal bytes.")
@click.option("--all", "everything", is_flag=True, help="Include rows that the experiment file no longer asks for.")
@example("ciabench export results/paper.db --to csv --out paper.csv")
def export(
    store: Path, form: Literal["csv", "json", "parquet"], out: Path | None, no_timings: bool, everything: bool
) -> None:
    """Write the rows of a store as a table.

    What is needed to reproduce and check it is written beside it, with the ending .json.
    """
    from ciabench.lab.storage import export as tables
    from ciabench.lab.storage.export import is_table
    from ciabench.lab.storage.store import Store

    if is_table(store):
        raise click.UsageError(f"{store} is a table already: copy it, or give a store.")
    with Store(store) as opened:
        view = opened.everything() if everything else opened.view()
        if out is not None:
            tables.export(opened, form, out, not no_timings, view)
        elif form == "parquet":
            raise click.UsageError("--to parquet needs --out FILE.")
        else:
            with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as whole:
                tables.write(opened, form, whole, not no_timings, view)
                whole.seek(0)
                shutil.copyfileobj(whole, sys.stdout)


@main.command()
@click.argument("sources", nargs=-1, required=True, type=SOURCE)
@click.option("--out", default="results/figures", show_default=True, type=FILE, help="Output folder.")
@click.option(
    "--y",
    default="t",
    show_default=True,
    type=click.Choice(["t", "success", "log_loss", "auc"]),
    help="What is drawn; log-loss and AUC are kept in stores, for worlds of data.",
)
@example("ciabench figures paper --out results/figures")
def figures(sources: tuple[Path, ...], out: Path, y: str) -> None:
    """Draw the curves of every world, and an overview of all.

    SOURCES are stores or exported tables, or names of experiments that come with ciabench. Each figure is written as
    PNG, SVG and PDF, with its data as CSV.
    """
    from ciabench.findings.digest import MOST_SHOWN
    from ciabench.lab.storage.export import is_table
    from ciabench.lab.storage.rows import parts

    if y == "t" and len(sources) == 1 and not is_table(sources[0]):
        draw(parts(sources[0], MOST_SHOWN), out)
    else:
        draw([combined_rows(sources, [y] if y in ("log_loss", "auc") else [])], out, y)


@main.command()
@click.argument("sources", nargs=-1, required=True, type=SOURCE)
@click.option("--json", "json_file", type=FILE_TO_WRITE, help="Write the findings to this file as JSON.")
@click.option("--markdown", "markdown_file", type=FILE_TO_WRITE, help="Write the tables to this file as Markdown.")
@example("ciabench claims paper omitted --markdown results/claims.md")
def claims(sources: tuple[Path, ...], json_file: Path | None, markdown_file: Path | None) -> None:
    """Test the paper's claims on results.

    SOURCES are stores or exported tables, or names of experiments that come with ciabench. The exit code is 1 if a
    claim is not reproduced.
    """
    findings = judge(combined_rows(sources), json_file, markdown_file)
    sys.exit(1 if any(finding.verdict == "not reproduced" for finding in findings) else 0)


@main.command()
@click.argument("sources", nargs=-1, required=True, type=SOURCE)
@click.option(
    "--out", type=FILE_TO_WRITE, help="Output file (default: beside the first source; of reference rows: in results/)."
)
@example("ciabench report paper spelling --out results/report.html")
def report(sources: tuple[Path, ...], out: Path | None) -> None:
    """Write a web page of results.

    It shows curves, differences, claims, failures and provenance, and opens in any browser. SOURCES are stores or
    exported tables, or names of experiments that come with ciabench; the page combines all of them.
    """
    from ciabench.findings.report import write_report
    from ciabench.lab import shipped

    folder = Path("results") if shipped.is_reference(sources[0]) else sources[0].parent
    path = out or folder / f"{sources[0].name.partition('.')[0]}.html"
    write_report(sources, path)
    click.echo(f"{path}: open it in a browser.")


@main.command()
@click.argument("new", type=SOURCE)
@click.argument("baseline", type=SOURCE)
@click.option("--exact", is_flag=True, help="Require the rows that both have to be bit-identical.")
@example("ciabench compare results/paper.db results/reference/paper.csv.gz")
def compare(new: Path, baseline: Path, exact: bool) -> None:
    """Compare the T curves of two sets of results.

    NEW and BASELINE are stores or exported tables. The exit code is 1 if a curve has changed.
    """
    from ciabench.findings import regression

    comparison = regression.compare(new, baseline, exact=exact)
    click.echo(comparison.report())
    sys.exit(1 if comparison.verdict == "changed" else 0)


def combined_rows(sources: Sequence[Path], facts: Sequence[str] = ()) -> "pd.DataFrame":
    """Rows of all sources in one DataFrame, with facts as further columns."""
    from ciabench.findings.selection import combined
    from ciabench.lab.storage.rows import read

    return combined(read(source, facts).rows for source in sources)


def draw(parts: "Iterable[pd.DataFrame]", folder: Path, y: str = "t") -> None:
    """Write the figures of results whose rows come in parts, and report how many."""
    import matplotlib

    matplotlib.use("agg")
    from ciabench.findings.digest import digest
    from ciabench.findings.figures import write_digest, write_measure

    written = write_digest(digest(parts), folder) if y == "t" else write_measure(next(iter(parts)), folder, y)
    n_figures = len({file.stem for file in written})
    click.echo(f"{folder}: {n_figures} figure{'s' * (n_figures > 1)}, as PNG, SVG and PDF, with the data as CSV.")


def judge(rows: "pd.DataFrame", json_file: Path | None, markdown_file: Path | None) -> "list[Finding]":
    """Test the claims on results, write the findings to files, and print them."""
    from rich.console import Console

    from ciabench.files import written_whole
    from ciabench.findings import verdicts
    from ciabench.findings.claims import check_claims

    findings = check_claims(rows)
    for file, text in ((json_file, verdicts.to_json), (markdown_file, verdicts.to_markdown)):
        if file is not None:
            with written_whole(file) as unfinished:
                unfinished.write_text(text(findings), encoding="utf-8")
    if findings:
        Console().print(verdicts.to_table(findings))
    else:
        click.echo("These rows hold none of the paper's worlds, so there is no claim to test.")
    return findings
