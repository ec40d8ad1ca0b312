"""What the fault tests and their long forms share: a small experiment, and its rows as bytes."""

import os
import subprocess
import sys
import tomllib
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from ciabench.cli import main
from ciabench.errors import CIABenchError
from ciabench.lab.plan.experiment import validate
from ciabench.lab.session import run_experiment
from ciabench.lab.storage.export import export
from ciabench.lab.storage.store import Store

TOML = """
name = "faults"
seed = 1997
trials = 60
sizes = [10, 30]
learners = ["NaiveBayes", "Perceptron"]
families = [{ n = [5, 8], k = 2, b = 0.9 }]
"""
SPEC = tomllib.loads(TOML)
LIMIT = 120
"""Seconds after which a command counts as hanging."""


def experiment(**changes):
    """Make the small experiment, with changes."""
    return validate({**SPEC, **changes}, "faults")


def made(folder, jobs=1, **changes):
    """Run the small experiment undisturbed; return the path of its store."""
    run_experiment(experiment(**changes), folder, jobs=jobs, progress="silent")
    return Path(folder) / "faults.db"


def exported(store_path):
    """Rows of a store without timings, as bytes."""
    target = store_path.with_suffix(".csv")
    with Store(store_path) as store:
        export(store, "csv", target, timings=False)
    return target.read_bytes()


class Finished(NamedTuple):
    """Exit code of a command, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def ciabench(*arguments, **options):
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "ciabench.cli", *map(str, arguments)]
    process = subprocess.run(
        command, stderr=subprocess.PIPE, text=True, timeout=LIMIT, **{"stdout": subprocess.PIPE, **options}
    )
    return Finished(process.returncode, process.stdout, process.stderr)


def asked(*arguments):
    """Run a command in this process, where any error but an exit is one of the command."""
    result = CliRunner().invoke(main, list(map(str, arguments)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Finished(result.exit_code, result.stdout, result.stderr)


def refusal(finished):
    """The one line with which a command refused, which is all that it may print."""
    lines = finished.stderr.splitlines()
    assert finished.returncode == 2, finished
    assert "Traceback" not in finished.stderr
    assert lines[-1].startswith("Error: ")
    return lines[-1]


@contextmanager
def answered():
    """What runs here is refused by our errors or those of scikit-learn, if at all."""
    try:
        yield
    except CIABenchError:
        pass
    except (ValueError, TypeError) as error:
        frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        if not any(f"{os.sep}sklearn{os.sep}" in name for name in frames[1:]):
            raise
