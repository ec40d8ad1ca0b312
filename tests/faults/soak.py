"""Long forms of the fault tests: `python tests/faults/soak.py PART`; `make soak` runs all parts.

Each part works in a folder of its own and prints its figures as its last line; an error ends it before.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parent / "lab")])
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path += [str(HERE), str(HERE.parent / "lab")]

from damage import cuts, flips, refused_stores, refused_tables  # noqa: E402
from harness import TOML, ciabench, experiment, exported, made, refusal  # noqa: E402
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


def kill(folder):
    """200 kills of drivers, 5 of workers, 5 of both."""
    subprocess.run([sys.executable, HERE / "kills.py", folder, "200", "5", "5"], check=True)


def disk(folder):
    """Runs on disks that are full after a random number of bytes, then with room; and on a real small disk."""
    undisturbed, sizes = exported(made(folder / "undisturbed")), random.Random(0)
    (folder / "faults.toml").write_text(TOML)
    full = 0
    for number in range(5):
        out = folder / str(number)
        while full_disk(folder, out, sizes.randrange(1, 250_000)):
            full += 1
            if sizes.random() < 0.5:
                break
        assert ciabench("run", folder / "faults.toml", "--out", out, "--quiet").returncode == 0
        assert exported(out / "faults.db") == undisturbed
    print(f"{small_disk(folder)}; full disks survived: {full} in 5 stores, each the same bytes as undisturbed")


def full_disk(folder, out, size):
    """Run with a limit to the size of files; return whether it was met, which must be reported in one line."""
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    finished = ciabench("run", folder / "faults.toml", "--out", out, "--quiet", preexec_fn=limit)
    return finished.returncode != 0 and bool(refusal(finished))


def small_disk(folder):
    """Run on a file system of 200 kB, where this user may mount one."""
    run = f"{sys.executable} -m ciabench.cli run faults.toml --out small --quiet"
    script = (
        f"mount -t tmpfs -o size=200k tmpfs small || exit 99; {run}; test $? = 2 || exit 1\n"
        f"{sys.executable} -m ciabench.cli status small/faults.db; mount -o remount,size=20m small; {run}"
    )
    (folder / "small").mkdir()
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    if process.returncode == 99 or "unshare" in process.stderr:
        return "a disk of 200 kB could not be mounted here"
    assert process.returncode == 0, process.stderr
    return f"a disk of 200 kB was full after {process.stdout.split()[1]} cells ({process.stderr.strip()}), then resumed"


def damage(folder):
    """Random flipped bits and cut ends in stores and tables."""
    path = made(folder / "made", trials=20)
    expected, store, clock = exported(path), folder / "damaged.db", time.perf_counter()
    refused = refused_stores(flips(path, store, 3_000), store, expected)
    refused_cuts = refused_stores(cuts(path, store, 1_000), store, expected)
    table = folder / "table.csv"
    with Store(path) as opened:
        export(opened, "csv", table)
    target = folder / "copy" / "table.csv"
    target.parent.mkdir()
    Path(f"{target}.json").write_bytes(Path(f"{table}.json").read_bytes())
    tables = refused_tables(flips(table, target, 2_000), target) + refused_tables(cuts(table, target, 500), target)
    print(
        f"flipped bits in a store: 3,000, {refused} refused, all others without effect; cut stores: 1,000, "
        f"{refused_cuts} refused, all others without effect; flipped or cut tables: 2,500, {tables} refused; "
        f"{time.perf_counter() - clock:.0f} s"
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
    """100,000 cells in one store."""
    subprocess.run([sys.executable, HERE / "load.py", "store", folder, "100000"], check=True)


def merge(folder):
    """Ten stores of 10,000 cells."""
    subprocess.run([sys.executable, HERE / "load.py", "merge", folder, "10000"], check=True)


def leak(folder):
    """Memory in 216,000 cells."""
    subprocess.run([sys.executable, HERE / "load.py", "leak", "216000"], check=True)


PARTS = {part.__name__: part for part in (kill, disk, damage, plugins, input, tables, extremes, load, merge, leak)}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made_folder:
        PARTS[sys.argv[1]](Path(made_folder))
