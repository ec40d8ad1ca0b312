"""EM at another commit and here, side by side: `python experiments/speed_against.py FOLDER`, a checkout of that commit.

Two processes on one core, one with the package of each folder, take turns on the same data. Times are of the processor;
the ratio is that of the other commit to this one, so that above 1 this one is faster. Of every setting it prints

- `fit`: fits of EM with 20 restarts, each side from its own starts, so that E steps may differ;
- `one`: the same with one restart;
- `step`: eight restarts for a fixed number of E steps from the same starts, all restarts to the end: what kernels cost;
- `rest`: fits of one E step per restart, so nearly all that is not a step: checks, merging of rows, starts.

`--fits` leaves out the last two, which a commit without `pieces` cannot do. `--same` compares the fits instead, on
problems of the paper's sizes: all fitted attributes, to the last bit.
"""

import argparse
import heapq
import itertools
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ciabench import EM, CIAFamily

ROOM = "latent" if find_spec("ciabench.latent") else "learners"  # where the kernels were before they moved
HAS_PIECES = find_spec(f"ciabench.{ROOM}.pieces") is not None

SIZES = ((100, 10), (1000, 10), (10000, 10), (100, 75), (1000, 75), (10000, 75), (1000, 500))
RESTARTS, TOLERANCE, SAMPLES = 20, 1e-8, 5
LANES, STEPS = 8, 60
FITS, PARTS = ("fit", "one"), ("step", "rest")
BUDGET = 0.05
"""Seconds of work per turn."""


def draw(size: int, n: int, number: int, k: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Draw a sample of CIA(n, k, 0.9)."""
    X, y = CIAFamily(n, k, 0.9).draw(rng=size + n + number).sample(size, rng=number)
    return X, y


def works(samples: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, Callable[[], Any]]:
    """What is timed with some samples, by the package that this process imports."""

    def fit(n_init: int = RESTARTS, **options: Any) -> int:
        models = [EM(n_init=n_init, tol=TOLERANCE, random_state=0, **options).fit(X, y) for X, y in samples]
        return sum(steps_of_lanes([path.size for path in model.restart_paths_]) for model in models)

    fits = {"fit": fit, "one": lambda: fit(1), "rest": lambda: fit(max_iter=1)}
    return {**fits, "step": steps_of_kernels(*samples[0])} if HAS_PIECES else fits


def steps_of_kernels(X: np.ndarray, y: np.ndarray) -> Callable[[], Any]:
    """E steps of eight restarts."""
    pieces, restarts = (import_module(f"ciabench.{ROOM}.{name}") for name in ("pieces", "restarts"))
    problem = pieces.make_problem(np.column_stack([y, X]), np.ones(y.size), 0.0)
    starts = np.random.default_rng(0).uniform(0.2, 0.8, (LANES, 2, X.shape[1] + 2))
    starts[:, :, 0] = 0.5

    return lambda: restarts.maximize(problem, starts, tol=-np.inf, max_iter=STEPS)


def serve() -> None:
    """Answer lines [file of samples, what, repeats] with seconds per call and E steps of fits."""
    warnings.simplefilter("ignore")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    known: dict[str, dict[str, Callable[[], Any]]] = {}
    with threadpool_limits(1):
        for line in sys.stdin:
            file, what, repeats = json.loads(line)
            if file not in known:
                known[file] = works(pickle.loads(Path(file).read_bytes()))
            started = time.process_time()
            for _ in range(repeats):
                answer = known[file][what]()
            spent = (time.process_time() - started) / repeats
            print(json.dumps([spent, answer if what in FITS else 0]), flush=True)


def steps_of_lanes(lengths: list[int]) -> int:
    """E steps of eight lanes together until all restarts, of so many E steps each, have ended."""
    ends = [0] * LANES
    for length in lengths:
        heapq.heapreplace(ends, ends[0] + length + length % 2)
    return max(ends)


def problems(number: int) -> list[tuple[np.ndarray, np.ndarray, dict[str, Any]]]:
    """Data and options of EM: the paper's sizes; some with missing cells, more classes or a prior."""
    grid = itertools.product((10, 75), (2, 3, 5), (10, 30, 100, 300, 1000, 3000))
    found = []
    for index, (n, k, size) in enumerate(itertools.islice(itertools.cycle(grid), number)):
        X, y = draw(size, n, index, k)
        options: dict[str, Any] = {"n_classes": (2, 2, 3)[index % 3], "smoothing": (0.0, 0.0, 0.0, 0.5)[index % 4]}
        if index % 7 == 6:
            X = np.where(np.random.default_rng(index).random(X.shape) < 0.1, np.nan, X)
        found.append((X, y, {**options, "random_state": index}))
    return found


def attributes(of: list[tuple[np.ndarray, np.ndarray, dict[str, Any]]]) -> list[dict[str, bytes]]:
    """Fitted attributes of EM on all problems, as bytes."""
    warnings.simplefilter("ignore")
    found = []
    for X, y, options in of:
        model = EM(**options).fit(X, y)
        values = {name: value for name, value in vars(model).items() if name.endswith("_") and name != "columns_"}
        paths = np.concatenate(values.pop("restart_paths_"))
        found.append({name: np.asarray(value).tobytes() for name, value in {**values, "paths": paths}.items()})
    return found


def process(folder: Path, *arguments: str, **options: Any) -> Any:
    """Run this script in a Python that imports the package of a folder."""
    variables = {**os.environ, "PYTHONPATH": str(folder.resolve() / "src"), "OMP_NUM_THREADS": "1"}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.Popen([sys.executable, __file__, str(folder), *arguments], env=variables, text=True, **options)


def ask(server: Any, *question: Any) -> tuple[float, float]:
    server.stdin.write(json.dumps(question) + "\n")
    server.stdin.flush()
    seconds, steps = json.loads(server.stdout.readline())
    return seconds, steps


def compare_times(folders: tuple[Path, Path], whats: tuple[str, ...], rounds: int, place: Path) -> None:
    """Print medians of both sides and of the ratios of single rounds."""
    servers = [process(folder, "--serve", stdin=subprocess.PIPE, stdout=subprocess.PIPE) for folder in folders]
    print("setting,what,there_ms,here_ms,ratio,lower_quartile,upper_quartile,ratio_of_steps")
    for size, n in SIZES:
        file = place / f"{size}-{n}"
        file.write_bytes(pickle.dumps([draw(size, n, number) for number in range(SAMPLES)]))
        for what in whats:
            print(f'"({size}, {n})",{what},{compare_work(servers, str(file), what, rounds)}', flush=True)
    for server in servers:
        server.communicate()


def compare_work(servers: list[Any], file: str, what: str, rounds: int) -> str:
    """Figures of one line of the table."""
    first = [ask(server, file, what, 1) and ask(server, file, what, 1) for server in servers]
    repeats, spent = max(1, int(BUDGET / min(seconds for seconds, _ in first))), []
    for turn in range(rounds):
        order = (0, 1) if turn % 2 else (1, 0)
        taken = {side: ask(servers[side], file, what, repeats)[0] for side in order}
        spent.append((taken[0], taken[1]))
    there, here = (statistics.median(side) for side in zip(*spent, strict=True))
    low, ratio, high = statistics.quantiles([a / b for a, b in spent], n=4)
    steps = f"{first[0][1] / first[1][1]:.3f}" if what in FITS else ""
    return f"{there * 1e3:.3f},{here * 1e3:.3f},{ratio:.3f},{low:.3f},{high:.3f},{steps}"


def compare_fits(folders: tuple[Path, Path], number: int, place: Path) -> None:
    """Print how many problems have the same fits in both folders, and the first attribute that differs."""
    asked, found = place / "problems", []
    asked.write_bytes(pickle.dumps(problems(number)))
    for side, folder in enumerate(folders):
        answer = place / str(side)
        if process(folder, "--fit", str(asked), str(answer)).wait():
            raise SystemExit(f"{folder}: the fits failed.")
        found.append(pickle.loads(answer.read_bytes()))
    there, here = found
    names = sorted(there[0].keys() & here[0].keys())
    unequal = [(i, name) for i in range(number) for name in names if there[i][name] != here[i][name]]
    alike = number - len({i for i, _ in unequal})
    print(f"{alike} of {number} fits are the same to the last bit in {', '.join(names)}")
    if unequal:
        raise SystemExit(f"problem {unequal[0][0]} differs in {unequal[0][1]}.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="checkout of another commit")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--fits", action="store_true", help="time fits only")
    parser.add_argument("--same", action="store_true", help="compare fits, not times")
    parser.add_argument("--problems", type=int, default=216)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--fit", type=Path, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    folders = options.folder, Path(__file__).parents[1]
    if options.serve:
        serve()
    elif options.fit:
        asked, answer = options.fit
        answer.write_bytes(pickle.dumps(attributes(pickle.loads(asked.read_bytes()))))
    else:
        with tempfile.TemporaryDirectory() as place:
            if options.same:
                compare_fits(folders, options.problems, Path(place))
            else:
                whats = FITS if options.fits else (*FITS, *PARTS)
                compare_times(folders, whats, options.rounds, Path(place))


if __name__ == "__main__":
    main()
