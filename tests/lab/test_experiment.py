import copy
import json

import pytest

from ciabench.errors import ExperimentError
from ciabench.lab.plan.experiment import load, schema, validate

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
    assert [(family.identity["n"], family.identity["k"]) for family in plan.families] == [
        (n, k) for n in (10, 75) for k in (2, 3, 5)
    ]
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
        ("b = 0.9", "b = 0.9\ntolerence = 1", 'families[0].tolerence = 1: unknown key (did you mean "tolerance"?)'),
        ("trials = 100", 'trials = "many"', "trials = 'many': input should be a valid integer"),
        ("trials = 100", "trials = 0", "trials = 0: input should be greater than or equal to 1"),
        ("k = [2, 3, 5]", "k = [2, 3.5]", "families[0].k[1] = 3.5: input should be a valid integer"),
        ("b = 0.9", "b = 1.5", "families[0].b[0] = 1.5: input should be less than 1"),
        ("sizes = [10, 30", "sizes = [10, 10", "sizes holds 10 twice"),
        ('"EM", "COV"', '"EM", "EM"', "learners holds EM twice"),
        ("k = [2, 3, 5]", "k = [2, 2]", "families holds CIA(10, 2, 0.9) twice"),
        ('name = "paper"', 'name = "../paper"', "name = '../paper': string should match pattern"),
        ('name = "paper"', 'name = ".."', "name = '..': string should match pattern"),
        ("seed = 1997\n", "", "seed: is missing"),
        ("seed = 1997", "seed = ", "is not TOML"),
        ("C = 0.1", "C = nan", "a parameter is not a plain value"),
        ("C = 0.1", "C = 1979-05-27", "a parameter is not a plain value"),
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
        ({"use": "no_such_package:Learner"}, "can not be imported; ModuleNotFoundError"),
        ({"use": ":Learner"}, "can not be imported; ValueError"),
        ({"use": "sklearn.preprocessing:StandardScaler"}, "is not a classifier"),
    ],
)
def test_learners_that_can_not_be_used_are_told_before_the_run(small, learner, message):
    with pytest.raises(ExperimentError) as error:
        small(learners=[learner]).plan()
    assert str(error.value).startswith("small.toml: learners[0]: ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    "family", [{"n": 5, "k": 2, "b": 0.4}, {"n": 5, "k": 1, "b": 0.9}, {"n": 1, "k": 2, "b": 0.99}]
)
def test_families_that_can_not_exist_are_told_before_the_run(small, family):
    with pytest.raises(ExperimentError, match=r"^small.toml: families\[0\]: "):
        small(families=[family]).plan()


def test_schema_knows_every_key_and_allows_scalars_and_names():
    told = schema()
    assert set(told["properties"]) == {"name", "seed", "trials", "sizes", "families", "learners", "time_limit"}
    assert {choice["type"] for choice in told["$defs"]["FamilyGrid"]["properties"]["n"]["anyOf"]} == {
        "integer",
        "array",
    }
    assert any(choice.get("type") == "string" for choice in told["properties"]["learners"]["items"]["anyOf"])


def test_an_experiment_does_not_change(small):
    experiment = small()
    before = copy.deepcopy(experiment.spec())
    experiment.spec()["families"].clear()
    assert experiment.spec() == before
    with pytest.raises(ValueError, match="frozen"):
        experiment.seed = 3
