"""The group of commands, and what they share: how mistakes are reported, examples in help, kinds of arguments."""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ciabench import __version__
from ciabench.errors import CIABenchError

FIRST_STEPS = """\
ciabench: when to fit a model with a hidden variable, and when to learn the classifier directly.

  ciabench advise FILE   compare both ways on a table of your own
  ciabench paper         reproduce the paper: run its experiments, draw its figures, test its claims
  ciabench experiments   list the experiments that come with ciabench
  ciabench init          write mine.toml, an experiment of your own to edit and run
  ciabench --help        list all commands
"""


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
            raise click.UsageError(one_line(error.format_message()), error.ctx) from error
        except CIABenchError as error:
            raise _Mistake(one_line(str(error))) from error
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise _Mistake(one_line(f"{where}{error.strerror or error}.")) from error
        except MemoryError as error:
            raise _Mistake("not enough memory.") from error


def one_line(text: str) -> str:
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


class ResultSource(click.Path):
    """A store or table of results, or the name of an experiment that comes with ciabench."""

    name = "source"

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Path of the results: a file, else an experiment's store in results/, else its reference rows."""
        from ciabench.lab import shipped

        path = Path(value)
        if path.exists() or value not in shipped.experiments():
            return super().convert(value, parameter, context)
        own = Path("results") / f"{value}.db"
        if own.exists():
            return own
        table = shipped.reference_table(value)
        click.echo(f"{own} does not exist; using the reference rows of {value}.", err=True)
        return table


SOURCE = ResultSource()
FILE = click.Path(path_type=Path)
FILE_TO_WRITE = click.Path(path_type=Path, dir_okay=False)


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ciabench")
@click.pass_context
def main(context: click.Context) -> None:
    """When to fit a model with a hidden variable, and when to learn the classifier directly."""
    if context.invoked_subcommand is None:
        click.echo(FIRST_STEPS, nl=False)
