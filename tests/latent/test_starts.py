"""The starts of EM against their definition, in plain NumPy."""

import numpy as np
import pytest
from scipy import sparse

from ciabench.latent.mixture import EDGE
from ciabench.latent.pieces import as_coded
from ciabench.latent.starts import dense_starts, draw_starts, make_starts, sparse_starts

SIZE, N_ATTRIBUTES = 40, 6
KINDS = ["complete", "missing", "sparse"]


def data_of(kind, n_labels=2):
    """Rows as floats, NaN where missing, with the label as column 0; as they are passed on; counts; and labels."""
    rng = np.random.default_rng(KINDS.index(kind))
    labels = rng.permutation(np.arange(SIZE) % n_labels).astype(np.uint8)
    rows = np.column_stack([labels > 0, rng.random((SIZE, N_ATTRIBUTES)) < 0.3]).astype(float)
    if kind == "missing":
        rows[:, 1:][rng.random((SIZE, N_ATTRIBUTES)) < 0.3] = np.nan
    given = {"missing": rows, "sparse": sparse.csr_matrix(rows)}.get(kind, np.nan_to_num(rows).astype(np.uint8))
    return rows, given, rng.choice([1.0, 2.0, 0.5], SIZE), labels


def means_of(rows, members):
    """Weighted means of the observed cells of each column."""
    observed = ~np.isnan(rows)
    return members @ np.nan_to_num(rows) / (members @ observed)


def drawn(kind, n_classes, n_labels=2, n_init=4, by_label=True):
    rows, given, counts, labels = data_of(kind, n_labels)
    starts = draw_starts(counts, labels, n_classes, n_init, np.random.RandomState(0), by_label=by_label)
    fill = sparse_starts if kind == "sparse" else dense_starts
    return rows, counts, labels, starts, fill(starts, as_coded(given), counts, labels)


@pytest.mark.parametrize("n_classes", [1, 2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_a_random_start_blends_rows_with_the_means(kind, n_classes):
    rows, counts, _, starts, theta = drawn(kind, n_classes, by_label=False)
    means = means_of(rows, counts)
    cells = np.where(np.isnan(rows), means, rows)[starts.rows]
    np.testing.assert_allclose(theta[:, :, 1:], np.clip(0.7 * means + 0.3 * cells, EDGE, 1 - EDGE), rtol=1e-12)
    np.testing.assert_allclose(theta[:, :, 0].sum(axis=1), 1)
    assert theta.shape == (4, n_classes, 2 + N_ATTRIBUTES)


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_start_gives_each_class_nine_tenths_of_its_label(kind):
    rows, counts, labels, _, theta = drawn(kind, n_classes=2)
    for z in (0, 1):
        members = counts * np.where(labels == z, 0.9, 0.1)
        np.testing.assert_allclose(theta[0, z, 1:], np.clip(means_of(rows, members), EDGE, 1 - EDGE), rtol=1e-12)
        assert theta[0, z, 0] == pytest.approx(members.sum() / counts.sum())


@pytest.mark.parametrize("kind", KINDS)
def test_more_classes_than_labels_are_dealt_to_these_with_a_row_of_each(kind):
    rows, counts, labels, starts, theta = drawn(kind, n_classes=5)
    np.testing.assert_array_equal(labels[starts.rows[0]], [0, 1, 0, 1, 0])
    everyone = means_of(rows, counts)
    for z, (label, sharing) in enumerate([(0, 3), (1, 2), (0, 3), (1, 2), (0, 3)]):
        members = counts * np.where(labels == label, 0.9, 0.1)
        row = np.where(np.isnan(rows), everyone, rows)[starts.rows[0, z]]
        np.testing.assert_allclose(theta[0, z, 1:], 0.7 * means_of(rows, members) + 0.3 * row, rtol=1e-12)
        assert theta[0, z, 0] == pytest.approx(members.sum() / counts.sum() / sharing)


def test_fewer_classes_than_labels_have_several_of_them():
    rows, counts, labels, _, theta = drawn("complete", n_classes=2, n_labels=5)
    for z in (0, 1):
        members = counts * np.where(labels % 2 == z, 0.9, 0.1)
        np.testing.assert_allclose(theta[0, z, 1:], means_of(rows, members), rtol=1e-12)
    np.testing.assert_allclose(drawn("complete", n_classes=1, n_labels=5)[-1][0, 0, 1:], means_of(rows, counts))


def test_a_label_that_no_row_has_is_not_dealt():
    counts, labels = np.array([1.0, 1.0, 0.0, 2.0]), np.array([0, 0, 1, 2], dtype=np.uint8)
    starts = draw_starts(counts, labels, 2, 50, np.random.RandomState(0), by_label=True)
    np.testing.assert_allclose(starts.weights[0], [0.5, 0.5])
    assert set(starts.rows[1:].ravel()) == {0, 1, 3}
    three = draw_starts(counts, labels, 3, 1, np.random.RandomState(0), by_label=True)
    np.testing.assert_array_equal(labels[three.rows[0]], [0, 2, 0])


def test_rows_are_drawn_by_their_counts():
    counts = np.array([1.0, 0.0, 3.0, 6.0])
    starts = draw_starts(counts, np.zeros(4, np.uint8), 2, 10_000, np.random.default_rng(0), by_label=False)
    np.testing.assert_allclose(np.bincount(starts.rows.ravel()) / 20_000, [0.1, 0, 0.3, 0.6], atol=0.015)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_count_of_two_is_a_row_twice_and_their_scale_is_no_matter(n_classes):
    _, given, _, _ = data_of("complete")
    counts = np.random.default_rng(0).integers(0, 4, SIZE)
    repeated = np.repeat(given, counts, axis=0)
    weighted, long, scaled = (
        make_starts(rows, own, n_classes, 20, np.random.RandomState(0), target=0)
        for rows, own in ((given, counts * 1.0), (repeated, np.ones(len(repeated))), (given, counts / 1024))
    )
    np.testing.assert_allclose(weighted, long, rtol=1e-12)
    np.testing.assert_allclose(weighted, scaled, rtol=1e-12)


def test_a_column_without_cells_starts_in_the_middle():
    rows = np.column_stack([np.tile([0.0, 1.0], 5), np.full(10, np.nan)])
    theta = make_starts(rows, np.ones(10), 2, 3, np.random.RandomState(0), target=0)
    np.testing.assert_array_equal(theta[:, :, 2], 0.5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [None, 0])
def test_starts_of_ones_own_come_first_and_take_the_place_of_others(kind, target):
    _, given, counts, _ = data_of(kind)
    own = [(np.array([1.0, 0.0]), np.full((1 + N_ATTRIBUTES, 2), share)) for share in (0.25, 1.0)]
    for n_init in (1, 2, 3, 5):
        theta = make_starts(given, counts, 2, n_init, np.random.RandomState(0), target=target, own=own)
        assert len(theta) == max(n_init, 2)
        np.testing.assert_array_equal(theta[0, :, 1:], 0.25)
        np.testing.assert_array_equal(theta[1, :, 1:], 1 - EDGE)
        np.testing.assert_allclose(theta[:2, :, 0], [[1, 0]] * 2, atol=2 * EDGE)
    others = make_starts(given, counts, 2, 3, np.random.RandomState(0), target=target)
    np.testing.assert_array_equal(theta[2:], others)
