"""Belief networks: known posteriors, special cases, an independent EM, errors."""

import itertools
import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ciabench import EM, BeliefNetwork, CIAModel, NaiveBayes
from ciabench.errors import CIABenchError, DataError, LevelWarning, ModelError, ParameterError, SearchWarning

ASIA = Path(__file__).with_name("asia.bif")


@pytest.fixture(scope="module")
def asia():
    return BeliefNetwork.from_bif(ASIA)


def with_missing(table, share, seed=0):
    return table.mask(np.random.default_rng(seed).random(table.shape) < share)


def joint_likelihood(tables, rows):
    """Log-likelihood of rows, by a sum over all joint states; written without the library."""
    names = list(tables)
    states = {name: list(tables[name].columns) for name in names}
    joint = {}
    for values in itertools.product(*(states[name] for name in names)):
        world, chance = dict(zip(names, values, strict=True)), 1.0
        for name, table in tables.items():
            given = [world[parent] for parent in table.index.names if parent is not None]
            row = tuple(given) if len(given) > 1 else (given[0] if given else "")
            chance *= table.loc[row, world[name]]
        joint[values] = chance
    array = np.array(list(joint.values())).reshape([len(states[name]) for name in names])
    total = 0.0
    for row in rows[names].itertuples(index=False):
        place = tuple(slice(None) if pd.isna(v) else states[n].index(v) for n, v in zip(names, row, strict=True))
        total += np.log(array[place].sum())
    return total


def test_asia_has_the_published_probabilities(asia):
    """Marginals and posteriors of Lauritzen & Spiegelhalter (1988), as every implementation prints them."""
    nothing = pd.DataFrame(index=[0])
    chances = {name: asia.posterior(nothing, name)[0, 0] for name in ("tub", "lung", "bronc", "either", "xray", "dysp")}
    expected = {"tub": 0.0104, "lung": 0.055, "bronc": 0.45, "either": 0.064828, "xray": 0.11029, "dysp": 0.435971}
    assert chances == pytest.approx(expected, abs=1e-6)
    told = pd.DataFrame({"asia": ["yes"], "dysp": ["yes"], "xray": ["yes"]})
    for name in ("tub", "lung"):
        logs = [
            joint_likelihood(asia.tables_, told.reindex(columns=asia.tables_).assign(**{name: state}))
            for state in ("yes", "no")
        ]
        expected = 1 / (1 + np.exp(logs[1] - logs[0]))
        assert asia.posterior(told, name)[0, 0] == pytest.approx(expected, abs=1e-9)


def test_complete_rows_are_counted(asia):
    rows = asia.sample(500, random_state=0)
    fitted = clone(asia).fit(rows)
    assert fitted.log_likelihoods_.size == 1
    assert fitted.log_likelihood_ == pytest.approx(joint_likelihood(fitted.tables_, rows), abs=1e-9)
    expected = pd.crosstab(rows["smoke"], rows["bronc"], normalize="index").loc[["yes", "no"], ["yes", "no"]]
    np.testing.assert_allclose(fitted.tables_["bronc"], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(fitted.tables_["smoke"].loc[""], [(rows["smoke"] == s).mean() for s in ("yes", "no")])


MODEL = CIAModel([0.4, 0.6], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.4], [0.1, 0.6], [0.5, 0.5]])


def test_hidden_parent_of_all_takes_the_steps_of_em():
    X, y = MODEL.sample(300, rng=0)
    table = pd.DataFrame(np.column_stack([y, X]), columns=["y", *"abcd"])
    weights, probs = np.array([0.4, 0.6]), np.random.default_rng(1).uniform(0.2, 0.8, (5, 2))
    start = {"z": weights} | {name: np.column_stack([1 - p, p]) for name, p in zip(table, probs, strict=True)}
    options = {"n_init": 1, "accelerate": False, "max_iter": 25}
    with pytest.warns(ConvergenceWarning):
        em = EM(init=(weights, probs), **options).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        network = BeliefNetwork([("z", name) for name in table], hidden={"z": 2}, init=start, **options).fit(table)
    assert network.log_likelihood_ == pytest.approx(em.log_likelihood_, abs=1e-9)
    np.testing.assert_allclose(network.tables_["z"].to_numpy()[0], em.weights_, rtol=0, atol=1e-9)
    found = [network.tables_[name].to_numpy()[:, 1] for name in table]
    np.testing.assert_allclose(found, em.probs_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(network.predict_proba(table, "y"), em.predict_proba(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(network.score_samples(table), em.score_samples(X, y), rtol=0, atol=1e-9)


def test_hidden_parent_of_all_reaches_the_optimum_of_em():
    X, y = MODEL.sample(300, rng=0)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    table = pd.DataFrame(np.column_stack([y, X]), columns=["y", *"abcd"])
    em = EM(random_state=0, tol=1e-12).fit(X, y)
    network = BeliefNetwork([("z", name) for name in table], hidden={"z": 2}, random_state=0, tol=1e-12).fit(table)
    assert network.log_likelihood_ == pytest.approx(em.log_likelihood_, abs=1e-9)
    assert network.n_parameters_ == em.n_parameters_
    assert network.bic_ == pytest.approx(em.bic_, abs=1e-8)
    assert network.n_best_reproduced_ > 1
    np.testing.assert_allclose(network.predict_proba(table, "y"), em.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("smoothing", [1.0, 0.3])
def test_class_as_parent_of_all_is_naive_bayes(smoothing):
    """As many rows of both classes, because `NaiveBayes` does not smooth the share of the classes."""
    X = np.random.default_rng(0).integers(0, 2, (200, 6), dtype=np.uint8)
    y = np.arange(200) % 2
    table = pd.DataFrame(np.column_stack([y, X]), columns=["y", *"abcdef"])
    network = BeliefNetwork([("y", name) for name in "abcdef"], smoothing=smoothing).fit(table)
    expected = NaiveBayes(smoothing=smoothing).fit(X, y)
    np.testing.assert_allclose(network.predict_proba(table, "y"), expected.predict_proba(X), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(network.predict(table, "y"), expected.predict(X))


def test_optimum_of_pyagrum_is_a_fixed_point(asia):
    """pyAgrum's EM on asia, 10% missing: a further step of ours changes nothing, and likelihoods agree.

    (What pyAgrum watches is not the likelihood of the observed cells, and falls at times: it then stops before the
    optimum, with a warning. Not so on these rows.)
    """
    gum = pytest.importorskip("pyagrum")
    rows = with_missing(asia.sample(1_000, random_state=0), 0.1)
    template = gum.loadBN(str(ASIA))
    learner = gum.BNLearner(rows.fillna("?"), template, ["?"])
    learner.useEMWithRateCriterion(1e-12, 0.0)
    learned = learner.learnParameters(template)
    tables = {name: table.copy() for name, table in asia.tables_.items()}
    for name, table in tables.items():
        for given, states in itertools.product(table.index, table.columns):
            values = given if isinstance(given, tuple) else (given,)
            place = {name: states} | {p: v for p, v in zip(table.index.names, values, strict=True) if p is not None}
            table.loc[given, states] = learned.cpt(name)[place]
        sums = table.sum(axis=1)
        assert sums.between(1 - 1e-6, 1 + 1e-6).all()
        tables[name] = table.div(sums, axis=0)
    with pytest.warns(ConvergenceWarning):
        one_step = clone(asia).set_params(init=tables, n_init=1, max_iter=1).fit(rows)
    assert one_step.log_likelihood_ == pytest.approx(joint_likelihood(tables, rows), abs=1e-5)
    continued = clone(asia).set_params(init=tables, n_init=1).fit(rows)
    assert continued.log_likelihood_ == pytest.approx(one_step.log_likelihood_, abs=1e-5)
    two_steps = clone(asia).set_params(init=tables, n_init=1, max_iter=2, accelerate=False).fit(rows)
    assert two_steps.converged_
    for name, table in tables.items():
        np.testing.assert_allclose(two_steps.tables_[name], table, rtol=0, atol=1e-5)


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_likelihood_never_falls(asia, accelerate, smoothing):
    rows = with_missing(asia.sample(300, random_state=1), 0.2).drop(columns=["either", "lung"])
    parameters = {"accelerate": accelerate, "smoothing": smoothing, "hidden": {"either": 2, "lung": 3}, "tol": 1e-5}
    fitted = clone(asia).set_params(n_init=4, random_state=0, **parameters).fit(rows)
    assert all((np.diff(path) > -1e-9).all() for path in fitted.restart_paths_)
    assert fitted.converged_
    if smoothing == 0:
        assert fitted.log_likelihood_ == pytest.approx(joint_likelihood(fitted.tables_, with_all(rows)), abs=1e-8)
        assert fitted.log_likelihood_ == pytest.approx(fitted.score_samples(rows).sum(), abs=1e-8)


def with_all(rows):
    return rows.assign(either=None, lung=None)


def test_acceleration_saves_steps_and_reaches_the_same(asia):
    rows = with_missing(asia.sample(1_000, random_state=1), 0.1).drop(columns="bronc")
    network = clone(asia).set_params(hidden={"bronc": 2}, n_init=1, random_state=0, tol=1e-11)
    plain, fast = (clone(network).set_params(accelerate=one).fit(rows) for one in (False, True))
    assert fast.log_likelihood_ > plain.log_likelihood_ - 1e-4
    assert fast.n_iter_ < 0.7 * plain.n_iter_


def test_relabelled_hidden_states_count_as_the_same_optimum():
    z = np.random.default_rng(0).integers(0, 3, 600)
    noise = np.random.default_rng(1).random((600, 5)) < 0.15
    table = pd.DataFrame(np.where(noise, (z[:, None] + 1) % 3, z[:, None]), columns=list("abcde"))
    fitted = BeliefNetwork([("z", name) for name in "abcde"], hidden={"z": 3}, n_init=10, random_state=0).fit(table)
    orders = set()
    for seed in range(5):
        one = clone(fitted).set_params(n_init=1, random_state=seed).fit(table)
        if one.log_likelihood_ > fitted.log_likelihood_ - 1e-4:
            orders.add(tuple(one.tables_["a"].to_numpy().argmax(axis=1)))
    assert len(orders) > 1
    assert fitted.n_best_reproduced_ >= 5


def test_a_weight_of_two_is_a_row_twice(asia):
    rows = with_missing(asia.sample(200, random_state=0), 0.1)
    weights = np.random.default_rng(0).integers(0, 3, 200)
    weighted = clone(asia).set_params(n_init=1).fit(rows, sample_weight=weights)
    repeated = clone(asia).set_params(n_init=1).fit(rows.loc[np.repeat(rows.index, weights)])
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_, abs=1e-6)
    assert weighted.bic_ == pytest.approx(repeated.bic_, abs=1e-5)


def test_starts_of_ones_own_and_names_of_hidden_states(asia):
    rows = asia.sample(300, random_state=0).drop(columns="bronc")
    fitted = clone(asia).set_params(hidden={"bronc": ["ill", "well"]}, n_init=3, random_state=0).fit(rows)
    assert list(fitted.tables_["bronc"].columns) == ["ill", "well"]
    again = clone(fitted).set_params(init=fitted.tables_, n_init=1).fit(rows)
    assert again.log_likelihood_ == pytest.approx(fitted.log_likelihood_, abs=1e-6)
    assert again.n_iter_ < 10
    assert again.log_likelihoods_.size == 1
    arrays = {name: np.asarray(table) for name, table in fitted.tables_.items()}
    assert clone(again).set_params(init=[arrays]).fit(rows).log_likelihood_ == again.log_likelihood_


def test_the_target_is_never_looked_at(asia):
    rows = asia.sample(50, random_state=3)
    flipped = rows.assign(dysp=np.where(rows["dysp"] == "yes", "no", "yes"))
    expected = asia.predict_proba(rows.drop(columns="dysp"), "dysp")
    for table in (rows, flipped):
        np.testing.assert_array_equal(asia.predict_proba(table, "dysp"), expected)
    np.testing.assert_array_equal(asia.predict(rows, "dysp"), np.where(expected[:, 0] >= 0.5, "yes", "no"))


def test_graphs_go_in_and_out(asia):
    graph = asia.to_networkx()
    assert isinstance(graph, nx.DiGraph)
    assert set(graph.edges) >= {("smoke", "lung"), ("bronc", "dysp")}
    assert graph.nodes["tub"] == {"hidden": False, "states": ["yes", "no"]}
    graph.add_node("alone")
    rows = asia.sample(100, random_state=0).assign(alone=lambda table: table["smoke"])
    fitted = BeliefNetwork(graph).fit(rows)
    assert fitted.tables_["alone"].shape == (1, 2)
    assert fitted.log_likelihood_ == pytest.approx(fitted.score_samples(rows).sum())


def test_arrays_columns_of_any_kind_and_pickles():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (100, 3)).astype(float)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    fitted = BeliefNetwork([(0, 1), (1, 2)], random_state=0).fit(rows)
    assert fitted.kinds_ == {0: "categorical", 1: "categorical", 2: "categorical"}
    assert set(fitted.predict(rows, 2)) <= {0, 1, 2}
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(rows, 2), fitted.predict_proba(rows, 2))
    drawn = fitted.sample(2_000, random_state=0)
    assert list(drawn.columns) == [0, 1, 2]
    assert drawn[2].mean() == pytest.approx(np.nanmean(rows[:, 2]), abs=0.15)
    mixed = pd.DataFrame({"ok": [True, False, True, None], "n": pd.Categorical(["x", "y", "z", "x"])})
    assert BeliefNetwork([("ok", "n")], random_state=0).fit(mixed).states_ == {
        "ok": (False, True),
        "n": ("x", "y", "z"),
    }


def test_new_levels_count_as_missing(asia):
    rows = pd.DataFrame({"smoke": ["yes", "maybe"], "lung": ["yes", "yes"]})
    with pytest.warns(LevelWarning, match="'smoke'"):
        chances = asia.posterior(rows, "bronc")
    np.testing.assert_allclose(chances[1], asia.posterior(rows[["lung"]], "bronc")[1])


def test_search_warnings():
    rows = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (40, 8)), columns=list("abcdefgh"))
    edges = [("z", name) for name in rows]
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        BeliefNetwork(edges, hidden={"z": 2}, max_iter=3, n_init=2, random_state=0).fit(rows)
    with pytest.warns(SearchWarning, match="raise n_init"):
        BeliefNetwork(edges, hidden={"z": 4}, n_init=5, random_state=0).fit(rows)


ROWS = pd.DataFrame({"a": [0, 1, 0], "b": ["x", "y", "x"], "c": [0.1, 0.2, 0.3]})

BAD = {
    "cycle": ({"edges": [("a", "b"), ("b", "a")]}, "a → b → a"),
    "loop": ({"edges": [("a", "a")]}, "a → a"),
    "no pairs": ({"edges": ["ab"]}, r"list of \(parent, child\)"),
    "nothing": ({"edges": []}, "at least one variable"),
    "undirected": ({"edges": nx.Graph([("a", "b")])}, "directed"),
    "unknown": ({"edges": [("a", "q")]}, "'q' is neither a column of X nor in hidden"),
    "hidden in the data": ({"edges": [("a", "b")], "hidden": {"a": 2}}, "hidden variable 'a' is also a column"),
    "hidden unknown": ({"edges": [("a", "b")], "hidden": {"z": 2}}, "'z', which no edge has"),
    "hidden no number": ({"edges": [("z", "b")], "hidden": {"z": 0}}, "number of states of 'z'"),
    "hidden list": ({"edges": [("z", "b")], "hidden": ["z"]}, "hidden must be a dict"),
    "twice": ({"edges": [("z", "b")], "hidden": {"z": ["s", "s"]}}, "different names"),
    "numeric": ({"edges": [("a", "c")]}, "'c' is numeric.*pandas.cut"),
    "state": ({"edges": [("a", "b")], "states": {"b": ["x", "z"]}}, "column 'b' has 'y'.*states x, z"),
    "init": ({"edges": [("a", "b")], "init": {"a": [0.5, 0.5]}}, "init lacks the table of 'b'"),
    "init shape": ({"edges": [("a", "b")], "init": {"a": [0.5, 0.5], "b": [0.5, 0.5]}}, r"shape \(2, 2\) for 'b'"),
    "init sum": ({"edges": [("a", "b")], "init": {"a": [0.5, 0.6], "b": np.eye(2)}}, "distributions for 'a'"),
    "tol": ({"edges": [("a", "b")], "tol": 0}, "tol"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_are_one_sentence(case):
    parameters, message = BAD[case]
    with pytest.raises(CIABenchError, match=message) as caught:
        BeliefNetwork(**parameters).fit(ROWS)
    assert "\n" not in str(caught.value)


def test_questions_that_cannot_be_answered(asia):
    rows = asia.sample(20, random_state=0)
    with pytest.raises(ParameterError, match="no variable 'cancer'; it has asia, "):
        asia.posterior(rows, "cancer")
    fitted = clone(asia).set_params(hidden={"lung": 2}, n_init=1).fit(rows.drop(columns="lung"))
    with pytest.raises(ParameterError, match=r"target 'lung' is hidden.*posterior"):
        fitted.predict(rows.drop(columns="lung"), "lung")
    with pytest.raises(DataError, match="shape"):
        asia.posterior([1, 2], "lung")
    with pytest.raises(ValueError, match="not fitted"):
        BeliefNetwork([("a", "b")]).sample(3)


BIF_ERRORS = {
    "state": (
        "(yes) 0.1, 0.9; (no) 0.01",
        "(yes) 0.1, 0.9; (never) 0.01",
        "'never' is not a state of 'smoke'.*yes, no",
    ),
    "sum": ("table 0.5, 0.5", "table 0.5, 0.6", "sum to 1"),
    "number": ("table 0.5, 0.5", "table 0.5, half", "not a number"),
    "count": ("table 0.5, 0.5", "table 0.5", "needs 2 numbers"),
    "variable": ("probability ( lung | smoke )", "probability ( lung | smoking )", "'smoking', which is not defined"),
    "row": ("(yes) 0.6, 0.4;", "", "no numbers given smoke = yes"),
    "parents": ("(yes, yes) 0.9", "(yes) 0.9", "state of each of its parents"),
    "table": ("probability ( asia ) { table 0.01, 0.99; }", "", "'asia' has no table"),
    "cycle": ("probability ( smoke ) { table 0.5, 0.5; }", "probability ( smoke | lung ) { default .5, .5; }", "cycle"),
}


@pytest.mark.parametrize("case", BIF_ERRORS)
def test_damaged_files_are_refused(case, tmp_path):
    old, new, message = BIF_ERRORS[case]
    text = ASIA.read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "bad.bif").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(ModelError, match=message):
        BeliefNetwork.from_bif(tmp_path / "bad.bif")


def test_tables_keep_the_order_of_parents(tmp_path):
    """The parents of c are not in the order of the variables."""
    heads = {"a": "{ a0, a1 }", "b": "{ b0, b1, b2 }", "c": "{ yes, no }"}
    variables = [f"variable {name} {{ type discrete [ 2 ] {states}; }}" for name, states in heads.items()]
    rows = [f"({b}, {a}) 0.{i}{j}, {1 - i / 10 - j / 100:.2f};" for i, b in enumerate(("b0", "b1", "b2"))
            for j, a in enumerate(("a0", "a1"))]  # fmt: skip
    tables = ["probability ( a ) { table 0.3, 0.7; }", "probability ( b ) { table 0.2, 0.3, 0.5; }"]
    path = tmp_path / "abc.bif"
    path.write_text("\n".join([*variables, *tables, "probability ( c | b, a ) {", *rows, "}"]), encoding="utf-8")
    network = BeliefNetwork.from_bif(path)
    assert network.tables_["c"].index.names == ["b", "a"]
    assert network.tables_["c"].loc[("b2", "a1"), "yes"] == pytest.approx(0.21)
    for i, j in itertools.product(range(3), range(2)):
        told = pd.DataFrame({"a": [f"a{j}"], "b": [f"b{i}"]})
        assert network.posterior(told, "c")[0, 0] == pytest.approx(i / 10 + j / 100)
    drawn = network.sample(20_000, random_state=0)
    fitted = clone(network).fit(drawn)
    assert np.abs(fitted.tables_["c"] - network.tables_["c"]).to_numpy().max() < 0.03


def test_a_file_that_does_not_exist():
    with pytest.raises(ModelError, match=r"nowhere\.bif: cannot be read; No such file"):
        BeliefNetwork.from_bif("nowhere.bif")


def test_tables_are_shown_in_notebooks(asia):
    shown = asia._repr_mimebundle_()["text/html"]
    assert shown.count("<table") == 8
    evil = pd.DataFrame({"<b>a</b>": ["<i>x</i>", "y"], "c": [0, 1]})
    assert "<i>" not in BeliefNetwork([("<b>a</b>", "c")]).fit(evil)._repr_html_()
    assert "BeliefNetwork" in BeliefNetwork([("a", "b")])._repr_html_()
