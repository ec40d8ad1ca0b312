"""Long forms of the fault tests: `python tests/faults/soak.py PART`; `make soak` runs all parts.

Each part works in a folder of its own and prints its figures as its last lines; an error ends it before.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parent / "lab")])
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
sys.path += [str(HERE), str(HERE.parent / "lab")]

from commands import COMMANDS, shorten_advice  # noqa: E402
from damage import cuts, flips, made_stores, refused_copies, refused_tables  # noqa: E402
from harness import made  # noqa: E402
from plugins import CAUSES, WELL, failures_among  # noqa: E402

from ciabench.lab.storage.export import export  # noqa: E402
from ciabench.lab.storage.store import Store  # noqa: E402

INPUTS = {"experiments": 10_000, "arguments": 1_000, "arrays": 1_000, "parameters": 1_000, "frames": 1_000}


def kill(folder):
    """200 kills of drivers, 8 of workers, 8 of both, in runs of four kinds; and one at every write of a command.

    Of the two commands that take long, every change to a file is a point, and one statement or page in twenty.
    """
    kills, long = [sys.executable, HERE / "kills.py"], ("advise", "figures")
    others = [name for name in COMMANDS if name not in long]
    subprocess.run([*kills, "moments", folder / "moments", "50", "2", "2"], check=True)
    subprocess.run([*kills, "points", folder / "long", "2", *long], check=True)
    subprocess.run([*kills, "points", folder / "points", "1", *others], check=True)


def disk(folder):
    """Commands with limits to the size of files, and on small file systems, where this user may mount one."""
    disks = [sys.executable, HERE / "disks.py"]
    subprocess.run([*disks, "limit", folder / "limit", "5"], check=True)
    apart = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*apart, "true"], stderr=subprocess.DEVNULL).returncode == 0:
        subprocess.run([*apart, *disks, "mount", folder / "mount", "5"], check=True)


def damage(folder):
    """Random flipped bits and cut ends in stores of all commands that leave one, and in tables."""
    clock, shown, path = time.perf_counter(), [], made(folder / "made", trials=20)
    shorten_advice()
    for name, store in {"run": path, **made_stores(folder)}.items():
        n_flips, n_cuts = (3_000, 1_000) if name == "run" else (500, 150)
        flipped, cut = refused_copies(store, folder / "damaged.db", n_flips, n_cuts)
        shown.append(f"{name} {flipped} of {n_flips:,} and {cut} of {n_cuts:,}")
    table = folder / "table.csv"
    with Store(path) as opened:
        export(opened, "csv", table)
    target = folder / "copy" / "table.csv"
    target.parent.mkdir()
    Path(f"{target}.json").write_bytes(Path(f"{table}.json").read_bytes())
    tables = refused_tables(flips(table, target, 2_000), target) + refused_tables(cuts(table, target, 500), target)
    print(
        "stores with a flipped bit, and with a cut end, that were refused, all others without effect: "
        f"{'; '.join(shown)}; flipped or cut tables: 2,500, {tables} refused; {time.perf_counter() - clock:.0f} s"
    )


def input(folder):
    """Input that hypothesis makes up, other input at every run."""
    import warnings

    import inputs
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    warnings.simplefilter("ignore")
    os.chdir(folder)
    tried, clock = dict.fromkeys(INPUTS, 0), time.perf_counter()
    checks = {
        "experiments": (inputs.check_experiment, inputs.experiments(), st.just(folder)),
        "arguments": (inputs.check_arguments, inputs.arguments),
        "arrays": (inputs.check_arrays, inputs.learners, inputs.matrices, inputs.matrices),
        "parameters": (inputs.check_parameters, inputs.values, inputs.values | inputs.matrices, inputs.values),
        "frames": (inputs.check_frame, inputs.frames()),
    }
    for kind, (check, *strategies) in checks.items():
        often = settings(
            max_examples=INPUTS[kind], deadline=60_000, suppress_health_check=list(HealthCheck), database=None
        )
        often(given(st.tuples(*strategies))(_counting(tried, kind, check)))()
    counts = ", ".join(f"{count:,} {kind}" for kind, count in tried.items())
    print(f"inputs tried: {counts}; each answered or refused in one line; {time.perf_counter() - clock:.0f} s")


def _counting(tried, kind, check):
    """Wrap a check of one input so that it counts."""

    def counted(made):
        tried[kind] += 1
        check(*made)

    return counted


def plugins(folder):
    """The misbehaving learners in two workers, at two sizes, also with memory that is written to."""
    hostile = (*CAUSES, "Touches", *WELL)
    failures, scored = failures_among(folder, hostile, jobs=2, trials=2, sizes=[10, 30], time_limit=10.0)
    assert {one.learner for one in failures} == {*CAUSES, "Touches"}
    assert scored == {*WELL, "NaiveBayes", "Random"}
    print(f"misbehaving learners: {len(hostile)}, {len(failures)} scores failed with their cause; others the same bits")


def load(folder):
    """100,000 cells in one store."""
    subprocess.run([sys.executable, HERE / "load.py", "store", folder, "100000"], check=True)


def merge(folder):
    """Ten stores of 10,000 cells."""
    subprocess.run([sys.executable, HERE / "load.py", "merge", folder, "10000"], check=True)


def leak(folder):
    """Memory in 216,000 cells."""
    subprocess.run([sys.executable, HERE / "load.py", "leak", "216000"], check=True)


PARTS = {part.__name__: part for part in (kill, disk, damage, plugins, input, load, merge, leak)}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made_folder:
        PARTS[sys.argv[1]](Path(made_folder))
