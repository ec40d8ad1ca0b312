import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest

from ciabench import Score, Task, World
from ciabench.seeds import Seed, canonical
from ciabench.world import builtin_worlds


@dataclass(frozen=True)
class Coin(World):
    """A world as a user would write one."""

    sides: int
    bias: float = 0.5
    colours: tuple = field(default=("red", "blue"))
    cache: dict = field(default_factory=dict, init=False, compare=False)

    def task(self, seed):
        return Task(training=lambda size: (np.zeros((size, 1)), np.zeros(size)), judge=None)


def test_parameters_are_the_fields_that_the_constructor_takes():
    assert Coin(2).parameters == {"sides": 2, "bias": 0.5, "colours": ("red", "blue")}


@pytest.mark.parametrize(
    ("world", "name"),
    [
        (Coin(2), "Coin(sides=2)"),
        (Coin(2, 0.5), "Coin(sides=2)"),
        (Coin(2, 0.7), "Coin(sides=2, bias=0.7)"),
        (Coin(2, colours=("red",)), "Coin(sides=2, colours=('red',))"),
    ],
)
def test_the_name_is_the_class_with_the_parameters_that_are_not_the_default(world, name):
    assert world.name == name


def test_a_world_with_no_parameters_is_called_as_its_class_is():
    @dataclass(frozen=True)
    class Plain(World):
        def task(self, seed): ...

    assert Plain().name == "Plain"
    assert Plain().parameters == {}


def test_the_identity_names_the_class_and_all_parameters():
    """A default that is changed later must not silently be taken for the old one."""
    identity = Coin(2).identity
    assert identity == {"use": f"{__name__}:Coin", "sides": 2, "bias": 0.5, "colours": ("red", "blue")}
    assert canonical(identity) == canonical(pickle.loads(pickle.dumps(identity)))
    assert canonical(identity) != canonical(Coin(2, 0.7).identity)


def test_a_world_needs_a_task():
    class Empty(World):
        pass

    with pytest.raises(TypeError, match=r"abstract method '?task'?"):
        Empty()


def test_a_task_shows_all_rows_and_offers_no_references_unless_it_says_so():
    task = Coin(2).task(Seed((0,)))
    rows = np.eye(3)
    assert task.view(10)(rows) is rows
    assert (dict(task.facts), dict(task.references), task.classes) == ({}, {}, None)
    assert (Coin.version, dict(Coin.references), Coin.use) == (1, {}, "")


def test_a_score_has_no_facts_unless_they_are_given():
    assert Score(0.7, 0.5, 0.1) == (0.7, 0.5, 0.1, {})


def test_built_in_worlds_go_by_the_names_of_experiment_files():
    found = builtin_worlds()
    assert {"CIA", "Spelling"} <= set(found)
    assert all(world.use == name for name, world in found.items())
