"""Progress of a run: a bar in a terminal or notebook, plain lines in a log, or nothing."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ciabench.lab.plan.outcome import CellOutcome
from ciabench.lab.plan.plan import Plan

Style = Literal["full", "bar", "silent"]
Show = Callable[[CellOutcome], None]
Clock = Callable[[], float]

LINE_SECONDS = 10.0
"""Time between lines of a log."""

BAR_SECONDS = 0.1
"""Time between updates of a bar."""

WINDOW_SECONDS = 60.0
"""The rate is averaged over this time, or over the last two arrivals if they are further apart."""

BURST_SECONDS = 0.5
"""Cells that arrive within this time count as one arrival: workers send them in batches."""

EVIDENCE_SECONDS = 2.0
"""No rate is given until it has been observed for this long."""


@dataclass
class Arrival:
    """Cells that arrived together: times of the first and the last, and the total number of cells by then."""

    began: float
    ended: float
    count: int


class Pace:
    """Cells per second, measured from the first arrival, so that compilation and set-up do not count.

    Examples
    --------
    >>> pace = Pace()
    >>> for second in (100, 101, 102, 103):
    ...     pace.add(second)
    >>> pace.rate(103)
    1.0
    """

    def __init__(self) -> None:
        self._arrivals: deque[Arrival] = deque()
        self._count = 0

    def add(self, now: float) -> None:
        """Count a cell."""
        self._count += 1
        if self._arrivals and now - self._arrivals[-1].began < BURST_SECONDS:
            self._arrivals[-1].ended, self._arrivals[-1].count = now, self._count
            return
        self._arrivals.append(Arrival(now, now, self._count))
        while len(self._arrivals) > 2 and self._arrivals[1].ended < now - WINDOW_SECONDS:
            self._arrivals.popleft()

    def rate(self, now: float) -> float | None:
        """Recent cells per second; None if there is not enough evidence."""
        if not self._arrivals:
            return None
        first = self._arrivals[0]
        if self._count == first.count or now - first.ended < EVIDENCE_SECONDS:
            return None
        return (self._count - first.count) / (now - first.ended)


class Tally:
    """Cells done, failures, the rate, and the running T of each learner at the largest size.

    Parameters
    ----------
    plan : Plan
    complete : int
        Cells completed before this run.
    total : int
        Cells of the whole experiment.
    clock : callable
        Seconds since any fixed time.

    Examples
    --------
    >>> from ciabench.lab.plan.outcome import ScoreOutcome
    >>> plan = Plan(seed=1, trials=2, sizes=(10,), worlds=(), learners=())
    >>> tally = Tally(plan, complete=0, total=2)
    >>> tally.add(CellOutcome(0, 0, 0.1, [ScoreOutcome(0, 10, error="failed.")]))
    >>> tally.line()
    '1/2 cells  1 failed'
    """

    def __init__(self, plan: Plan, complete: int, total: int, clock: Clock = time.perf_counter) -> None:
        self.done, self.total, self.failed = complete, total, 0
        self.clock = clock
        self._names = [entrant.name for entrant in plan.entrants]
        self._size = max(plan.sizes)
        self._sums = dict.fromkeys(range(len(self._names)), (0.0, 0))
        self._pace = Pace()

    def add(self, cell: CellOutcome) -> None:
        """Count a finished cell."""
        self.done += 1
        self._pace.add(self.clock())
        for score in cell.scores:
            self.failed += score.error is not None
            if score.size == self._size and score.t is not None and math.isfinite(score.t):
                total, count = self._sums[score.entrant]
                self._sums[score.entrant] = (total + score.t, count + 1)

    def seconds_left(self) -> float | None:
        """Time left at the current rate; None if the rate is unknown, or nothing is left."""
        rate = self._pace.rate(self.clock())
        return (self.total - self.done) / rate if rate and self.done < self.total else None

    def line(self) -> str:
        """Progress in one line."""
        return "  ".join(part for part in (f"{self.done}/{self.total} cells", self.summary()) if part)

    def summary(self) -> str:
        """Time left, rate, running T and failures, as far as known."""
        left, rate = self.seconds_left(), self._pace.rate(self.clock())
        means = [(self._names[position], total / count) for position, (total, count) in self._sums.items() if count]
        shown = ", ".join(f"{name} {mean:.3f}" for name, mean in means)
        parts = [
            f"about {duration(left)} left" if left is not None else "",
            frequency(rate) if rate else "",
            f"T({self._size}): {shown}" if shown else "",
            f"{self.failed} failed" if self.failed else "",
        ]
        return "  ".join(part for part in parts if part)


def duration(seconds: float) -> str:
    """A duration, rounded for reading.

    Examples
    --------
    >>> [duration(seconds) for seconds in (0.2, 119, 120, 3500, 9000)]
    ['1 s', '119 s', '2 min', '58 min', '2.5 h']
    """
    if seconds < 119.5:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 7170 else f"{seconds / 3600:.1f} h"


def frequency(rate: float) -> str:
    """Cells per second, or per minute or hour at low rates.

    Examples
    --------
    >>> [frequency(rate) for rate in (51.23, 0.5, 0.001)]
    ['51.2 cells/s', '30.0 cells/min', '3.6 cells/h']
    """
    for factor, unit in ((1, "s"), (60, "min")):
        if rate * factor >= 1:
            return f"{rate * factor:.1f} cells/{unit}"
    return f"{rate * 3600:.1f} cells/h"


def following(style: Style, tally: Tally, label: str | None = None) -> AbstractContextManager[Show]:
    """Context manager that shows finished cells: as a bar where possible; elsewhere, "full" prints lines.

    A label stands beside the bar in place of rates and T.
    """
    console = Console(stderr=True)
    if style != "silent" and (console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)):
        return _bar(tally, console, label)
    return _lines(tally, console) if style == "full" else _silent(tally)


@contextmanager
def _silent(tally: Tally) -> Iterator[Show]:
    yield tally.add


@contextmanager
def _bar(tally: Tally, console: Console, label: str | None) -> Iterator[Show]:
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(label or "", total=tally.total, completed=tally.done)

        def update() -> None:
            progress.update(task, completed=tally.done, description=label or tally.summary())

        yield _now_and_then(tally, BAR_SECONDS, update)


@contextmanager
def _lines(tally: Tally, console: Console) -> Iterator[Show]:
    def print_line() -> None:
        console.print(tally.line(), markup=False, highlight=False, soft_wrap=True)

    yield _now_and_then(tally, LINE_SECONDS, print_line)


def _now_and_then(tally: Tally, interval: float, update: Callable[[], None]) -> Show:
    """Function that counts a cell, and updates the display at most once per interval, and at the end."""
    shown = tally.clock()

    def show(cell: CellOutcome) -> None:
        nonlocal shown
        tally.add(cell)
        if tally.clock() - shown > interval or tally.done == tally.total:
            shown = tally.clock()
            update()

    return show
