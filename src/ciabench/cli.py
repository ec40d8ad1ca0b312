"""The command line: parses arguments, calls the library, prints. Heavy imports wait until a command needs them."""

import inspect
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ciabench import __version__
from ciabench.errors import CIABenchError

if TYPE_CHECKING:
    import pandas as pd

    from ciabench.lab.plan.experiment import Experiment
    from ciabench.lab.storage.records import Counts, Failure

SHOWN_FAILURES = 10
SOURCE = click.Path(path_type=Path)
FILE_TO_WRITE = click.Path(path_type=Path, dir_okay=False)


class Commands(click.Group):
    """Commands that report a user's mistake in one line, with exit code 2."""

    def invoke(self, context: click.Context) -> Any:
        """Run a command; report the errors that users can cause in one line. A closed pipe is not an error."""
        try:
            try:
                return super().invoke(context)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:
            raise
        except click.UsageError as error:
            raise click.UsageError(_one_line(error.format_message()), error.ctx) from error
        except CIABenchError as error:
            raise _Mistake(_one_line(str(error))) from error
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise _Mistake(_one_line(f"{where}{error.strerror or error}.")) from error
        except MemoryError as error:
            raise _Mistake("not enough memory.") from error


def _one_line(text: str) -> str:
    """Text without line breaks and terminal control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


class _Mistake(click.ClickException):
    exit_code = 2


def example(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add an example to the help of a command."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        command.__doc__ = f"{inspect.getdoc(command)}\n\n\b\nExample:\n  {text}\n"
        return command

    return add


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ciabench")
def main() -> None:
    """When to fit a model with a hidden variable, and when to learn the classifier directly."""


@main.command()
@click.argument("file", required=False, type=SOURCE)
@click.option("--from", "source", type=SOURCE, help="Repeat the experiment of a store or export.")
@click.option("--out", default="results", show_default=True, type=SOURCE, help="Result folder.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(min=1), help="Worker processes.")
@click.option("--trials", type=click.IntRange(min=1), help="Trials per world (overrides the file).")
@click.option("--retry-failed", is_flag=True, help="Recompute scores that failed before.")
@click.option(
    "--allow-imports", is_flag=True, help="Import the classes named in a file from elsewhere, which runs their code."
)
@click.option(
    "--backend",
    default="processes",
    show_default=True,
    type=click.Choice(["processes", "dask"]),
    help="Where cells are computed.",
)
@click.option("--scheduler", help="Address of a Dask cluster (default with --backend dask: start a local one).")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@example("ciabench run experiments/paper.toml --out results --jobs 2")
def run(
    file: Path | None, source: Path | None, trials: int | None, allow_imports: bool, quiet: bool, **options: Any
) -> None:
    """Run an experiment, or resume it: only what is missing is computed.

    The file is a view, the store a memory: results of what is removed from the file stay in the store, and reappear
    when the file asks for them again. Learners and worlds named as "package.module:Class" are imported, which runs
    their code; imported modules are listed first. For files outside the current folder, and for --from,
    --allow-imports is required.
    """
    from ciabench.lab.session import run_experiment

    experiment = _experiment(file, source, trials)
    if imports := ", ".join(experiment.imports()):
        if not (allow_imports or (file is not None and file.resolve().is_relative_to(Path.cwd()))):
            raise click.UsageError(f"{file or source}: imports {imports}; give --allow-imports if you trust them.")
        if not quiet:
            click.echo(f"{file or source}: imports {imports}.", err=True)
    folder = options.pop("out")
    try:
        counts = run_experiment(experiment, folder, progress="silent" if quiet else "full", **options)
    except KeyboardInterrupt:
        command = " ".join(["ciabench", *sys.argv[1:]])
        click.echo(f"\nstopped; finished work is kept. Resume with: {command}", err=True)
        sys.exit(130)
    if not quiet:
        click.echo(f"{folder / experiment.name}.db: {counts.done} scores done, {counts.failed} failed.")
    sys.exit(1 if counts.failed else 0)


@main.command()
@click.argument("source", type=SOURCE)
@example("ciabench status results/paper.db")
def status(source: Path) -> None:
    """Show progress and failures of an experiment, from its store or an exported table."""
    from ciabench.lab.storage.rows import is_table, read
    from ciabench.lab.storage.store import Store

    if is_table(source):
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
    lines += [f"failed  {_one_line(f'{failure.place}: {failure.cause}')}" for failure in failures[:SHOWN_FAILURES]]
    if len(failures) > SHOWN_FAILURES:
        lines.append(f"failed  … and {len(failures) - SHOWN_FAILURES} more")
    return lines


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
    """Write the rows of a store as a table, with the information needed to reproduce it."""
    from ciabench.lab.storage import export as tables
    from ciabench.lab.storage.store import Store

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
@click.option("--out", default="results/figures", show_default=True, type=SOURCE, help="Output folder.")
@example("ciabench figures results/paper.db --out results/figures")
def figures(sources: tuple[Path, ...], out: Path) -> None:
    """Draw the curves of every world, and an overview of all: PNG, SVG and PDF, with the data as CSV."""
    import matplotlib

    matplotlib.use("agg")
    from ciabench.findings.figures import write_figures

    written = write_figures(_combined_rows(sources), out)
    click.echo(f"{out}: {len(written)} files, {written[0].name} to {written[-1].name}.")


@main.command()
@click.argument("sources", nargs=-1, required=True, type=SOURCE)
@click.option("--json", "json_file", type=FILE_TO_WRITE, help="Write the findings to this file as JSON.")
@click.option("--markdown", "markdown_file", type=FILE_TO_WRITE, help="Write the tables to this file as Markdown.")
@example("ciabench claims results/paper.db results/omitted.db --markdown results/claims.md")
def claims(sources: tuple[Path, ...], json_file: Path | None, markdown_file: Path | None) -> None:
    """Test the paper's claims on results (stores or tables); exit with 1 if one is not reproduced."""
    from rich.console import Console

    from ciabench.files import written_whole
    from ciabench.findings import verdicts
    from ciabench.findings.claims import check_claims

    findings = check_claims(_combined_rows(sources))
    for file, text in ((json_file, verdicts.to_json), (markdown_file, verdicts.to_markdown)):
        if file is not None:
            with written_whole(file) as unfinished:
                unfinished.write_text(text(findings), encoding="utf-8")
    if findings:
        Console().print(verdicts.to_table(findings))
    else:
        click.echo("These rows hold none of the paper's worlds, so there is no claim to test.")
    sys.exit(1 if any(finding.verdict == "not reproduced" for finding in findings) else 0)


@main.command()
@click.argument("sources", nargs=-1, required=True, type=SOURCE)
@click.option("--out", type=FILE_TO_WRITE, help="Output file (default: beside the first source, as .html).")
@example("ciabench report results/paper.db results/spelling.db --out results/report.html")
def report(sources: tuple[Path, ...], out: Path | None) -> None:
    """Write a web page with curves, differences, claims, failures and provenance.

    The page combines all sources, stores and exported tables, and opens in any browser.
    """
    from ciabench.findings.report import write_report

    path = out or sources[0].parent / f"{sources[0].name.partition('.')[0]}.html"
    write_report(sources, path)
    click.echo(f"{path}: open it in a browser.")


@main.command()
@click.argument("new", type=SOURCE)
@click.argument("baseline", type=SOURCE)
@click.option("--exact", is_flag=True, help="Require the rows that both have to be bit-identical.")
@example("ciabench compare results/paper.db results/reference/paper.csv.gz")
def compare(new: Path, baseline: Path, exact: bool) -> None:
    """Compare the T curves of two results (stores or tables); exit with 1 if one has changed."""
    from ciabench.findings import regression

    comparison = regression.compare(new, baseline, exact=exact)
    click.echo(comparison.report())
    sys.exit(1 if comparison.verdict == "changed" else 0)


@main.command()
@click.option(
    "--pair", "names", multiple=True, help="Two words, as in passed,past (default: all pairs of the experiment)."
)
@click.option("--corpus", default="sotu", show_default=True, help="File or folder of text, plain or as word/tag.")
@click.option("--try", "sentence", help="A sentence with a blank, ___, to fill in.")
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes (default: one per core).")
@example('ciabench spelling --try "I did not know ___ to laugh or cry" --pair weather,whether')
def spelling(names: tuple[str, ...], corpus: str, sentence: str | None, jobs: int | None) -> None:
    """Choose between easily confused words: accuracy in % on held-out documents, or the word that fits a blank.

    * marks a learner significantly above the majority, ° one below it (paired test over five splits, 5% level).
    """
    from rich.console import Console

    from ciabench.findings.spelling import to_table
    from ciabench.lab import spelling as lab
    from ciabench.world.pairs import DEFAULT_PAIRS, named_pairs

    pairs = [pair for name in names for pair in named_pairs(name)] or list(DEFAULT_PAIRS)
    if sentence is None:
        rows = lab.measure(pairs, corpus, jobs or os.cpu_count() or 1)
        Console().print(to_table(rows, list(lab.LEARNERS)))
        return
    if len(pairs) != 1:
        raise click.UsageError("--try needs one --pair of two words.")
    answer = lab.answer(sentence, pairs[0], corpus)
    click.echo(answer.word)
    for feature, weight in answer.evidence.items():
        click.echo(f"{weight:+9.3f}  {feature}")


@main.command()
@example("ciabench info")
def info() -> None:
    """Print versions, BLAS, processor and threads."""
    from ciabench.lab.storage.provenance import environment

    click.echo(json.dumps(environment(), indent=2))


@main.command()
@example("ciabench schema > experiment.schema.json")
def schema() -> None:
    """Print the JSON schema of experiment files."""
    from ciabench.lab.plan import experiment

    click.echo(json.dumps(experiment.schema(), indent=2))


def _combined_rows(sources: tuple[Path, ...]) -> "pd.DataFrame":
    """Rows of all sources in one DataFrame."""
    from ciabench.findings.selection import combined
    from ciabench.lab.storage.rows import read

    return combined(read(source).rows for source in sources)


def _experiment(file: Path | None, source: Path | None, trials: int | None) -> "Experiment":
    """Read the experiment from its file or from results."""
    from ciabench.lab.plan import experiment as files
    from ciabench.lab.storage.rows import spec_of

    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    if file is not None and source is None:
        experiment = files.load(file)
    elif source is not None and file is None:
        experiment = files.validate(spec_of(source), str(source))
    else:
        raise click.UsageError("give an experiment file, or --from a store or export.")
    return experiment if trials is None else experiment.model_copy(update={"trials": trials})


if __name__ == "__main__":
    main()
