"""EM for belief networks against pyAgrum and pgmpy: `python experiments/network_speed.py` (about four minutes).

Same rows, same starting tables, plain EM, one thread, processor time; against pyAgrum with a pseudo-count of 1 on both
sides. An iteration's time is that of many iterations less that of few, so that set-up does not count; the sides take
turns, and medians are shown. "apart" is the largest difference between the tables of both sides after the same number
of iterations, in distributions that some row is expected to be in. Networks are those that pgmpy brings.
"""

import gzip
import logging
import multiprocessing
import resource
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ciabench import BeliefNetwork
from ciabench.latent.networks import em_step
from ciabench.probability.inference import see
from ciabench.probability.messages import expect
from ciabench.probability.network import normalised

MISSING_SHARE = 0.1
ROUNDS = 3
SMOOTHING = 1.0
"""Pseudo-count of both sides, without which pyAgrum refuses alarm: states of parents that no row has."""

BLEND = 0.1
"""Share of uniform distributions in the starting tables, so that none has zeros."""


class Compared(NamedTuple):
    """Seconds per iteration of both sides in every round, and how far apart their tables are."""

    network: str
    size: int
    mine: list[float]
    peer: str
    theirs: list[float]
    apart: float

    @property
    def medians(self) -> tuple[float, float]:
        """Seconds per iteration of our side and of the peer's."""
        return statistics.median(self.mine), statistics.median(self.theirs)


def bif_file(name: str, folder: str) -> Path:
    """Network of pgmpy as a file."""
    packed = Path(find_spec("pgmpy").origin).parent / "utils" / "example_models" / f"{name}.bif.gz"
    path = Path(folder) / f"{name}.bif"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


def with_missing(rows: pd.DataFrame, share: float, seed: int = 0) -> pd.DataFrame:
    return rows.mask(np.random.default_rng(seed).random(rows.shape) < share)


def prepared(network: BeliefNetwork, rows: pd.DataFrame) -> tuple[Any, Any, Any]:
    """Network, evidence and starting parameters of our side."""
    inside, states = network._asked(rows)
    start = (1 - BLEND) * network._theta + BLEND * normalised(inside, np.ones(inside.size))
    return inside, see(inside, states), start


def our_steps(inside: Any, evidence: Any, theta: Any, n: int, smoothing: float = 0.0) -> Any:
    """Parameters after n iterations."""
    for _ in range(n):
        theta = em_step(inside, evidence, theta, smoothing)[1]
    return theta


def has_rows(inside: Any, evidence: Any, theta: Any) -> Any:
    """Which parameters belong to distributions that are not without rows."""
    counts = evidence.counts.copy()
    expect(evidence.tasks.programs, theta, counts)
    return np.repeat(np.add.reduceat(counts, inside.groups[:-1]), np.diff(inside.groups)) > 1e-9


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def slope(run: Callable[[int], tuple[float, int, Any]], few: int, many: int) -> tuple[float, Any]:
    """Seconds per iteration, and the result of many iterations."""
    one, other = run(few), run(many)
    return (other[0] - one[0]) / max(other[1] - one[1], 1), other[2]


def ours(inside: Any, evidence: Any, start: Any, n_iterations: int, smoothing: float = 0.0) -> tuple[float, Any]:
    """Seconds per iteration of our side, and its parameters after so many of them."""

    def run(n: int) -> tuple[float, int, Any]:
        taken, theta = seconds(lambda: our_steps(inside, evidence, start, n, smoothing))
        return taken, n, theta

    run(100)
    return slope(run, 100, 1_100)[0], our_steps(inside, evidence, start, n_iterations, smoothing)


def pyagrum_steps(path: Path, network: BeliefNetwork, rows: pd.DataFrame, few: int, many: int) -> tuple[float, Any]:
    """Seconds per iteration of pyAgrum, and its parameters in our order."""
    import pyagrum as gum

    gum.setNumberOfThreads(1)
    inside = network._fitted

    def run(n: int) -> tuple[float, int, Any]:
        template = gum.loadBN(str(path))
        for name in inside.names:
            cpt = template.cpt(name)
            uniform = 1 / template.variable(name).domainSize()
            cpt.fillWith(((1 - BLEND) * cpt.toarray() + BLEND * uniform).ravel().tolist())
        learner = gum.BNLearner(rows.fillna("?"), template, ["?"])
        learner.useSmoothingPrior(SMOOTHING)
        learner.useEMWithRateCriterion(1e-300, 0.0)
        learner.EMsetMaxIter(n)
        taken, learned = seconds(lambda: learner.learnParameters(template))
        return taken, learner.EMnbrIterations(), (learner.EMnbrIterations(), learned)

    taken, (n_iterations, learned) = slope(run, few, many)
    flat = []
    for name, family in zip(inside.names, inside.families, strict=True):
        cpt = learned.cpt(name)
        names, order = list(cpt.names), [inside.names[one] for one in family]
        table = cpt.toarray()  # its axes are in the reverse order of its names
        flat.append(np.transpose(table, [names[::-1].index(one) for one in order]).ravel())
    return taken, (n_iterations, np.concatenate(flat))


def against_pyagrum(name: str, size: int, few: int, many: int, rounds: int = ROUNDS) -> Compared:
    """A network with missing cells."""
    with tempfile.TemporaryDirectory() as folder:
        path = bif_file(name, folder)
        network = BeliefNetwork.from_bif(path)
        rows = with_missing(network.sample(size, random_state=0), MISSING_SHARE)
        inside, evidence, start = prepared(network, rows)
        our_steps(inside, evidence, start, 1)
        mine, theirs = [], []
        for _ in range(rounds):
            taken, (n_iterations, tables) = pyagrum_steps(path, network, rows, few, many)
            theirs.append(taken)
            taken, theta = ours(inside, evidence, start, n_iterations, SMOOTHING)
            mine.append(taken)
    apart = np.abs(tables - theta)[has_rows(inside, evidence, theta)].max()
    return Compared(f"{name}, 10% missing", size, mine, "pyAgrum", theirs, float(apart))


def against_pgmpy(size: int, few: int = 2, many: int = 6, rounds: int = ROUNDS) -> Compared:
    """One hidden variable, bronc, in asia."""
    logging.disable(logging.WARNING)
    from pgmpy.estimators import ExpectationMaximization
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    with tempfile.TemporaryDirectory() as folder:
        network = BeliefNetwork.from_bif(bif_file("asia", folder))
    rows = network.sample(size, random_state=0).drop(columns="bronc")
    inside, evidence, start = prepared(network, rows)
    names = {one: list(network.states_[one]) for one in inside.names} | {"bronc": [0, 1]}
    cpds = {}
    for family, table in zip(inside.families, inside.tables(start), strict=True):
        *above, name = [inside.names[one] for one in family]
        values = table.reshape(-1, 2).T
        cpds[name] = TabularCPD(
            name, 2, values, above or None, [2] * len(above) or None, {one: names[one] for one in (*above, name)}
        )

    def run(n: int) -> tuple[float, int, Any]:
        model = DiscreteBayesianNetwork(list(network.to_networkx().edges), latents={"bronc"})
        estimator = ExpectationMaximization(model, rows, state_names={k: v for k, v in names.items() if k != "bronc"})
        options = {"latent_card": {"bronc": 2}, "max_iter": n, "atol": 0, "show_progress": False}
        taken, found = seconds(lambda: estimator.get_parameters(init_cpds=dict(cpds), **options))
        return taken, n, found

    mine, theirs = [], []
    for _ in range(rounds):
        taken, found = slope(run, few, many)
        theirs.append(taken)
        taken, theta = ours(inside, evidence, start, many)
        mine.append(taken)
    tables = {cpd.variable: cpd for cpd in found}
    flat = []
    for family in inside.families:
        *above, name = [inside.names[one] for one in family]
        assert all(tables[name].state_names[one] == names[one] for one in (*above, name))
        values = tables[name].reorder_parents(above, inplace=False) if above else tables[name].get_values()
        flat.append(values.T.ravel())
    apart = float(np.abs(np.concatenate(flat) - theta)[has_rows(inside, evidence, theta)].max())
    return Compared("asia, bronc hidden", size, mine, "pgmpy", theirs, apart)


def line(found: Compared) -> dict[str, Any]:
    """Line of the table."""
    one, other = found.medians
    return {
        "network": found.network,
        "rows": found.size,
        "ours, ms": f"{1e3 * one:.3f}",
        "peer": found.peer,
        "peer's, ms": f"{1e3 * other:.1f}",
        "ratio": f"{other / one:,.0f}",
        "rounds": ", ".join(f"{b / a:,.0f}" for a, b in zip(found.mine, found.theirs, strict=True)),
        "apart": f"{found.apart:.0e}",
    }


def alone(name: str, size: int) -> dict[str, Any]:
    """Time and memory of a network in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        network = BeliefNetwork.from_bif(bif_file(name, folder))
    rows = with_missing(network.sample(size, random_state=0), MISSING_SHARE)
    network.score_samples(rows[:10])
    set_up, (inside, evidence, start) = seconds(lambda: prepared(network, rows))
    our_steps(inside, evidence, start, 1)
    step = seconds(lambda: our_steps(inside, evidence, start, 20))[0] / 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taken, fitted = seconds(lambda: BeliefNetwork(network.edges, states=network.states, n_init=1).fit(rows))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    programs = sum(np.asarray(part).nbytes for part in evidence.tasks.programs)
    return {
        "network": f"{name}, 10% missing",
        "rows": size,
        "variables": inside.n_variables,
        "parameters": fitted.n_parameters_,
        "set-up, s": f"{set_up:.2f}",
        "iteration, ms": f"{1e3 * step:.2f}",
        "fit from one start, s": f"{taken:.2f}",
        "iterations": fitted.n_iter_,
        "programs, MB": f"{programs / 2**20:.1f}",
        "peak of the process, MB": f"{used / 1024:.0f}",
    }


def main() -> None:
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", "[^.]*learnParameters", UserWarning)
    peers = [against_pyagrum("asia", 1_000, 2, 8), against_pyagrum("asia", 5_000, 2, 6)]
    peers += [against_pyagrum("alarm", 1_000, 1, 3), against_pgmpy(1_000)]
    print(pd.DataFrame(map(line, peers)).to_string(index=False))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        tasks = [pool.submit(alone, name, 1_000) for name in ("asia", "alarm", "hailfinder", "hepar2")]
        print(pd.DataFrame([task.result() for task in tasks]).to_string(index=False))


if __name__ == "__main__":
    main()
