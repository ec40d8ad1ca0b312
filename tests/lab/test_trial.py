from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ciabench.lab.compute.guard import Guard
from ciabench.lab.plan.learner import from_estimator, resolve
from ciabench.lab.tasks import BLOCK
from ciabench.lab.compute.trial import Job, run_cell


@pytest.fixture
def plan(small):
    return replace(small().plan(), guard_foreign=False)


def cell(plan, trial=0, family=0):
    return run_cell(plan, Job(family, trial, plan.wanted()), Guard(time_limit=60))


def scores(plan, **where):
    """Scores by name and size, timings aside."""
    return {(plan.learners[s.learner].name, s.size): (s.error, s.success, s.t) for s in cell(plan, **where).scores}


def test_a_trial_is_a_function_of_its_place(plan):
    assert scores(plan) == scores(plan)
    assert scores(plan, trial=0) != scores(plan, trial=1)
    assert cell(plan, family=0).best != cell(plan, family=1).best


def test_other_learners_and_sizes_change_nothing(plan):
    alone = replace(plan, learners=plan.learners[1:], sizes=(30,))
    more = replace(
        plan, sizes=(10, 30, 3 * BLOCK), learners=(*plan.learners[::-1], resolve("hostile:Majority", "m", {}))
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
    task = plan.families[0].task(1997, "nested")
    longest = task.training(2 * BLOCK + 1)
    for size in (1, 10, BLOCK, BLOCK + 1):
        for shorter, longer in zip(task.training(size), longest, strict=True):
            np.testing.assert_array_equal(shorter, longer[:size])
    assert not np.array_equal(longest[0][:BLOCK], longest[0][BLOCK : 2 * BLOCK])


@pytest.mark.parametrize(
    ("use", "cause"),
    [
        ("Raises", "ZeroDivisionError: on purpose"),
        ("PredictsNan", "predict returned np.float64(nan)"),
        ("PredictsTwo", "predict returned np.int64(2)"),
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


def test_a_task_that_can_not_be_drawn_fails_the_cell(plan):
    class Starved:
        identity = plan.families[0].identity

        def task(self, *seed):
            raise ValueError("nothing to draw")

    found = cell(replace(plan, families=(Starved(),)))
    assert "nothing to draw" in found.error
    assert {score.error for score in found.scores} == {"its trial failed."}


def test_estimators_in_memory_have_the_identity_of_their_class():
    by_name = resolve("sklearn.linear_model:LogisticRegression", "x", {"C": 0.1})
    assert from_estimator("y", LogisticRegression(C=0.1)).identity == by_name.identity
    assert from_estimator("y", LogisticRegression()).identity != by_name.identity
    nested = [from_estimator("y", make_pipeline(StandardScaler(), SGDClassifier(alpha=a))).identity for a in (1, 2)]
    assert nested[0] != nested[1]
    assert "0x" not in nested[0]
