"""What the fault tests and their long forms share: a small experiment, and its rows as bytes."""

import io
import json
import os
import resource
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
from ciabench.lab.storage.export import write
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


def exported(store_path, everything=False):
    """Rows of a store without timings, as bytes: those that its experiment asks for, or everything that it keeps."""
    stream = io.StringIO(newline="")
    with Store(store_path) as store:
        write(store, "csv", stream, timings=False, view=store.everything() if everything else None)
    return stream.getvalue().encode()


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


def forked(*arguments, first):
    """Run a command in a fork of this process, which has all imports done, after a first step."""
    reading, writing = os.pipe()
    started = os.fork()
    if not started:
        try:
            first()
            os.write(writing, json.dumps(asked(*arguments)).encode())
        except BaseException:
            traceback.print_exc()
            os._exit(70)
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        answer = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(started, 0)[1])
    return Finished(*json.loads(answer)) if code == 0 else Finished(code, "", "")


def limited(size):
    """Before a command starts: no file may grow beyond so many bytes, as on a disk that is full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


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
