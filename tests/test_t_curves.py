"""The learners against the committed reference: some of its trials are run again and must give the same T curves."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ciabench import COV, EM, CIAFamily, Winnow, learning_curve
from ciabench.findings.regression import compare
from ciabench.lab.storage.provenance import environment
from ciabench.lab.storage.rows import read
from ciabench.learners import cov

REFERENCE = Path(__file__).parents[1] / "results" / "reference" / "paper.csv.gz"
PROVENANCE = json.loads(REFERENCE.with_name("paper.csv.gz.json").read_text())
WORLDS = [CIAFamily(10, 2, 0.9), CIAFamily(10, 5, 0.9), CIAFamily(75, 2, 0.9)]
SIZES = [100, 1000]
TRIALS = 32
LEARNERS = {"EM": EM(), "COV": COV(), "Winnow": Winnow()}


def run_again(learners):
    """Rows of the first trials of the chosen worlds, with the seed of the reference."""
    seed = PROVENANCE["experiment"]["seed"]
    return pd.concat(learning_curve(world, learners, sizes=SIZES, trials=TRIALS, random_state=seed) for world in WORLDS)


@pytest.fixture(scope="module")
def reference():
    """What the reference has of the trials that are run again."""
    rows = read(REFERENCE).rows
    is_chosen = rows["world"].isin([world.name for world in WORLDS])
    return rows[is_chosen & rows["size"].isin(SIZES) & rows["learner"].isin(list(LEARNERS)) & (rows["trial"] < TRIALS)]


def made_here():
    """Learners whose committed rows were made with these libraries and this kind of processor."""
    makers = {}
    for made in PROVENANCE["environments"]:
        makers |= dict.fromkeys(made.get("learners", LEARNERS), platform_of(made) == platform_of(environment()))
    return [name for name in LEARNERS if makers[name]]


def platform_of(described):
    """What decides the last digits; which BLAS libraries are loaded depends on what was imported before."""
    versions = {name for name in described["blas"] if " " in name}
    return versions, *(described[key] for key in ("python", "platform", "cpu", "libraries"))


def test_curves_are_those_of_the_reference(reference):
    rows = run_again(LEARNERS)
    comparison = compare(rows, reference)
    assert comparison.verdict != "changed", comparison.report()
    assert not comparison.unmatched
    assert comparison.points["is_paired"].all()
    if names := made_here():
        exact = compare(*(table[table["learner"].isin(names)] for table in (rows, reference)), exact=True)
        assert exact.verdict == "same", exact.report()


@pytest.mark.parametrize("name", ["EM", "Winnow", "COV"])
def test_a_broken_learner_is_found_and_named(name, reference, monkeypatch):
    broken = {"EM": EM(n_init=1, max_iter=5, accelerate=False), "Winnow": Winnow(margin=0.0), "COV": COV()}
    monkeypatch.setattr(cov, "vote_signs", lambda psi: np.ones(len(psi)))
    comparison = compare(run_again({name: broken[name]}), reference)
    assert comparison.verdict == "changed"
    assert comparison.points["is_paired"].all()
    assert re.search(rf"^CIA\(10, 2, 0.9\) {name}: changed .*\n  size 100+: T ", comparison.report(), re.MULTILINE)
