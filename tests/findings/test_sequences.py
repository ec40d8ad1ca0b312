"""Confidence sequences: the formula, Hall's correction, and coverage at all times at once."""

import numpy as np
import pytest

from ciabench.findings.sequences import bound, half_width

LEVEL = 0.05 / 12


def running(values, looks):
    """Mean, standard deviation and skewness of the first trials of each run (runs, trials), at each look."""
    counts = np.asarray(looks)
    first, second, third = (np.cumsum(values**power, axis=1)[:, counts - 1] / counts for power in (1, 2, 3))
    variance = second - first**2
    skewness = (third - 3 * first * second + 2 * first**3) / variance**1.5
    return counts, first, np.sqrt(variance * counts / (counts - 1)), skewness


def test_price_of_always_valid_intervals():
    """A lead of 0.05 with standard deviation 0.3 needs 843 trials for a power of 80%."""
    trials = np.arange(500, 2_000)
    power = 0.05 - 0.3 * half_width(trials, LEVEL) - 0.8416 * 0.3 / np.sqrt(trials)
    assert trials[np.argmax(power > 0)] == 844


def test_ends_are_mirror_images():
    low = bound(1_000, 0.1, 0.3, -2.0, LEVEL, "low")
    assert bound(1_000, -0.1, 0.3, 2.0, LEVEL, "high") == pytest.approx(-low)


def test_without_skewness_the_interval_is_symmetric_and_a_little_skewness_changes_little():
    half = 0.3 * half_width(1_000, LEVEL)
    for skewness in (0.0, 1e-13, 1e-6, -1e-6):
        ends = [float(bound(1_000, 0.1, 0.3, skewness, LEVEL, end)) for end in ("low", "high")]
        assert ends == pytest.approx([0.1 - half, 0.1 + half], abs=1e-6)


def test_skewness_to_the_left_moves_both_ends_down():
    plain, skewed = (bound(500, 0.0, 1.0, gamma, LEVEL, "high") for gamma in (0.0, -3.0))
    assert skewed < plain
    assert bound(500, 0.0, 1.0, -3.0, LEVEL, "low") < bound(500, 0.0, 1.0, 0.0, LEVEL, "low")


@pytest.mark.parametrize("end", ["low", "high"])
def test_skewed_trials_are_covered_at_all_looks_at_once(end):
    rng = np.random.default_rng(1)
    values = 1 - rng.exponential(1.0, (2_000, 5_000))
    looks = np.arange(500, 5_001, 100)
    counts, mean, deviation, skewness = running(values, looks)
    ends = bound(counts, mean, deviation, skewness, 0.05, end)
    is_wrong = (ends > 0 if end == "low" else ends < 0).any(axis=1)
    assert is_wrong.mean() < 0.05 + 2 * np.sqrt(0.05 * 0.95 / 2_000)


@pytest.mark.parametrize("skewness", [-1.5, 0.7])
def test_the_end_is_where_the_cubic_without_skewness_meets_the_half_width(skewness):
    x = (0.1 - float(bound(700, 0.1, 0.3, skewness, LEVEL, "low"))) / 0.3
    cubic = x + skewness * x**2 / 3 + skewness**2 * x**3 / 27 + skewness / (6 * 700)
    assert cubic == pytest.approx(float(half_width(700, LEVEL)), rel=1e-9)
