import numpy as np
import pytest
from scipy import sparse

from ciabench.latent import pieces
from ciabench.latent.fit import fit_mixture
from ciabench.latent.selection import FOLDS, held_out_loss, random_folds, search_classes
from ciabench.probability import bernoulli

WEIGHTS, PROBS = np.array([0.4, 0.6]), np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.4], [0.1, 0.6]])


@pytest.fixture(scope="module")
def rows():
    return bernoulli.draw(WEIGHTS, PROBS, 300, np.random.default_rng(0))


def fit(rows, n_classes=2, **options):
    return fit_mixture(rows, np.ones(rows.shape[0]), n_classes, random=np.random.RandomState(0), **options)


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_a_mixture_reports_its_own_likelihood(rows, smoothing):
    mixture = fit(rows, smoothing=smoothing)
    likelihood = bernoulli.log_likelihood(rows, mixture.weights, mixture.probs).sum()
    assert mixture.log_likelihood == pytest.approx(likelihood)
    assert mixture.log_likelihoods.shape == (20,)
    assert mixture.n_parameters == 9
    assert mixture.aic == pytest.approx(18 - 2 * likelihood)
    assert mixture.bic == pytest.approx(9 * np.log(300) - 2 * likelihood)
    assert mixture.converged
    assert mixture.n_iter == min(path.size for path in mixture.paths if path[-1] == max(p[-1] for p in mixture.paths))


def test_rows_of_any_kind_give_the_same_mixture(rows):
    plain = fit(rows)
    for same in (rows.astype(bool), rows.astype(np.int64)):
        np.testing.assert_array_equal(fit(same).probs, plain.probs)
    for same in (rows.astype(float), sparse.csr_matrix(rows)):
        np.testing.assert_allclose(fit(same).probs, plain.probs, atol=1e-3)


def test_the_fit_is_pure(rows):
    before, counts = rows.copy(), np.ones(300)
    first, second = (fit_mixture(rows, counts, 2, random=np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first.probs, second.probs)
    np.testing.assert_array_equal(rows, before)
    np.testing.assert_array_equal(counts, 1)


@pytest.mark.parametrize("convert", [lambda X: X, lambda X: X.astype(float), sparse.csr_matrix])
def test_bits_of_any_kind_have_one_layout(rows, convert):
    layout = pieces.make_problem(convert(rows), np.ones(300)).layout
    np.testing.assert_array_equal(layout.offsets, np.arange(5))
    np.testing.assert_array_equal(layout.observed, pieces.ALWAYS)
    assert layout.n_bits == 4


def test_search_stops_after_two_values_worse_than_the_best():
    values = [5.0, 3, 4, 2, 3, 3, 0]
    assert search_classes(lambda k: values[k - 1], 7) == dict(enumerate(values[:6], start=1))
    assert list(search_classes(lambda k: -k, 3)) == [1, 2, 3]


def test_held_out_loss_is_that_of_rows_outside_the_fit(rows):
    folds = random_folds(300, np.random.RandomState(0))
    np.testing.assert_array_equal(np.bincount(folds), [300 // FOLDS] * FOLDS)
    seen = []

    def fit_rows(rows, counts):
        seen.append(rows)
        return fit_mixture(rows, counts, 1, random=np.random.RandomState(0))

    loss = held_out_loss(fit_rows, rows, np.ones(300), folds)
    losses = np.empty(300)
    for fold, training in enumerate(seen):
        np.testing.assert_array_equal(training, rows[folds != fold])
        share, target = training[:, 0].mean(), rows[folds == fold, 0]
        losses[folds == fold] = -np.log(np.where(target == 1, share, 1 - share))
    assert loss == pytest.approx(losses.mean())
