import numpy as np
import pandas as pd
import pytest

from ciabench import CIAFamily, LatentClass, TreeFamily
from ciabench.findings import misfit as module
from ciabench.findings.misfit import misfit


def table_of(family, seed, size=1000):
    """Rows of a random model, its target among the columns."""
    X, y = family.draw(rng=seed).sample(size, rng=seed)
    return pd.DataFrame(np.column_stack([y, X])).add_prefix("column ")


@pytest.fixture(scope="module")
def of_mixtures():
    return [misfit(table_of(CIAFamily(10, 3, 0.9), seed), random_state=seed) for seed in (0, 3, 4)]


@pytest.fixture(scope="module")
def of_trees():
    return [misfit(table_of(TreeFamily(10, 1, 0.9), seed), random_state=seed) for seed in range(2)]


@pytest.fixture(scope="module")
def mixed():
    """Two classes, columns of all kinds, and missing cells."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, 300)
    table = pd.DataFrame({"size": rng.normal(3.0 * hidden, 1), "weight": rng.normal(-2.0 * hidden, 1)})
    for name in ("colour", "shape", "taste"):
        table[name] = np.array(["a", "b", "c"])[np.minimum(rng.integers(0, 2, 300) + hidden, 2)]
    return table.mask(rng.random(table.shape) < 0.1)


def test_mixtures_raise_no_alarm(of_mixtures):
    assert not any(one.is_alarm for one in of_mixtures)


def test_too_few_classes_are_raised_before_an_alarm(of_mixtures):
    raised = [one for one in of_mixtures if one.n_classes > one.n_chosen]
    assert raised
    assert all(one.n_classes == one.n_chosen + 1 for one in raised)


def test_worlds_that_are_no_mixture_raise_an_alarm(of_trees):
    for one in of_trees:
        assert (one.is_alarm, one.p_value) == (True, 0.05)
        assert one.n_classes == one.n_chosen + 1


def test_what_is_returned_belongs_together(of_trees, of_mixtures):
    for one in (*of_trees, *of_mixtures):
        pairs = one.model.bivariate_residuals()
        pd.testing.assert_frame_equal(one.pairs, pairs)
        assert (one.n_classes, one.statistic) == (one.model.n_classes_, pairs["residual"].sum())
        assert one.p_value == pytest.approx((1 + (one.bootstrap_statistics >= one.statistic).sum()) / 20)
        assert one.is_alarm == (one.p_value == 0.05)
        assert one.unexplained["residual"].gt(one.largest_by_chance).all()
        assert len(one.unexplained) == (pairs["residual"] > one.largest_by_chance).sum()


def test_a_pair_that_the_classes_cannot_explain_is_named(mixed):
    table = mixed.assign(again=mixed["size"].round(1), twice=(mixed["size"] * 2).round(1))
    found = misfit(table, max_classes=2, random_state=0)
    named = [set(pair) for pair in found.unexplained[["first", "second"]].to_numpy()]
    assert found.is_alarm
    assert {"size", "again"} in named
    assert {"colour", "shape"} not in named


def test_drawn_tables_have_the_same_cells_missing_and_the_same_columns(mixed, monkeypatch):
    drawn = []

    def recorded(rows, *arguments, **options):
        drawn.append(rows)
        return fit_mixture(rows, *arguments, **options)

    fit_mixture = module.fit_mixture
    monkeypatch.setattr(module, "fit_mixture", recorded)
    found = misfit(mixed, random_state=0)
    is_missing = mixed[[column.name for column in found.model.columns_.discrete]].isna().to_numpy()
    assert len(drawn) == 19
    for rows in drawn:
        np.testing.assert_array_equal(rows.codes == rows.n_levels, is_missing)
        np.testing.assert_array_equal(np.isnan(rows.numbers), mixed[["size", "weight"]].isna())
    assert not np.array_equal(drawn[0].codes, drawn[1].codes)


def test_the_same_seed_gives_the_same_answer(mixed):
    first, again = (misfit(mixed, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.bootstrap_statistics, again.bootstrap_statistics)
    pd.testing.assert_frame_equal(first.pairs, again.pairs)


def test_kinds_and_bounds_reach_the_model(mixed):
    found = misfit(
        mixed[["size", "colour", "shape"]], max_classes=1, n_init=3, kinds={"size": "numeric"}, random_state=0
    )
    assert (found.n_chosen, found.model.kinds_["size"]) == (1, "numeric")
    assert isinstance(found.model, LatentClass)
    assert found.model.log_likelihoods_.size == 3


def test_a_single_column_has_no_pairs_to_explain():
    found = misfit(pd.DataFrame({"a": [0, 1, 1, 0, 1]}), random_state=0)
    assert (found.p_value, found.is_alarm, len(found.unexplained)) == (1.0, False, 0)
