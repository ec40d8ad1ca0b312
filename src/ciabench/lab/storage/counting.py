"""How much of an experiment a store holds; scores are counted without being read where that is possible."""

from collections.abc import Callable
from typing import Any

from ciabench.lab.storage import tables
from ciabench.lab.storage.records import Counts
from ciabench.lab.storage.view import View


def count(query: Callable[[str], list[tuple[Any, ...]]], view: View) -> Counts:
    """Count the cells and scores of a view, given a function that returns the rows of a query."""
    (cells,), (everything,), (beyond,), (failures, failed) = (
        query(statement)[0]
        for statement in (tables.CELLS_IN_VIEW, tables.ALL_SCORES, tables.SHOWN_BEYOND, tables.FAILED_SCORES)
    )
    shown = query(tables.SHOWN_SCORES)[0][0] if _has_others(query, view) else everything
    done = shown - beyond - failed
    cells_wanted, scores_wanted = view.trials * len(view.worlds), view.trials * view.scores_per_trial
    return Counts(cells, cells_wanted, done, failed, scores_wanted, beyond=everything - failures - done)


def _has_others(query: Callable[[str], list[tuple[Any, ...]]], view: View) -> bool:
    """Whether there may be scores of learners or at sizes that are not shown."""
    learners = {learner for (learner,) in query(tables.LEARNERS)}
    return not (view.known_sizes and view.known_sizes <= view.sizes and learners <= set(view.learners))
