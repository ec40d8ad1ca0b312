import copy
import json
from functools import partial

import pytest

from ciabench.errors import ExperimentError
from ciabench.lab.plan.experiment import load, schema, validate
from ciabench.lab.plan.imports import import_foreign

PAPER = """
name = "paper"
seed = 1997
trials = 100
sizes = [10, 30, 100, 300, 1000]
learners = ["EM", "COV", { use = "Winnow", name = "basic Winnow", margin = 0.0, n_members = 1 },
            { use = "sklearn.linear_model:LogisticRegression", C = 0.1 }]
[[families]]
n = [10, 75]
k = [2, 3, 5]
b = 0.9
"""


@pytest.fixture
def paper(tmp_path):
    def write(text=PAPER):
        path = tmp_path / "paper.toml"
        path.write_text(text)
        return path

    return write


def test_grids_expand_and_classes_are_found_by_path(paper):
    experiment = load(
        paper(PAPER.replace('"EM", "COV", { use = "Winnow", name = "basic Winnow", margin = 0.0, n_members = 1 },', ""))
    )
    plan = experiment.plan()
    assert [(world.n, world.k) for world in plan.worlds] == [(n, k) for n in (10, 75) for k in (2, 3, 5)]
    assert [learner.name for learner in plan.learners] == ["LogisticRegression"]
    assert plan.learners[0].build(7).get_params()["C"] == 0.1
    assert plan.learners[0].build(7).random_state == 7


def test_spec_of_an_experiment_is_an_experiment(paper):
    experiment = load(paper())
    spec = experiment.spec()
    assert validate(json.loads(json.dumps(spec)), "again").spec() == spec
    assert spec["learners"][2] == {"use": "Winnow", "name": "basic Winnow", "margin": 0.0, "n_members": 1}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("trials = 100", "trails = 100", 'trails = 100: unknown key (did you mean "trials"?)'),
        ("trials = 100", 'trials = "many"', "trials = 'many': input should be a valid integer"),
        ("trials = 100", "trials = 0", "trials = 0: input should be greater than or equal to 1"),
        ("k = [2, 3, 5]", "k = []", "families[0].k = []: a list of values must not be empty"),
        (
            "[[families]]",
            "[[words]]",
            "words = [{'n': [10, 75], 'k': [2, 3, 5], 'b': 0.9}]: unknown key (did",
        ),
        ("sizes = [10, 30", "sizes = [10, 10", "sizes holds 10 twice"),
        ('"EM", "COV"', '"EM", "EM"', "learners holds EM twice"),
        ('name = "paper"', 'name = "../paper"', "name = '../paper': string should match pattern"),
        ('name = "paper"', 'name = ".."', "name = '..': string should match pattern"),
        ("seed = 1997\n", "", "seed: is missing"),
        ("seed = 1997", "seed = ", "is not TOML"),
        ("C = 0.1", "C = nan", "a parameter of a world or learner is not a plain value"),
        ("C = 0.1", "C = 1979-05-27", "a parameter of a world or learner is not a plain value"),
    ],
)
def test_mistakes_name_file_key_value_and_what_was_expected(paper, old, new, message):
    path = paper(PAPER.replace(old, new))
    with pytest.raises(ExperimentError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        ("Winow", "there is no learner 'Winow' (did you mean \"Winnow\"?)"),
        ({"use": "sklearn.naive_bayes:BernouliNB"}, '(did you mean "BernoulliNB"?)'),
        ({"use": "sklearn.naive_bayes:BernoulliNB", "alhpa": 1}, "unknown parameter 'alhpa'"),
        ({"use": "sklearn.naive_bayes:BernoulliNB", "alhpa": 1}, '(did you mean "alpha"?)'),
        ({"use": "no_such_package:Learner"}, "cannot be imported; ModuleNotFoundError"),
        ({"use": ":Learner"}, "cannot be imported; ValueError"),
        ({"use": "sklearn.preprocessing:StandardScaler"}, "is not a learner; expected a classifier"),
    ],
)
def test_learners_that_cannot_be_used_are_reported_before_the_run(small, learner, message):
    with pytest.raises(ExperimentError) as error:
        small(learners=[learner]).plan()
    assert str(error.value).startswith("small.toml: learners[0]: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        ({"n": 5, "k": 2, "b": 0.4}, "b, the difficulty, must be a number in (0.5, 1); got 0.4."),
        ({"n": 5, "k": 2, "b": 1.0}, "b, the difficulty, must be a number in (0.5, 1); got 1.0."),
        ({"n": 5, "k": 1, "b": 0.9}, "k, the number of hidden values, must be an integer of at least 2; got 1."),
        ({"n": 5, "k": 3.5, "b": 0.9}, "k, the number of hidden values, must be an integer of at least 2; got 3.5."),
        ({"n": 1, "k": 2, "b": 0.99}, "CIA(1, 2, 0.99) does not exist"),
        ({"n": 10**9, "k": 2, "b": 0.9}, "n, the number of attributes, must be at most 10000"),
        (
            {"n": 5, "k": 2, "b": 0.9, "tolerence": 1},
            "unknown parameter 'tolerence' of CIA (did you",
        ),
        ({"n": 5, "k": 2}, "CIA cannot be made; TypeError"),
        ({"pair": "passed"}, "'passed' is not a pair"),
    ],
)
def test_worlds_that_cannot_exist_are_reported_before_the_run(small, family, message):
    with pytest.raises(ExperimentError) as error:
        small(families=[{"n": 5, "k": 2, "b": 0.9}, family]).plan()
    assert str(error.value).startswith(f"small.toml: families[1]: {message}")
    assert "mistakes" not in str(error.value)


def test_two_worlds_of_one_name_are_refused(small):
    with pytest.raises(ExperimentError, match=r"^small.toml: two worlds are called CIA\(5, 2, 0.9\); leave one out"):
        small(families=[{"n": [5, 5], "k": 2, "b": 0.9}]).plan()


def test_worlds_are_named_as_learners_are_and_every_list_makes_a_grid(small):
    worlds = [{"use": "CIA", "n": 5, "k": 2, "b": 0.9, "min_headroom": [0.02, 0.05]}, {"use": "own_worlds:Coins"}]
    plan = small(families=[], worlds=worlds).plan()
    names = ["CIA(5, 2, 0.9)", "CIA(5, 2, 0.9, min_headroom=0.05)", "Coins"]
    assert [world.name for world in plan.worlds] == names
    assert plan.worlds[0].identity == {"n": 5, "k": 2, "b": 0.9, "tolerance": 0.01, "min_headroom": 0.02}


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ({"use": "CIO"}, "there is no world 'CIO' (did you mean \"CIA\"?); expected one of CIA, Spelling, "),
        ({"use": "hostile:Random"}, "'hostile:Random' is not a world; expected a subclass of ciabench.World"),
        ({"use": "own_worlds:Coins", "colour": 1}, "unknown parameter 'colour' of own_worlds:Coins"),
        ({"use": "no_such_module:World"}, "'no_such_module:World' cannot be imported; ModuleNotFoundError"),
    ],
)
def test_worlds_that_cannot_be_used_are_reported_before_the_run(small, world, message):
    with pytest.raises(ExperimentError) as error:
        small(families=[], worlds=[world]).plan()
    assert str(error.value).startswith(f"small.toml: worlds[0]: {message}")


def test_references_that_no_world_offers_are_refused(small):
    with pytest.raises(ExperimentError, match="no world of the experiment offers the reference 'limit'"):
        small(families=[], worlds=[{"use": "Tree", "n": 5, "d": 1, "b": 0.9}], references=["limit"]).plan()


def test_imports_of_learners_and_worlds_are_listed(small):
    assert small(worlds=[{"use": "own_worlds:Coins"}]).imports() == ["hostile:Random", "own_worlds:Coins"]


def test_schema_knows_every_key_and_allows_names():
    found = schema()
    keys = {
        "name",
        "description",
        "seed",
        "trials",
        "sizes",
        "worlds",
        "families",
        "learners",
        "references",
        "time_limit",
    }
    assert set(found["properties"]) == keys
    assert any(choice.get("type") == "string" for choice in found["properties"]["learners"]["items"]["anyOf"])


def test_an_experiment_does_not_change(small):
    experiment = small()
    before = copy.deepcopy(experiment.spec())
    experiment.spec()["worlds"].clear()
    assert experiment.spec() == before
    with pytest.raises(ValueError, match="frozen"):
        experiment.seed = 3


@pytest.mark.parametrize("kind", ["learners", "worlds"])
def test_a_plugin_whose_import_hangs_is_reported(small, tmp_path, monkeypatch, kind):
    (tmp_path / f"hanging_{kind}.py").write_text("import time\ntime.sleep(3600)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("ciabench.lab.plan.registry.import_foreign", partial(import_foreign, time_limit=1.0))
    with pytest.raises(ExperimentError, match=rf"small.toml: {kind}\[0\]: importing 'hanging_{kind}' did not finish"):
        small(**{kind: [{"use": f"hanging_{kind}:Any"}]}).plan()
