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
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parent), str(HERE.parent / "lab")])
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
sys.path += [str(HERE), str(HERE.parent), str(HERE.parent / "lab")]

from commands import COMMANDS, shorten_advice  # noqa: E402
from damage import cuts, flips, made_stores, refused_copies, refused_tables  # noqa: E402
from harness import experiment, made  # noqa: E402
from plugins import CAUSES, WELL, failures_among  # noqa: E402

from ciabench.lab.storage.export import export  # noqa: E402
from ciabench.lab.storage.store import Store  # noqa: E402

INPUTS = {"experiments": 10_000, "arguments": 1_000, "arrays": 1_000, "parameters": 1_000, "frames": 1_000}
TABLES = {
    "CSV files": 5_000,
    "Parquet files": 2_500,
    "DataFrames": 2_500,
    "networks": 2_000,
    "changed stores": 300,
    "advised": 10,
}

PROBLEMS, PROBLEMS_AT_ONCE = 5_000, 250


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
    import inputs
    from hypothesis import strategies as st

    os.chdir(folder)
    clock = time.perf_counter()
    checks = {
        "experiments": (inputs.check_experiment, inputs.experiments(), st.just(folder)),
        "arguments": (inputs.check_arguments, inputs.arguments),
        "arrays": (inputs.check_arrays, inputs.learners, inputs.matrices, inputs.matrices),
        "parameters": (inputs.check_parameters, inputs.values, inputs.values | inputs.matrices, inputs.values),
        "frames": (inputs.check_frame, inputs.frames()),
    }
    counts = _tried(checks, INPUTS)
    print(f"inputs tried: {counts}; each answered or refused in one line; {time.perf_counter() - clock:.0f} s")


def tables(folder):
    """Tables, networks and stores as attackers make them, others at every run."""
    import readers
    import tables as cases
    from hypothesis import strategies as st

    os.chdir(folder)
    clock, here, small = time.perf_counter(), st.just(folder), st.just(experiment(trials=3))
    content = st.just(made(folder / "store", trials=3).read_bytes())
    checks = {
        "CSV files": (cases.check_table_file, cases.texts_of_tables(), cases.suffixes, here),
        "Parquet files": (cases.check_table_file, cases.parquets(), st.just(".parquet"), here),
        "DataFrames": (cases.check_table, cases.tables()),
        "networks": (readers.check_network, readers.networks(), here),
        "changed stores": (readers.check_store, content, readers.tampers(), here, small),
        "advised": (cases.check_advice, cases.texts_of_tables(), here),
    }
    counts = _tried(checks, TABLES)
    print(f"tables tried: {counts}; each answered or refused in one line; {time.perf_counter() - clock:.0f} s")


def extremes(folder):
    """The largest tables, bombs and files without end, within limits of time and memory."""
    import extremes as cases

    clock = time.perf_counter()
    found = cases.outcomes(folder / "made", 100)
    answered = [name for name, text in found.items() if text == "answered"]
    assert all(name in answered or text.startswith("refused: ") for name, text in found.items()), found
    print(
        f"extreme cases: {len(found)} within {cases.MEMORY >> 30} GB and {10 * cases.SECONDS} s each: "
        f"{len(found) - len(answered)} refused in one line; answered: {', '.join(answered)}; "
        f"{time.perf_counter() - clock:.0f} s"
    )


def _tried(checks, numbers):
    """Try as many made-up inputs of each kind; return how many there were."""
    import warnings

    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    warnings.simplefilter("ignore")
    tried = dict.fromkeys(numbers, 0)
    for kind, number in numbers.items():
        check, *strategies = checks[kind]
        often = settings(max_examples=number, deadline=60_000, suppress_health_check=list(HealthCheck), database=None)
        often(given(st.tuples(*strategies))(_counting(tried, kind, check)))()
    return ", ".join(f"{count:,} {kind}" for kind, count in tried.items())


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
    """A million cells in one store."""
    subprocess.run([sys.executable, HERE / "load.py", "store", folder, "1000000"], check=True)


def merge(folder):
    """Ten stores of 10,000 cells."""
    subprocess.run([sys.executable, HERE / "load.py", "merge", folder, "10000"], check=True)


def leak(folder):
    """Memory in two million cells."""
    subprocess.run([sys.executable, HERE / "load.py", "leak", "2000000"], check=True)


def numbers(folder):
    """5,000 random problems for each learner with hidden variables, beside plain implementations."""
    from checks import BOUNDS, worst_of
    from joblib import Parallel, delayed

    clock, shown = time.perf_counter(), []
    with Parallel(n_jobs=2) as parallel:
        for name, bound in BOUNDS.items():
            starts = range(0, PROBLEMS, PROBLEMS_AT_ONCE)
            parts = (delayed(worst_of)(name, range(start, start + PROBLEMS_AT_ONCE)) for start in starts)
            worst = max(parallel(parts))
            assert worst < bound, (name, worst)
            shown.append(f"{name} {worst:.0e}")
    print(
        f"{PROBLEMS:,} problems for each of {len(shown)} learners; largest relative differences from plain "
        f"implementations: {', '.join(shown)}; {time.perf_counter() - clock:.0f} s"
    )


def determinism(folder):
    """Learners on other kinds of processor, and an experiment computed in every way."""
    from determinism import across_processors, in_any_order, whichever_way

    clock, ways = time.perf_counter(), [whichever_way(folder), in_any_order()]
    shown = "; ".join([*ways, *across_processors(folder)])
    print(f"{shown}; {time.perf_counter() - clock:.0f} s")


PARTS = {
    part.__name__: part
    for part in (kill, disk, damage, plugins, input, tables, extremes, load, merge, leak, numbers, determinism)
}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made_folder:
        PARTS[sys.argv[1]](Path(made_folder))
