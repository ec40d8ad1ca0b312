import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ciabench.probability import bernoulli

PROBABILITIES = st.one_of(st.sampled_from([0.0, 1.0, 1e-300, 0.5]), st.floats(0, 1))


@st.composite
def mixtures(draw, max_n=6, max_k=4):
    n, k = draw(st.integers(1, max_n)), draw(st.integers(1, max_k))
    weights = draw(arrays(float, k, elements=st.floats(0.01, 1)))
    return weights / weights.sum(), draw(arrays(float, (n, k), elements=PROBABILITIES))


@given(mixtures())
def test_joint_over_all_patterns_sums_to_the_weights(mixture):
    weights, probs = mixture
    joint = np.exp(bernoulli.log_joint(bernoulli.all_patterns(len(probs)), weights, probs))
    np.testing.assert_allclose(joint.sum(axis=0), weights, rtol=1e-9)


@given(mixtures())
def test_posterior_rows_sum_to_one_also_for_impossible_rows(mixture):
    weights, probs = mixture
    posterior = bernoulli.posterior(bernoulli.all_patterns(len(probs)), weights, probs)
    np.testing.assert_allclose(posterior.sum(axis=1), 1, rtol=1e-12)


@given(mixtures(), st.randoms())
def test_relabelling_hidden_values_permutes_the_posterior_and_keeps_the_likelihood(mixture, random):
    weights, probs = mixture
    order = list(range(weights.size))
    random.shuffle(order)
    X = bernoulli.all_patterns(len(probs))
    swapped = bernoulli.posterior(X, weights[order], probs[:, order])
    np.testing.assert_allclose(swapped, bernoulli.posterior(X, weights, probs)[:, order], atol=1e-12)
    np.testing.assert_allclose(
        bernoulli.log_likelihood(X, weights[order], probs[:, order]),
        bernoulli.log_likelihood(X, weights, probs),
        rtol=1e-12,
        atol=1e-12,
    )


@given(mixtures())
def test_a_missing_attribute_is_summed_out(mixture):
    weights, probs = mixture
    X = bernoulli.all_patterns(len(probs)).astype(float)
    zero, one, missing = X.copy(), X.copy(), X.copy()
    zero[:, 0], one[:, 0], missing[:, 0] = 0, 1, np.nan
    summed = np.exp(bernoulli.log_joint(zero, weights, probs)) + np.exp(bernoulli.log_joint(one, weights, probs))
    np.testing.assert_allclose(np.exp(bernoulli.log_joint(missing, weights, probs)), summed, rtol=1e-9, atol=1e-300)


def test_one_impossible_event_outweighs_five_hundred_likely_ones():
    probs = np.full((500, 2), 0.999)
    probs[1:, 1] = 0.001
    probs[0, 0] = 0.0
    X = np.ones((1, 500), dtype=np.uint8)
    assert bernoulli.posterior(X, np.array([0.5, 0.5]), probs)[0, 1] == 1.0


def test_likelihood_of_five_hundred_attributes_does_not_underflow():
    probs = np.full((500, 2), 0.01)
    X = np.ones((1, 500), dtype=np.uint8)
    expected = 500 * np.log(0.01)
    assert bernoulli.log_likelihood(X, np.array([0.3, 0.7]), probs)[0] == pytest.approx(expected, rel=1e-12)


def test_stacked_mixtures_agree_with_each_alone():
    rng = np.random.default_rng(0)
    weights, probs = rng.dirichlet(np.ones(3), 4), rng.random((4, 5, 3))
    X = bernoulli.draw(weights, probs, 20, rng)
    together = bernoulli.posterior(X, weights, probs)
    for one in range(4):
        np.testing.assert_allclose(together[one], bernoulli.posterior(X[one], weights[one], probs[one]))


def test_stacked_draws_come_from_their_own_mixture():
    weights = np.array([[1.0, 0.0], [0.0, 1.0]])
    probs = np.stack([np.tile([0.0, 1.0], (3, 1)), np.tile([0.0, 1.0], (3, 1))])
    X = bernoulli.draw(weights, probs, 50, np.random.default_rng(0))
    assert (X[0] == 0).all()
    assert (X[1] == 1).all()
