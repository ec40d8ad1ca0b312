"""What learners give under other kinds of processor, and what experiments give whichever way they are computed.

`python tests/faults/determinism.py FILE` keeps the numbers of every learner in FILE; with other settings of numba and
OpenBLAS it is run by `soak.py determinism`, which compares them.
"""

import os
import random
import subprocess
import sys
from itertools import chain

import numpy as np
import pandas as pd
from harness import experiment, exported

from ciabench import (
    COV,
    EM,
    BayesianMixture,
    BeliefNetwork,
    CIAFamily,
    LatentClass,
    NaiveBayes,
    Perceptron,
    Winnow,
    learning_curve,
)
from ciabench.lab.compute.runner import run_cells
from ciabench.lab.compute.workers import pool
from ciabench.lab.session import run_experiment
from ciabench.seeds import Seed

PROCESSORS = {
    "generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "Haswell": {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma"},
    "OpenBLAS as on Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
}
"""Settings under which compiled kernels, or OpenBLAS, take a processor for another one."""

OF_BITS = {
    "EM": EM(random_state=0), "EM, 3 classes": EM(n_classes=3, random_state=0), "COV": COV(),
    "Winnow": Winnow(random_state=0), "Perceptron": Perceptron(), "NaiveBayes": NaiveBayes(),
    "BayesianMixture": BayesianMixture(max_sweeps=50, random_state=0),
}  # fmt: skip


def numbers():
    """Numbers of every learner by name, and of the worlds that they learn from."""
    found = {}
    for n in (10, 75):
        task = CIAFamily(n, 3, 0.9).task(Seed((0,)))
        X, y = task.training(200)
        scored = {name: learner.fit(X, y) for name, learner in OF_BITS.items()}
        found |= {f"{name} ({n})": learner.decision_function(X) for name, learner in scored.items()}
        found[f"limit ({n})"] = task.references["limit"](X, y).rule.coefficients
        found[f"rows ({n})"] = np.column_stack([y, X])
        found[f"scores ({n})"] = np.array([task.judge.score(learner).success for learner in scored.values()])
    rows = learning_curve(CIAFamily(10, 3, 0.9), OF_BITS, sizes=[30, 100], trials=10, random_state=0)
    for name, own in rows.groupby("learner"):
        found[f"success of {name} in {len(own)} rows"] = own["success"].to_numpy()
    return found | of_tables(mixed_table(X, y), y)


def of_tables(table, y):
    """Numbers of the learners of tables."""
    found = {"EM (table)": EM(n_init=5, random_state=0).fit(table, y).decision_function(table)}
    for covariance in ("diag", "full"):
        latent = LatentClass(n_init=5, covariance=covariance, random_state=0).fit(table)
        found[f"LatentClass ({covariance})"] = latent.score_samples(table)
    discrete = table.select_dtypes(exclude="number").join(table[["bit", "other", "third"]])
    network = BeliefNetwork([("z", name) for name in discrete], hidden={"z": 2}, n_init=5, random_state=0).fit(discrete)
    found["BeliefNetwork"] = network.score_samples(discrete)
    return found


def mixed_table(X, y):
    """Columns of all kinds, with missing cells."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"bit": np.where(rng.random(len(y)) < 0.1, np.nan, X[:, 0])})
    table["level"] = np.array(list("abc"))[X[:, 1] + y]
    table["other"], table["third"] = X[:, 3] + 0.0, X[:, 4] + 0.0
    for column in ("first", "second"):
        table[column] = np.where(rng.random(len(y)) < 0.1, np.nan, rng.normal(2.0 * X[:, 2] + y))
    return table


def numbers_as(folder, processor=None):
    """The same, of a process that takes the processor for another one and compiles its kernels for that."""
    path, environment = folder / f"{processor}.npz", dict(os.environ)
    if processor in PROCESSORS:
        environment |= PROCESSORS[processor]
        if any(name.startswith("NUMBA") for name in PROCESSORS[processor]):
            environment["NUMBA_CACHE_DIR"] = str(folder / f"kernels {processor}")
    subprocess.run([sys.executable, "-W", "ignore", __file__, path], check=True, env=environment)
    with np.load(path) as kept:
        return {name: kept[name] for name in kept}


def difference(one, other):
    """Largest difference relative to the largest number."""
    return float(np.abs(one - other).max() / np.abs(one).max())


def across_processors(folder):
    """For every kind of processor: learners with the same bits, and the differences of the others."""
    native, lines = numbers_as(folder), []
    again = numbers_as(folder, "again")
    assert all(native[name].tobytes() == again[name].tobytes() for name in native)
    for processor in PROCESSORS:
        other = numbers_as(folder, processor)
        is_same = {name: native[name].tobytes() == other[name].tobytes() for name in native}
        same = ", ".join(name for name in native if is_same[name])
        apart = {name: difference(native[name], other[name]) for name in native if not is_same[name]}
        rest = ", ".join(f"{name} {one:.0e}" for name, one in apart.items())
        lines.append(f"{processor}: same bits {same or 'none'}; largest relative differences {rest or 'none'}")
    return lines


EVERY = ["EM", "COV", "Winnow", "Perceptron", "NaiveBayes", {"use": "BayesianMixture", "max_sweeps": 50}]


def whichever_way(folder):
    """Run an experiment of all learners by 1, 2 and 4 workers and on a Dask cluster; compare exported bytes."""
    made = experiment(learners=EVERY, trials=6, references=["limit"])
    ways = {"1 worker": {"jobs": 1}, "2 workers": {"jobs": 2}, "4 workers": {"jobs": 4}}
    ways["a Dask cluster of 2"] = {"jobs": 2, "backend": "dask"}
    tables = {}
    for way, options in ways.items():
        run_experiment(made, folder / way, progress="silent", **options)
        tables[way] = exported(folder / way / "faults.db")
    assert len(set(tables.values())) == 1, {way: hash(table) for way, table in tables.items()}
    return f"{tables['1 worker'].count(10) - 1} rows the same bytes by {', '.join(ways)}"


def outcomes(plan, jobs):
    """Scores of cells, in the order of their places, as they come from a worker."""
    with pool(jobs=1) as workers:
        cells = chain.from_iterable(run_cells(plan, jobs, workers))
        found = {
            (cell.world, cell.trial): [score._replace(fit_seconds=None) for score in cell.scores] for cell in cells
        }
    return [found[place] for place in sorted(found)]


def in_any_order():
    """The cells of an experiment in another order."""
    plan = experiment(learners=EVERY, trials=4).plan()
    jobs = list(plan.jobs())
    expected = outcomes(plan, jobs)
    random.Random(0).shuffle(jobs)
    assert outcomes(plan, jobs) == expected
    return f"{len(jobs)} cells the same in shuffled order"


if __name__ == "__main__":
    np.savez(sys.argv[1], **numbers())
