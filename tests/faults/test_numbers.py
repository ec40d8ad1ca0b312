"""Learners with hidden variables on extreme input, and beside plain implementations (long form: `soak.py numbers`)."""

import warnings

import numpy as np
import pandas as pd
import pytest
from checks import BOUNDS, CHECKS, worst_of
from sklearn.exceptions import ConvergenceWarning

from ciabench import EM, BayesianMixture, BeliefNetwork, LatentClass
from ciabench.errors import DataError

PROBLEMS = {"EM": 40, "LatentClass": 40, "BeliefNetwork": 40, "BayesianMixture": 10}


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
    given = WEIGHTS[weights](np.arange(len(table)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for kind in (UserWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", kind)
        (numbers, paths), (again, _) = (LEARNERS[learner](table, given) for _ in range(2))
    for one, other in zip(numbers, again, strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_array_equal(one, other)
    # A class at the floor of its variances has terms of a million in every row, which are rounded.
    rounding = 1e-15 * given.sum() * (10 if learner == "BeliefNetwork" else 1e6 * table.size)
    for path in paths:
        assert np.isfinite(path).all()
        assert (np.diff(path) >= -rounding).all()


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


def test_weights_whose_sum_no_number_holds_are_refused():
    with pytest.raises(DataError, match=r"sample_weight must sum to at most 1e\+304; got inf. Divide it by a constant"):
        EM().fit([[0], [1]], [0, 1], sample_weight=[1.7e308, 1.7e308])


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sixty_thousand_levels():
    levels = pd.Categorical.from_codes(np.arange(60_000), [f"level {place}" for place in range(60_000)])
    table = pd.DataFrame({"level": levels, "bit": np.arange(60_000) % 2})
    options = {"n_init": 1, "max_iter": 6, "random_state": 0}
    em = EM(**options).fit(table, np.arange(60_000) % 2)
    network = BeliefNetwork([("z", "level"), ("z", "bit")], hidden={"z": 2}, **options).fit(table)
    for fitted in (em, network):
        assert (np.diff(fitted.restart_paths_[0]) >= -1e-9 * 60_000).all()
    with pytest.raises(DataError, match="column 'level' has 100000 levels; at most 65534 are possible"):
        LatentClass().fit(pd.DataFrame({"level": np.arange(100_000).astype(str)}))


def test_rows_that_no_variance_explains_have_a_probability():
    """Numbers 1e150 away from classes with next to no variance."""
    table = pd.DataFrame({"number": 1e-9 * np.random.default_rng(0).normal(size=40)})
    far = pd.DataFrame({"number": [1e150, -1e150]})
    y = np.arange(40) % 2
    fitted = [BayesianMixture(max_sweeps=50, random_state=0), EM(n_init=1, random_state=0)]
    for learner in [*fitted, EM(n_init=1, covariance="full", random_state=0)]:
        np.testing.assert_allclose(learner.fit(table, y).predict_proba(far).sum(axis=1), 1)


def test_a_start_under_which_rows_are_impossible_is_left():
    table = pd.DataFrame({"a": [0, 1, 1, 0], "b": [0, 1, 0, 1]})
    start = {"z": [0.5, 0.5], "a": [[1.0, 0.0], [1.0, 0.0]], "b": [[0.9, 0.1], [0.2, 0.8]]}
    network = BeliefNetwork([("z", "a"), ("z", "b")], hidden={"z": 2}, init=start, n_init=1).fit(table)
    assert network.converged_
    assert np.isfinite(network.restart_paths_[0]).all()
