"""Fits in several threads: the same bits for any number of them."""

import numpy as np
import pytest
from scipy import sparse

from ciabench import EM, LatentClass
from ciabench.arrays import Coded
from ciabench.errors import ParameterError
from ciabench.latent import threads
from ciabench.latent.fit import fit_mixture

KINDS = ["bits", "missing", "sparse", "numbers", "full"]


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    """Parts of 64 rows in place of many."""
    monkeypatch.setattr(threads, "ROWS", 64)


def table_of(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    bits = (rng.random((300, 9)) < np.where(rng.random((300, 1)) < 0.4, 0.2, 0.7)).astype(np.uint8)
    if kind == "sparse":
        return sparse.csr_matrix(bits)
    if kind == "bits":
        return bits
    has_gap = rng.random(bits.shape) < 0.1
    if kind == "missing":
        return np.where(has_gap, np.nan, bits)
    numbers = np.where(has_gap, np.nan, rng.normal(bits, 1.0))[:, :3]
    return Coded(bits, np.full(9, 2), numbers)


@pytest.mark.parametrize("n_init", [1, 5])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_threads_changes_no_bit(kind, n_classes, n_init):
    def fit(n_jobs):
        return fit_mixture(
            table_of(kind), np.ones(300), n_classes, random=np.random.RandomState(0), n_init=n_init, max_iter=30,
            full=kind == "full", n_jobs=n_jobs,
        )  # fmt: skip

    plain, one, *more = map(fit, (None, 1, 2, 3))
    np.testing.assert_allclose(one.log_likelihoods, plain.log_likelihoods, rtol=1e-9)
    for other in more:
        np.testing.assert_array_equal(other.theta, one.theta)
        for path, expected in zip(other.paths, one.paths, strict=True):
            np.testing.assert_array_equal(path, expected)


def test_rows_are_split_where_a_fit_is_large_and_nowhere_else(monkeypatch):
    asked = []
    monkeypatch.setattr(threads, "ThreadPoolExecutor", lambda n: asked.append(n) or pytest.fail("threads"))
    rows = np.random.default_rng(0).integers(0, 2, (300, 12), dtype=np.uint8)
    EM(n_init=2, n_jobs=2, random_state=0).fit(rows[:60], rows[:60, 0])
    EM(n_init=2, random_state=0).fit(rows, rows[:, 0])
    assert not asked
    with pytest.raises(pytest.fail.Exception):
        LatentClass(n_init=2, n_jobs=2, random_state=0).fit(rows)
    assert asked == [2]


@pytest.mark.parametrize("learner", [EM, LatentClass])
@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, True, "all"])
def test_a_number_of_threads_that_cannot_be_is_refused(learner, n_jobs):
    with pytest.raises(ParameterError, match="n_jobs, unless it is None or -1, must be an integer of at least 1; got"):
        learner(n_jobs=n_jobs).fit([[0], [1]], [0, 1])
