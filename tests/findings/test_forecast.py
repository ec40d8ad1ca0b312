import numpy as np
import pytest

from ciabench.errors import DataError
from ciabench.findings.forecast import forecast, forecast_leader

SIZES = np.array([16, 23, 32, 45, 64, 91, 128, 181, 256])


def noisy(means, seed, n_splits=15, noise=0.02):
    """Error rates of splits around their means."""
    return np.asarray(means) + np.random.default_rng(seed).normal(0, noise, (n_splits, len(means)))


def power_law(sizes, limit=0.1, gain=1.0, exponent=0.5):
    return limit + gain * np.asarray(sizes, dtype=float) ** -exponent


@pytest.mark.parametrize("exponent", [0.3, 0.5, 1.0])
def test_power_laws_are_continued(exponent):
    found = forecast(SIZES, noisy(power_law(SIZES, exponent=exponent), 0, noise=0.004), [512, 1024])
    truth = power_law([512, 1024], exponent=exponent)
    np.testing.assert_allclose(found.median, truth, atol=0.012)
    assert ((found.low < truth) & (truth < found.high)).all()


def test_flat_and_rising_curves_are_continued():
    flat = forecast(SIZES, noisy(np.full(9, 0.3), 1), [1024])
    assert flat.low[0] < 0.3 < flat.high[0]
    assert flat.high[0] - flat.low[0] < 0.08
    rising = forecast(SIZES, noisy(0.3 - 0.4 * SIZES**-0.5, 2, noise=0.004), [1024])
    assert rising.median[0] > 0.275


def test_intervals_widen_with_distance_noise_and_level():
    def width(noise, rows, level=0.8):
        found = forecast(SIZES, noisy(power_law(SIZES), 3, noise=noise), rows, level=level)
        return found.high - found.low

    near, far = width(0.02, [512, 2048])
    assert near < far < width(0.08, [2048])[0]
    assert far < width(0.02, [2048], level=0.95)[0]


def test_intervals_cover_as_often_as_they_say():
    rng, inside = np.random.default_rng(4), []
    for seed in range(80):
        law = {"limit": rng.uniform(0, 0.3), "gain": rng.uniform(0.2, 1.0), "exponent": rng.uniform(0.2, 1.0)}
        found = forecast(SIZES, noisy(power_law(SIZES, **law), seed, noise=0.03), [1024])
        inside.append(found.low[0] <= power_law([1024], **law)[0] <= found.high[0])
    assert 0.7 <= np.mean(inside) <= 0.95


def test_only_what_was_measured_counts():
    errors = noisy(power_law(SIZES), 5)
    expected = forecast(SIZES[:-1], errors[:, :-1], [1024])
    with_gaps = errors.copy()
    with_gaps[1:, -1] = np.nan
    order = np.random.default_rng(0).permutation(9)
    for found in (forecast(SIZES, with_gaps, [1024]), forecast(SIZES[order], with_gaps[:, order], [1024])):
        np.testing.assert_allclose([found.median, found.low, found.high], np.array(expected[1:]))


def test_error_rates_stay_between_0_and_1():
    low = forecast(SIZES, np.abs(noisy(0.2 / SIZES, 6, noise=0.003)), [1024])
    high = forecast(SIZES[:2], noisy([0.97, 0.99], 7, noise=0.01), [4096])
    assert 0 <= low.low[0] <= low.median[0] <= low.high[0] < 0.02
    assert high.high[0] <= 1


def test_a_learner_that_lags_behind_in_vain_does_not_take_the_lead():
    errors = {"good": noisy(np.full(9, 0.1), 8), "poor": noisy(np.full(9, 0.3), 9)}
    found = forecast_leader(SIZES, errors, [512, 1024])
    assert found.leader == "good"
    assert (found.chance_of_change < 0.01).all()


def test_chance_of_change_grows_as_a_steeper_curve_comes_near():
    errors = {"steep": noisy(power_law(SIZES, 0.0, 2.0), 10), "flat": noisy(np.full(9, 0.1), 11)}
    chances = forecast_leader(SIZES, errors, [300, 512, 2048])
    assert chances.leader == "flat"
    assert chances.chance_of_change[0] < chances.chance_of_change[1] < chances.chance_of_change[2]
    assert chances.chance_of_change[2] > 0.8
    assert forecast_leader(SIZES, dict(reversed(errors.items())), [2048]).chance_of_change[0] > 0.8


def test_equal_learners_lead_by_turns():
    errors = noisy(power_law(SIZES), 12)
    assert 0.4 < forecast_leader(SIZES, {"one": errors, "other": errors}, [1024]).chance_of_change[0] < 0.6


def test_one_split_has_no_spread_to_forecast_from():
    with pytest.raises(DataError, match="two splits"):
        forecast(SIZES, power_law(SIZES)[None], [1024])
