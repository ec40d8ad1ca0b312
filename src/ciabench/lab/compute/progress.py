"""How far a run is: a bar in a terminal or notebook, plain lines in a log, or nothing."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ciabench.lab.compute.trial import CellRow, Plan

Style = Literal["full", "bar", "silent"]
Show = Callable[[CellRow], None]

LINE_SECONDS = 10.0


class Tally:
    """Cells done, failures, the rate, and the running T of each learner at the largest size.

    Examples
    --------
    >>> from ciabench.lab.compute.trial import ScoreRow
    >>> plan = Plan(seed=1, trials=2, sizes=(10,), families=(), learners=())
    >>> tally = Tally(plan, complete=0, total=2)
    >>> tally.add(CellRow(0, 0, None, 0.1, [ScoreRow(0, 10, "failed.")]))
    >>> tally.done, tally.failed
    (1, 1)
    """

    def __init__(self, plan: Plan, complete: int, total: int) -> None:
        self.done, self.total, self.failed = complete, total, 0
        self._names = [learner.name for learner in plan.learners]
        self._size = max(plan.sizes)
        self._sums = dict.fromkeys(range(len(plan.learners)), (0.0, 0))
        self._began, self._started = complete, time.perf_counter()

    def add(self, cell: CellRow) -> None:
        """Count a finished cell."""
        self.done += 1
        for score in cell.scores:
            self.failed += score.error is not None
            if score.size == self._size and score.t is not None:
                total, count = self._sums[score.learner]
                self._sums[score.learner] = (total + score.t, count + 1)

    def rate(self) -> float:
        """Cells a second in this run."""
        return (self.done - self._began) / max(time.perf_counter() - self._started, 1e-9)

    def summary(self) -> str:
        """Rate, running T and failures in one line."""
        means = [(self._names[position], total / count) for position, (total, count) in self._sums.items() if count]
        shown = ", ".join(f"{name} {mean:.3f}" for name, mean in means)
        parts = [f"{self.rate():.1f}/s", f"T({self._size}): {shown}" if shown else "", self._failures()]
        return "  ".join(part for part in parts if part)

    def _failures(self) -> str:
        return f"{self.failed} failed" if self.failed else ""


def following(style: Style, tally: Tally) -> AbstractContextManager[Show]:
    """Context in which finished cells are shown: by a bar where one can be drawn; elsewhere "full" prints lines."""
    console = Console(stderr=True)
    if style != "silent" and (console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)):
        return _bar(tally, console)
    return _lines(tally, console) if style == "full" else _silent(tally)


@contextmanager
def _silent(tally: Tally) -> Iterator[Show]:
    yield tally.add


@contextmanager
def _bar(tally: Tally, console: Console) -> Iterator[Show]:
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=tally.total, completed=tally.done)
        shown = 0.0

        def show(cell: CellRow) -> None:
            nonlocal shown
            tally.add(cell)
            if time.perf_counter() - shown > 0.1 or tally.done == tally.total:
                shown = time.perf_counter()
                progress.update(task, completed=tally.done, description=tally.summary())

        yield show


@contextmanager
def _lines(tally: Tally, console: Console) -> Iterator[Show]:
    shown = time.perf_counter()

    def show(cell: CellRow) -> None:
        nonlocal shown
        tally.add(cell)
        if time.perf_counter() - shown > LINE_SECONDS or tally.done == tally.total:
            shown = time.perf_counter()
            left = (tally.total - tally.done) / max(tally.rate(), 1e-9)
            line = f"{tally.done}/{tally.total} cells  {left:.0f} s left  {tally.summary()}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)

    yield show
