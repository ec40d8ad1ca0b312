import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ciabench.lab.compute.guard import Guard
from ciabench.lab.compute.trial import run_cell
from ciabench.lab.plan.learner import from_estimator, resolve
from ciabench.lab.plan.plan import Job, Reference
from ciabench.seeds import Seed
from ciabench.world.base import Task, World
from ciabench.world.family import CIAFamily
from ciabench.world.model_family import TRAINING_BLOCK


@pytest.fixture
def plan(small):
    return replace(small().plan(), guard_foreign=False)


def cell(plan, trial=0, world=0):
    return run_cell(plan, Job(world, trial, plan.wanted(world)), Guard(time_limit=60))


def scores(plan, **where):
    """Scores by name and size, timings aside."""
    return {(plan.entrants[s.entrant].name, s.size): (s.error, s.success, s.t) for s in cell(plan, **where).scores}


def test_a_trial_is_a_function_of_its_place(plan):
    assert scores(plan) == scores(plan)
    assert scores(plan, trial=0) != scores(plan, trial=1)
    assert cell(plan, world=0).best != cell(plan, world=1).best


def test_other_learners_and_sizes_change_nothing(plan):
    alone = replace(plan, learners=plan.learners[1:], sizes=(30,))
    more = replace(
        plan, sizes=(10, 30, 3 * TRAINING_BLOCK), learners=(*plan.learners[::-1], resolve("hostile:Majority", "m", {}))
    )
    reference = scores(plan)
    assert scores(alone).items() <= reference.items() <= scores(more).items()


def test_a_seed_depends_on_class_and_parameters_not_on_the_name(plan):
    def drawn(name, **params):
        learner = resolve("hostile:Random", name, params)
        return scores(replace(plan, learners=(learner,)))[name, 30]

    assert drawn("random") == drawn("another name") == drawn("random", least=0)
    assert drawn("random") != drawn("random", least=1)
    assert drawn("fixed", random_state=1) != drawn("random")


def test_training_samples_are_nested(plan):
    task = plan.worlds[0].task(Seed((1997, "nested")))
    longest = task.training(2 * TRAINING_BLOCK + 1)
    for size in (1, 10, TRAINING_BLOCK, TRAINING_BLOCK + 1):
        for shorter, longer in zip(task.training(size), longest, strict=True):
            np.testing.assert_array_equal(shorter, longer[:size])
    assert not np.array_equal(longest[0][:TRAINING_BLOCK], longest[0][TRAINING_BLOCK : 2 * TRAINING_BLOCK])


@pytest.mark.parametrize(
    ("use", "cause"),
    [
        ("Raises", "ZeroDivisionError: on purpose"),
        ("PredictsNan", "predict returned nan; expected the labels 0 and 1"),
        ("PredictsTwo", "predict returned 2; expected the labels 0 and 1"),
        ("PredictsText", "expected the labels 0 and 1"),
        ("PredictsShort", "predict returned shape (31,) for 32 rows"),
    ],
)
def test_nonsense_fails_its_own_score_only(plan, use, cause):
    bad = resolve(f"hostile:{use}", "bad", {})
    found = scores(replace(plan, learners=(bad, *plan.learners)))
    assert scores(plan).items() <= found.items()
    for size in plan.sizes:
        error, success, t = found["bad", size]
        assert cause in error
        assert success is None
        assert t is None


def test_a_learner_that_mutates_its_data_changes_no_other_number(plan):
    mutating = resolve("hostile:Mutates", "mutates", {})
    assert scores(plan).items() <= scores(replace(plan, learners=(mutating, *plan.learners))).items()


def test_a_sample_of_one_class_makes_a_constant_rule(plan):
    logistic = replace(plan, learners=(resolve("sklearn.linear_model:LogisticRegression", "logistic", {}),), sizes=(1,))
    found = cell(logistic)
    assert found.scores[0].error is None
    assert found.scores[0].success in (pytest.approx(found.constant), pytest.approx(1 - found.constant))


class Broken(World):
    parameters, name, identity = {}, "broken", {}

    def task(self, seed):
        raise ValueError("nothing to draw")


def test_a_task_that_cannot_be_drawn_fails_the_cell(plan):
    found = cell(replace(plan, worlds=(Broken(),)))
    assert "nothing to draw" in found.error
    assert {score.error for score in found.scores} == {"its trial failed."}


class WithReference(CIAFamily):
    """A family that offers the Bayes rule as a reference, and knows the facts of its rows."""

    references = {"bayes rule": 1}  # noqa: RUF012

    def task(self, seed):
        task = super().task(seed)
        return replace(task, references={"bayes rule": lambda X, y: task.judge.model})


def test_a_reference_of_the_world_is_scored_beside_the_learners_on_the_worlds_that_offer_it(plan):
    worlds = (WithReference(5, 2, 0.9), CIAFamily(8, 2, 0.9))
    with_reference = replace(plan, worlds=worlds, references=(Reference("bayes rule"),))
    assert scores(with_reference)["bayes rule", 10] == (None, cell(with_reference).best, 1.0)
    assert ("bayes rule", 10) not in scores(with_reference, world=1)
    assert scores(with_reference).items() >= scores(plan).items()


def test_facts_of_cells_and_scores_are_plain(plan):
    em = replace(plan, learners=(resolve("EM", "EM", {}),))
    found = cell(em)
    assert set(json.loads(found.facts)) == {"difficulty", "draws"}
    assert set(json.loads(found.scores[0].facts)) == {"n_iter", "converged", "n_best_reproduced"}


def test_a_task_may_leave_its_classes_and_view_out():
    task = Task(training=lambda size: None, judge=None)
    assert task.classes is None
    assert task.view(10)("rows") == "rows"


def test_estimators_in_memory_have_the_identity_of_their_class():
    by_name = resolve("sklearn.linear_model:LogisticRegression", "x", {"C": 0.1})
    assert from_estimator("y", LogisticRegression(C=0.1)).identity == by_name.identity
    assert from_estimator("y", LogisticRegression()).identity != by_name.identity
    nested = [from_estimator("y", make_pipeline(StandardScaler(), SGDClassifier(alpha=a))).identity for a in (1, 2)]
    assert nested[0] != nested[1]
    assert "0x" not in nested[0]
