from dataclasses import replace
from itertools import product

import matplotlib
import numpy as np
import pandas as pd
import pytest

from ciabench import CIAFamily
from ciabench.lab.plan.experiment import validate
from ciabench.lab.storage.provenance import environment
from ciabench.lab.storage.store import Store
from ciabench.lab.tasks import CIATasks
from ciabench.lab.compute.trial import CellRow, ScoreRow

matplotlib.use("agg")


def rows_of(means, trials=200, spread=0.2, seed=0, family=(10, 2, 0.9)):
    """Rows with T around `means[learner][size]`; trials share half of their noise."""
    rng = np.random.default_rng(seed)
    n, k, b = family
    shared, rows = rng.normal(0, spread, trials), []
    for learner, by_size in means.items():
        for size, mean in by_size.items():
            t = mean + shared + rng.normal(0, spread, trials)
            rows.append(pd.DataFrame({"trial": range(trials), "size": size, "learner": learner, "t": t}))
    frame = pd.concat(rows, ignore_index=True).assign(n=n, k=k, b=b, constant=0.6, t_error=0.0)
    frame["best"] = 0.7 + 0.1 * (frame["trial"] % 3)
    frame["success"] = frame["constant"] + frame["t"] * (frame["best"] - frame["constant"])
    return frame


@pytest.fixture(scope="session")
def made_rows():
    return rows_of


@pytest.fixture(scope="session")
def made_store(tmp_path_factory):
    """Make a store of `families` with made-up scores of `learners`; the last learner fails at the largest size."""

    def make(learners, families=((10, 2, 0.9), (75, 5, 0.9)), trials=5, sizes=(10, 100, 1000)):
        table = {
            "name": "made",
            "seed": 1,
            "trials": trials,
            "sizes": list(sizes),
            "families": [{"n": 5, "k": 2, "b": 0.9}],
        }
        experiment = validate({**table, "learners": [{"use": "EM", "name": name} for name in learners]}, "made.toml")
        tasks = tuple(CIATasks(CIAFamily(*family, concentration=1.0)) for family in families)
        plan = replace(experiment.plan(), families=tasks)
        spec = {**experiment.spec(), "families": [dict(zip("nkb", family, strict=True)) for family in families]}
        path = tmp_path_factory.mktemp("made") / "made.db"
        with Store.continued(path, spec, plan, environment()) as store:
            for family, trial in product(range(len(families)), range(trials)):
                store.add(made_cell(plan, family, trial))
        return path

    return make


def made_cell(plan, family, trial):
    """A cell in which T grows with the size and with the place of the learner."""
    noise = np.random.default_rng([family, trial]).normal(0, 0.05)
    scores = []
    for place, size in plan.wanted():
        t = np.log10(size) - 1.8 + 0.2 * place + noise
        failed = size == max(plan.sizes) and place == len(plan.learners) - 1
        done = (None, 0.6 + 0.1 * t, t, 0.0, 0.01, None)
        scores.append(ScoreRow(place, size, *(("ValueError: <b>odd</b>",) if failed else done)))
    return CellRow(family, trial, None, 0.1, scores, best=0.7, constant=0.6, difficulty=0.9, draws=1)
