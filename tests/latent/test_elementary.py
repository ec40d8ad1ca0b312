import numpy as np
import pytest
from numba import njit

from ciabench.latent.elementary import exp_negative, log_positive
from ciabench.latent.lanes import LANES, load, store


def applied(function, values):
    """Function of values, eight at a time."""
    lines = np.resize(np.array(values, dtype=float), (len(values) // LANES + 1, LANES))

    @njit
    def apply(lines):
        for line in range(len(lines)):
            store(lines, line, function(load(lines, line)))

    apply(lines)
    return lines.ravel()[: len(values)]


def test_exp_of_negative_values():
    values = -np.concatenate([[0.0], np.geomspace(1e-20, 700, 1000)])
    np.testing.assert_allclose(applied(exp_negative, values), np.exp(values), rtol=3e-16)


def test_exp_of_what_is_too_small_is_tiny():
    assert 0 <= applied(exp_negative, [-1e4])[0] < 1e-300


@pytest.mark.parametrize(
    "values", [[1.0, 0.5, 2.0, 0.5**0.5, 2**0.5], np.geomspace(1e-300, 1e300, 1000), 1 + np.linspace(-1e-3, 1e-3, 1000)]
)
def test_log_of_positive_values(values):
    np.testing.assert_allclose(applied(log_positive, values), np.log(values), rtol=5e-16)
