"""Sufficient statistics stand for rows: the same findings, moments as of the rows, and passing sizes from them."""

import numpy as np
import pandas as pd
import pytest

from ciabench.errors import StoreError
from ciabench.findings.claims import CLAIMS, check_claims
from ciabench.findings.curves import passing_sizes
from ciabench.findings.paper import SIX
from ciabench.findings.points import Contrast
from ciabench.findings.selection import Data
from ciabench.findings.statistics import Moments, Statistics
from ciabench.findings.tester import findings_of

SIZES = (10, 50, 100, 1000)
WORLD = "CIA(10, 2, 0.9)"


@pytest.fixture(scope="module")
def rows(made_rows):
    """Rows of the six families, with fewer trials at the largest size."""
    parts = []
    for seed, world in enumerate(SIX):
        slopes = {"EM": 0.25, "COV": 0.2, "Winnow": 0.3 if "10, 5" in world else 0.15}
        means = {name: {size: slope * np.log10(size) for size in SIZES} for name, slope in slopes.items()}
        parts.append(made_rows(means, trials=700, seed=seed, world=world))
    whole = pd.concat(parts, ignore_index=True)
    return whole[(whole["size"] < 1000) | (whole["trial"] < 600)]


@pytest.fixture(scope="module")
def statistics(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("statistics")
    Statistics.of_rows(rows).write(folder, {"own": {"rows": len(rows)}})
    return Statistics.read(folder)


def test_findings_are_those_of_the_rows(rows, statistics):
    kept = rows[rows["trial"] < 3]
    found = findings_of(CLAIMS, Data(kept, statistics), {})
    assert found == check_claims(rows, beside_reference=False)
    assert {"reproduced", "no data"} <= {one.verdict for one in found}


def test_equal_statistics_give_equal_bytes(rows, tmp_path):
    contents = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        Statistics.of_rows(rows).write(tmp_path / name, {})
        contents.append([file.read_bytes() for file in sorted((tmp_path / name).iterdir())])
    assert contents[0] == contents[1]
    assert len(contents[0]) == 2


def test_moments_are_those_of_the_rows(rows, statistics):
    moments = statistics.moments[WORLD]
    wide = rows[rows["world"] == WORLD].pivot(index="trial", columns=["learner", "size"], values="t")[moments.points]
    np.testing.assert_allclose(moments.means, wide.mean(), rtol=1e-9)
    np.testing.assert_allclose(np.diag(moments.covariances), wide.var(), rtol=1e-9)
    assert set(np.unique(moments.trials)) == {600, 700}
    one, other = moments.points.index(("EM", 10)), moments.points.index(("Winnow", 100))
    assert moments.covariances[one, other] == pytest.approx(wide["EM", 10].cov(wide["Winnow", 100]), rel=1e-9)


def test_variances_of_mean_leads_are_those_of_the_trials():
    values = np.random.default_rng(0).normal(size=(1_000, 4)) @ np.random.default_rng(1).normal(size=(4, 4))
    points = [("EM", 10), ("EM", 100), ("Winnow", 10), ("Winnow", 100)]
    sizes, means, covariances = Moments.of(points, values).lead("EM", "Winnow")
    leads = values[:, :2] - values[:, 2:]
    assert sizes.tolist() == [10, 100]
    np.testing.assert_allclose(means, leads.mean(axis=0))
    np.testing.assert_allclose(covariances, np.cov(leads, rowvar=False) / 1_000)


def test_passing_sizes_agree_with_those_of_resampled_trials(rows, statistics):
    own = rows[(rows["world"] == SIX[2]) & (rows["trial"] < 600)]
    shifted = own.assign(t=own["t"] + 0.1 * (own["learner"] == "EM"))
    size, low, high = Statistics.of_rows(shifted).passing_size(SIX[2], "EM", "Winnow")
    known = passing_sizes(shifted, "EM", "Winnow").iloc[0]
    assert np.log([size, low, high]) == pytest.approx(np.log(list(known[["size", "low", "high"]])), abs=0.1)
    assert statistics.passing_size(WORLD, "EM", "Winnow")[0] == np.inf


def test_what_the_statistics_lack_is_named(statistics):
    with pytest.raises(StoreError, match=r"the statistics lack CIA\(10, 2, 0.9\)\|EM\|50\*2; make them again"):
        statistics.estimate(Contrast.of({(WORLD, "EM", 50): 2.0}))
