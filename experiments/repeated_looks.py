"""Joint error of looking at the claims again and again: `python experiments/repeated_looks.py [RUNS]` (two minutes).

Committed rows of the paper's families, resampled by trial to 10,000 trials and looked at every 100 from 500 on. Every
statement is recentred on its margin, so that each end of its interval that ever lies on the wrong side is an error. A
claim errs in its worst case: either it is reproduced though one statement only just fails (all others hold clearly),
or it is not reproduced though all statements only just hold. Which case is worst is chosen on as many other runs. The
joint error is the share of runs in which any claim errs; its budget is 5% times the share of the paper's claims among
them.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ciabench import reference
from ciabench.findings.claims import CLAIMS
from ciabench.findings.evidence import Estimate, Level
from ciabench.findings.points import Points, Quantity
from ciabench.findings.selection import Data
from ciabench.findings.sequences import FIRST_LOOK, End, bound
from ciabench.findings.statements import Somewhere, Statement
from ciabench.findings.tester import error_rate

SIMULATED = ("C1", "C2", "C3", "C4", "C5", "C6", "C7", "C9")
"""Claims of the paper whose statements are about the families of its figures, which have 300 trials as rows."""

RUNS, TRIALS, STEP = 5_000, 10_000, 100
CHUNK = 200
"""Runs simulated at a time."""


class Test(NamedTuple):
    """One end of one interval: distances from the margin by trial, with mean 0, the end that may err, and its level."""

    distances: tuple[float, ...]
    end: End
    level: float


Case = tuple[Test, ...]
"""A claim errs in a case if any of its tests does."""


class Kept(Points):
    """Points that keep the values behind each estimate."""

    def estimate(self, quantity: Quantity) -> Estimate:
        """Estimate the mean of a quantity, and keep its values."""
        found = super().estimate(quantity)
        VALUES[found] = quantity.by_trial(self)
        return found


VALUES: dict[Estimate, np.ndarray] = {}


def centred(statement: Statement) -> Iterator[tuple[float, ...]]:
    """Distances from the margin, recentred on it; from either margin of a statement that a mean is within ±c."""
    assert isinstance(statement.estimate, Estimate)
    values = VALUES[statement.estimate]
    for sign in {"above": (1,), "below": (-1,), "within": (-1, 1)}[statement.direction]:
        yield tuple(sign * (values - values.mean()))


def cases(identity: str, data: Data) -> list[Case]:
    """The ways in which a claim may be judged wrongly."""
    statements = CLAIMS[identity].test(data)
    level = Level.of_claim(error_rate(identity, CLAIMS), len(statements))
    found: list[Case] = []
    contradictions: list[list[Test]] = [[], []]
    for statement in statements:
        if isinstance(statement, Statement):
            sides = list(centred(statement))
            found += [(Test(side, "low", level.support),) for side in sides]
            own = level.contradict / len(sides)
            for tests, side in zip(contradictions, (sides * 2)[:2], strict=True):
                tests.append(Test(side, "high", own))
        elif isinstance(statement, Somewhere):
            found += supported(statement, level)
            smallest = statement.places[min(statement.places)]
            for tests in contradictions:
                tests += [Test(next(centred(one)), "high", level.contradict / len(smallest)) for one in smallest]
    return [*found, *map(tuple, contradictions)]


def supported(statement: Somewhere, level: Level) -> list[Case]:
    """At every size one of the parts only just fails: the first of them everywhere, or the second."""
    own = level.support / len(statement.places)
    parts = zip(*statement.places.values(), strict=True)
    return [tuple(Test(next(centred(one)), "low", own) for one in sizes) for sizes in parts]


def errors(tests: Sequence[Test], runs: int, seed: int) -> np.ndarray:
    """Whether each test ever errs, by run and test."""
    rng, values = np.random.default_rng(seed), np.array([test.distances for test in tests]).T
    powers = np.hstack([values, values**2, values**3])
    counts = np.arange(STEP, TRIALS + 1, STEP)[None, :, None]
    found = []
    for start in range(0, runs, CHUNK):
        size = min(CHUNK, runs - start)
        drawn = rng.multinomial(STEP, np.full(len(values), 1 / len(values)), (size, TRIALS // STEP))
        sums = np.cumsum((drawn.reshape(-1, len(values)) @ powers).reshape(*drawn.shape[:2], -1), axis=1)
        first, second, third = np.split(sums / counts, 3, axis=2)
        variance = np.maximum(second - first**2, 1e-300)
        skewness = (third - 3 * first * second + 2 * first**3) / variance**1.5
        deviation = np.sqrt(variance * counts / (counts - 1))
        found.append(
            np.stack(
                [
                    _errs(test, counts[0, :, 0], first[..., i], deviation[..., i], skewness[..., i])
                    for i, test in enumerate(tests)
                ],
                axis=1,
            )
        )
    return np.concatenate(found)


def _errs(test: Test, counts: np.ndarray, mean: np.ndarray, deviation: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Whether an end ever lies on the wrong side, by run."""
    is_look = counts >= FIRST_LOOK
    ends = bound(counts[is_look], mean[:, is_look], deviation[:, is_look], skewness[:, is_look], test.level, test.end)
    is_wrong = ends > 0 if test.end == "low" else ends < 0
    return np.asarray(np.any(is_wrong, axis=1))


def main(runs: int) -> None:
    data = Data(rows := reference("paper"), Kept.of_rows(rows))
    of_claims = {identity: cases(identity, data) for identity in SIMULATED}
    tests = list(dict.fromkeys(test for own in of_claims.values() for case in own for test in case))
    place = {test: number for number, test in enumerate(tests)}
    other, final = errors(tests, runs, seed=1), errors(tests, runs, seed=2)
    joint = np.zeros(runs, dtype=bool)
    print(f"{len(tests)} ends of intervals, {runs:,} runs, looks every {STEP} trials from {FIRST_LOOK} to {TRIALS:,}")
    for identity, own in of_claims.items():
        columns = [[place[test] for test in case] for case in own]
        worst = max(columns, key=lambda chosen: other[:, chosen].any(axis=1).mean())
        errs = final[:, worst].any(axis=1)
        joint |= errs
        level = error_rate(identity, CLAIMS)
        print(f"{identity}: {errs.mean():.2%} in the worst of {len(own)} cases, at most {level:.2%}")
    share, budget = joint.mean(), sum(error_rate(identity, CLAIMS) for identity in SIMULATED)
    print(f"joint error: {share:.2%} ± {np.sqrt(share * (1 - share) / runs):.2%}, budget {budget:.2%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
