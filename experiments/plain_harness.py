"""The paper's protocol as one would write it in an afternoon with StepMix and scikit-learn: the peer in `speed.py`.

Models are drawn until one has the right difficulty and headroom, both judged on simulated rows; learners are fitted
on prefixes of one training sample and tested on simulated rows. COV and Winnow, which no peer offers, are left out.
"""

from collections.abc import Callable

import numpy as np
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import BernoulliNB
from stepmix.stepmix import StepMix

from ciabench import CIAFamily

RESTARTS, TOLERANCE = 20, 1e-8
TEST_ROWS = 20_000
Rows = np.ndarray


def stepmix(size: int, restarts: int = RESTARTS) -> StepMix:
    """StepMix with the stopping rule of our EM; its tolerances are on the mean log-likelihood."""
    return StepMix(
        n_components=2,
        measurement="binary",
        n_init=restarts,
        abs_tol=TOLERANCE / size,
        rel_tol=0.0,
        max_iter=10_000,
        random_state=0,
        progress_bar=0,
    )


def chances(X: Rows, weights: Rows, probs: Rows) -> Rows:
    """P(z | x) for every row."""
    clipped = np.clip(probs, 1e-12, 1 - 1e-12)
    joint = np.log(weights) + X @ np.log(clipped) + (1 - X) @ np.log(1 - clipped)
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    posterior: Rows = joint / joint.sum(axis=1, keepdims=True)
    return posterior


def simulate(weights: Rows, probs: Rows, size: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Attributes and target."""
    hidden = rng.choice(weights.size, size, p=weights)
    rows = (rng.random((size, len(probs))) < probs[:, hidden].T).astype(np.uint8)
    return rows[:, 1:], rows[:, 0]


def draw_model(family: CIAFamily, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Weights and probs of a model of the family."""
    while True:
        weights = rng.dirichlet(np.full(family.k, family.concentration))
        probs = rng.beta(family.concentration, family.concentration, (family.n + 1, family.k))
        X, _ = simulate(weights, probs, TEST_ROWS, rng)
        posterior = chances(X, weights, probs[1:])
        target = posterior @ probs[0]
        headroom = np.maximum(target, 1 - target).mean() - max(target.mean(), 1 - target.mean())
        if abs(posterior.max(axis=1).mean() - family.b) <= family.tolerance and headroom >= family.min_headroom:
            return weights, probs


def mixture_rule(X: Rows, y: Rows) -> Callable[[Rows], Rows]:
    """Fit a mixture of two classes to (y, X); return its rule for y."""
    mixture = stepmix(len(X)).fit(np.column_stack([y, X]))
    weights, probs = mixture.weights_, mixture.get_parameters()["measurement"]["pis"].T
    return lambda rows: chances(rows, weights, probs[1:]) @ probs[0] > 0.5


def successes(X: Rows, y: Rows, X_test: Rows, y_test: Rows) -> list[float]:
    """Success rates of a mixture, a Perceptron and naive Bayes."""
    if y.min() == y.max():
        return [float((y_test == y[0]).mean())] * 3
    predicted = mixture_rule(X, y)(X_test)
    rest = [learner.fit(X, y).score(X_test, y_test) for learner in (Perceptron(), BernoulliNB())]
    return [float((predicted == y_test).mean()), *rest]


def run_cell(family: CIAFamily, sizes: tuple[int, ...], seed: int) -> list[list[float]]:
    """Success rates for every size, on one model."""
    rng = np.random.default_rng(seed)
    model = draw_model(family, rng)
    X, y = simulate(*model, max(sizes), rng)
    test = simulate(*model, TEST_ROWS, rng)
    return [successes(X[:size], y[:size], *test) for size in sizes]
