"""May a store be continued with this experiment? Only additions may; all else is told and refused."""

from collections.abc import Iterator
from typing import Any

RESULT_VERSION = 2
"""Raised whenever this package would give other numbers for the same experiment."""

Spec = dict[str, Any]


def label(family: Spec) -> str:
    """What a family is called.

    Examples
    --------
    >>> label({"n": 10, "k": 2, "b": 0.9}), label({"pair": "passed/past"})
    ('CIA(10, 2, 0.9)', 'passed/past')
    """
    return str(family["pair"]) if "pair" in family else "CIA({n}, {k}, {b:g})".format_map(family)


def is_spec(value: Any) -> bool:
    """Whether a value read from a file has the form of a spec.

    Examples
    --------
    >>> is_spec({"name": "tour", "seed": 1, "trials": 100, "sizes": [10], "families": [], "learners": []})
    True
    >>> is_spec(["tour"])
    False
    """
    kinds = {"name": str, "seed": int, "trials": int, "sizes": list, "families": list, "learners": list}
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(key), kind) for key, kind in kinds.items())
        and all(isinstance(item, dict) for item in [*value["families"], *value["learners"]])
    )


def contradictions(old: Spec, new: Spec) -> list[str]:
    """What a new spec takes away from an old one or changes in it; more sizes, families or learners do not.

    Nor does another number of trials: those that are there stay, those that are missing are added.

    Examples
    --------
    >>> old = {"name": "tour", "seed": 1, "trials": 100, "sizes": [10, 30], "families": [], "learners": []}
    >>> contradictions(old, {**old, "trials": 300})
    []
    >>> contradictions(old, {**old, "seed": 2, "sizes": [10]})
    ['seed was 1, now 2', 'size 30 is gone']
    """
    return list(_contradictions(old, new))


def _contradictions(old: Spec, new: Spec) -> Iterator[str]:
    for key in ("name", "seed"):
        if old[key] != new[key]:
            yield f"{key} was {old[key]!r}, now {new[key]!r}"
    for size in old["sizes"]:
        if size not in new["sizes"]:
            yield f"size {size} is gone"
    yield from _lost("family", _by_label(old["families"]), _by_label(new["families"]))
    yield from _lost("learner", _by_name(old["learners"]), _by_name(new["learners"]))


def _lost(kind: str, old: dict[str, Spec], new: dict[str, Spec]) -> Iterator[str]:
    """Items that are gone or have changed."""
    for label, item in old.items():
        if label not in new:
            yield f"{kind} {label} is gone"
            continue
        for key in sorted({*item, *new[label]}):
            before, after = item.get(key, "the default"), new[label].get(key, "the default")
            if before != after:
                yield f"{key} of {kind} {label} was {before!r}, now {after!r}"


def _by_label(families: list[Spec]) -> dict[str, Spec]:
    return {label(family): family for family in families}


def _by_name(learners: list[Spec]) -> dict[str, Spec]:
    return {repr(learner["name"]): learner for learner in learners}
