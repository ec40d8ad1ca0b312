from dataclasses import dataclass, replace
from itertools import product

import matplotlib
import numpy as np
import pandas as pd
import pytest

from ciabench.lab.plan.experiment import validate
from ciabench.lab.plan.outcome import CellOutcome, ScoreOutcome
from ciabench.lab.storage.provenance import environment
from ciabench.lab.storage.store import Store
from ciabench.world.base import World

matplotlib.use("agg")


def rows_of(means, trials=200, spread=0.2, seed=0, family=(10, 2, 0.9), world=None, **parameters):
    """Rows with T around `means[learner][size]`; trials share half of their noise."""
    rng = np.random.default_rng(seed)
    shared, rows = rng.normal(0, spread, trials), []
    for learner, by_size in means.items():
        for size, mean in by_size.items():
            t = mean + shared + rng.normal(0, spread, trials)
            rows.append(pd.DataFrame({"trial": range(trials), "size": size, "learner": learner, "t": t}))
    n, k, b = family
    cia = {"n": n, "k": k, "b": b, "tolerance": 0.01, "min_headroom": 0.02, **parameters}
    labels = {"world": f"CIA({n}, {k}, {b:g})", **cia} if world is None else {"world": world, **parameters}
    frame = pd.concat(rows, ignore_index=True).assign(constant=0.6, t_error=0.0)
    for place, (name, value) in enumerate(labels.items()):
        frame.insert(place, name, value)
    frame["best"] = 0.7 + 0.1 * (frame["trial"] % 3)
    frame["success"] = frame["constant"] + frame["t"] * (frame["best"] - frame["constant"])
    return frame


@pytest.fixture(scope="session")
def made_rows():
    return rows_of


@dataclass(frozen=True)
class Made(World):
    """A world that is only a name and its parameters."""

    n: int
    k: int
    b: float

    @property
    def name(self):
        return f"CIA({self.n}, {self.k}, {self.b:g})"

    def task(self, seed):
        raise AssertionError("a made world is never run")


@pytest.fixture(scope="session")
def made_store(tmp_path_factory):
    """Make a store of families with made-up scores of `learners`; the last learner fails at the largest size."""

    def make(
        learners, families=((10, 2, 0.9), (75, 5, 0.9)), trials=5, sizes=(10, 100, 1000), name="made", worlds=None
    ):
        used = [{"use": "EM", "name": learner, "n_init": 1 + place} for place, learner in enumerate(learners)]
        table = {"name": name, "seed": 1, "trials": trials, "sizes": list(sizes), "learners": used}
        experiment = validate({**table, "families": [{"n": 10, "k": 2, "b": 0.9}]}, "made.toml")
        plan = replace(experiment.plan(), worlds=tuple(worlds or [Made(*family) for family in families]))
        path = tmp_path_factory.mktemp("made") / f"{name}.db"
        with Store.continued(path, experiment.spec(), plan, environment()) as store:
            for world, trial in product(range(len(plan.worlds)), range(trials)):
                store.add(made_cell(plan, world, trial))
        return path

    return make


def made_cell(plan, world, trial):
    """A cell in which T grows with the size and with the place of the learner."""
    noise = np.random.default_rng([world, trial]).normal(0, 0.05)
    scores = []
    for place, size in plan.wanted(world):
        t = np.log10(size) - 1.8 + 0.2 * place + noise
        failed = size == max(plan.sizes) and place == len(plan.learners) - 1
        done = (None, 0.6 + 0.1 * t, t, 0.0, 0.01)
        scores.append(ScoreOutcome(place, size, *(("ValueError: <b>odd</b>",) if failed else done)))
    return CellOutcome(world, trial, 0.1, scores, best=0.7, constant=0.6)
