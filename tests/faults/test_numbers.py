"""Learners with hidden variables on extreme input, and beside plain implementations (long form: `soak.py numbers`)."""

import warnings

import numpy as np
import pandas as pd
import pytest
from checks import BOUNDS, CHECKS, worst_of
from sklearn.exceptions import ConvergenceWarning

from ciabench import EM, BayesianMixture, BeliefNetwork, LatentClass

PROBLEMS = {"EM": 60, "LatentClass": 60, "BeliefNetwork": 60, "BayesianMixture": 20}


@pytest.mark.parametrize("name", CHECKS)
def test_numbers_are_those_of_a_plain_implementation(name):
    assert worst_of(name, range(PROBLEMS[name])) < BOUNDS[name]


def plain_table(size=30):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, size)
    table = pd.DataFrame({"bit": np.where(rng.random(size) < 0.8, z, 1 - z) + 0.0})
    table["level"] = np.array(list("xyz"))[z + rng.integers(0, 2, size)]
    table["number"] = rng.normal(3.0 * z, 1.0)
    return table


def repeated(table, times):
    return pd.concat([table.add_suffix(str(time)) for time in range(times)], axis=1)


def one_cell(table, column):
    """The table with all cells missing but one."""
    empty = pd.DataFrame(None, index=table.index, columns=table.columns, dtype=object)
    empty.loc[3, column] = table.loc[3, column]
    return empty.astype({"bit": float, "number": float})


TABLES = {
    "plain": plain_table(),
    "constant columns": plain_table().assign(zero=0.0, same="k", empty=np.nan),
    "duplicated columns": repeated(plain_table(), 4),
    "more columns than rows": repeated(plain_table(4), 20),
    "more classes than rows": plain_table(2),
    "all cells missing but a level": one_cell(plain_table(), "level"),
    "all cells missing but a number": one_cell(plain_table(), "number"),
    "very large numbers": plain_table().assign(number=lambda table: 1e149 * table["number"]),
    "an outlier": plain_table().assign(number=lambda table: np.where(table.index == 0, 1e149, table["number"])),
}

WEIGHTS = {
    "none": lambda place: np.ones(place.size),
    "1e300": lambda place: np.full(place.size, 1e300),
    "1e-300": lambda place: np.full(place.size, 1e-300),
    "1e300 and 1e-300": lambda place: np.where(place % 2, 1e-300, 1e300),
    "one of 1e300": lambda place: np.where(place == 0, 1e300, 1.0),
    "a single row": lambda place: np.where(place == 0, 1.0, 0.0),
    "all sizes": lambda place: 10.0 ** np.linspace(-300, 300, place.size),
}

COMMON = {"n_init": 3, "max_iter": 200, "random_state": 0}


def of_network(table, weights):
    """Numbers and paths of a network over the discrete columns, with a hidden parent of all."""
    table = table.select_dtypes(exclude="number").dropna(axis=1, how="all").join(table.filter(like="bit"))
    table = table.dropna(axis=1, how="all")
    if table.empty:
        return (), []
    edges = [("hidden", name) for name in table] + list(zip(table.columns[:-1], table.columns[1:], strict=True))
    network = BeliefNetwork(edges, hidden={"hidden": 3}, kinds="categorical", **COMMON)
    network.fit(table, sample_weight=weights)
    tables = [one.to_numpy() for one in network.tables_.values()]
    shown = network.log_likelihoods_, network.bic_, network.posterior(table[weights > 0], "hidden")
    return (*shown, *tables), network.restart_paths_


def of_mixture(table, weights, **parameters):
    y = np.arange(len(table)) % 2
    em = EM(n_classes=3, **COMMON, **parameters).fit(table, y, sample_weight=weights)
    found = em.parameters_
    shown = em.log_likelihoods_, em.bic_, em.predict_proba(table), em.score_samples(table), em.decision_function(table)
    return (*shown, found.weights, *found.tables, found.means, found.covariances), em.restart_paths_


def of_classes(table, weights, **parameters):
    lc = LatentClass(n_classes=4, **COMMON, **parameters).fit(table, sample_weight=weights)
    shown = lc.log_likelihoods_, lc.bic_, lc.icl_, lc.entropy_r2_, lc.predict_proba(table), lc.profiles().to_numpy()
    return shown, lc.restart_paths_


def of_average(table, weights):
    mixture = BayesianMixture(max_classes=4, max_sweeps=50, random_state=0)
    mixture.fit(table, np.arange(len(table)) % 2, sample_weight=weights)
    return (mixture.log_likelihoods_, mixture.predict_proba(table), mixture.decision_function(table)), []


LEARNERS = {
    "EM": of_mixture,
    "EM, full": lambda table, weights: of_mixture(table, weights, covariance="full"),
    "EM, smoothed": lambda table, weights: of_mixture(table, weights, smoothing=0.5, accelerate=False),
    "LatentClass": of_classes,
    "LatentClass, full": lambda table, weights: of_classes(table, weights, covariance="full"),
    "BeliefNetwork": of_network,
    "BayesianMixture": of_average,
}


def check_extreme(learner, table, weights):
    """All numbers are finite, the same again, and no path falls by more than rounding."""
    given, rounding = WEIGHTS[weights](np.arange(len(table))), 1e-14 * (1 + len(table) * 1e6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for kind in (UserWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", kind)
        (numbers, paths), (again, _) = (LEARNERS[learner](table, given) for _ in range(2))
    for one, other in zip(numbers, again, strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_array_equal(one, other)
    n_numbers = table.select_dtypes("number").shape[1]
    for path in paths:
        # A class at the floor of its variances has terms of a million, which are rounded.
        assert np.isfinite(path).all()
        assert (np.diff(path) >= -1e-14 * given.sum() * (1 + n_numbers * rounding / 1e-14)).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_extreme_weights(learner, weights):
    check_extreme(learner, TABLES["plain"], weights)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_extreme_tables(learner, table):
    check_extreme(learner, TABLES[table], "none")


@pytest.mark.soak
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_extreme_weights_of_extreme_tables(learner, table, weights):
    check_extreme(learner, TABLES[table], weights)
