"""The library against its peers: same data, same run, one thread: `make bench`.

Prints processor seconds (medians, the two sides taking turns) and their ratio, and writes `results/speed.csv`,
`results/speed.md` and `results/speed.png`; `results/growth.csv` and `results/growth.png` show how EM's time grows.
"""

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from sklearn.linear_model import Perceptron as TheirPerceptron
from sklearn.naive_bayes import BernoulliNB
from threadpoolctl import threadpool_limits

import plain_harness
import speed_fresh
import speed_models
import speed_shown
from ciabench import EM, CIAFamily, NaiveBayes, Perceptron, Scorer, Task, Winnow, World
from ciabench.kernels import prepare_kernels
from ciabench.lab.compute.guard import Guard
from ciabench.lab.compute.trial import run_cell
from ciabench.lab.plan.learner import resolve
from ciabench.lab.plan.outcome import CellOutcome
from ciabench.lab.plan.plan import Job, Plan
from ciabench.latent import pieces, restarts
from ciabench.latent.starts import make_starts
from ciabench.seeds import Seed

SIZES = [(100, 10), (1000, 10), (10000, 10), (100, 75), (1000, 75), (10000, 75), (1000, 500)]
PROTOCOL_SIZES = (10, 30, 100, 300, 1000)
EVALUATIONS = 6
RESTARTS, TOLERANCE = plain_harness.RESTARTS, plain_harness.TOLERANCE

Work = Callable[[], object]


def seconds(work: Work, repeats: int) -> float:
    """Processor time of one call, averaged over repeats."""
    start = time.process_time()
    for _ in range(repeats):
        work()
    return (time.process_time() - start) / repeats


def take_turns(ours: Work, theirs: Work, rounds: int, budget: float = 0.05) -> tuple[float, float]:
    """Median processor times of both sides, measured alternately; short work is repeated within a round."""
    repeats = [max(1, int(budget / max(seconds(work, 1), 1e-6))) for work in (ours, theirs)]
    sides = list(zip((ours, theirs), repeats, strict=True))
    pairs = [[seconds(work, count) for work, count in sides] for _ in range(rounds)]
    return tuple(statistics.median(side) for side in zip(*pairs, strict=True))


def data(size: int, n: int, number: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw a sample of CIA(n, 2, 0.9)."""
    return CIAFamily(n, 2, 0.9).draw(rng=size + n + number).sample(size, rng=number)


def slowest_fit(size: int, n: int, rounds: int, restarts: int) -> float:
    """Processor time of our EM on the slowest of five data sets."""
    samples = [data(size, n, number) for number in range(5)]
    work = [lambda X=X, y=y: EM(n_init=restarts, tol=TOLERANCE, random_state=0).fit(X, y) for X, y in samples]
    return max(statistics.median(seconds(fit, 1) for _ in range(rounds)) for fit in work)


def against_stepmix(size: int, n: int, rounds: int, restarts: int = RESTARTS) -> dict[str, object]:
    X, y = data(size, n)
    rows = np.column_stack([y, X])
    likelihoods = {}

    def ours() -> None:
        likelihoods["ours"] = EM(n_init=restarts, tol=TOLERANCE, random_state=0).fit(X, y).log_likelihood_

    def theirs() -> None:
        likelihoods["theirs"] = plain_harness.stepmix(size, restarts).fit(rows).score(rows) * size

    mine, other = take_turns(ours, theirs, rounds)
    return {
        "what": f"EM fit, {restarts} restart{'s' if restarts > 1 else ''}",
        "setting": f"({size}, {n})",
        "peer": "StepMix",
        "ours": mine,
        "theirs": other,
        "note": f"log-likelihood {likelihoods['ours'] - likelihoods['theirs']:+.1e} against the peer's; "
        f"slowest of five data sets {slowest_fit(size, n, rounds, restarts) * 1e3:.1f} ms",
    }


def against_products(size: int, n: int, rounds: int) -> dict[str, object]:
    """EM against the two matrix products per evaluation that it would need if it did not work with pieces of rows."""
    X, y = data(size, n)
    design = np.column_stack([y, X, np.ones(size)]).astype(np.float64)
    rows, counts = np.column_stack([y, X]), np.ones(size)
    problem = pieces.make_problem(rows, counts)
    starts = make_starts(rows, counts, 2, RESTARTS, np.random.RandomState(0), target=0)
    fit = restarts.maximize(problem, starts, tol=TOLERANCE, max_iter=10_000)
    active = [int((fit.n_evaluations > step).sum()) for step in range(fit.n_evaluations.max())]
    coefficients = np.random.default_rng(0).random((RESTARTS, design.shape[1]))

    def products() -> None:
        for count in active:
            coefficients[:count] @ design.T @ design

    def ours() -> None:
        restarts.maximize(problem, starts, tol=TOLERANCE, max_iter=10_000)

    mine, floor = take_turns(ours, products, rounds)
    return {
        "what": "EM over bare matrix products",
        "setting": f"({size}, {n})",
        "peer": "floor",
        "ours": mine,
        "theirs": floor,
        "note": "",
    }


def against_other_peers(rounds: int) -> Iterator[dict[str, object]]:
    """Winnow, COV, and models of tables other than EM."""
    for what, setting, peer, ours, theirs in speed_models.contests():
        mine, other = take_turns(ours, theirs, rounds)
        yield {"what": what, "setting": setting, "peer": peer, "ours": mine, "theirs": other, "note": ""}
    yield from speed_models.networks(rounds)


def against_scikit_learn(size: int, n: int, rounds: int) -> list[dict[str, object]]:
    X, y = data(size, n)
    bayes, peer_bayes = NaiveBayes().fit(X, y), BernoulliNB().fit(X, y)
    contests: list[tuple[str, str, Work, Work]] = [
        ("naive Bayes fit", "BernoulliNB", lambda: NaiveBayes().fit(X, y), lambda: BernoulliNB().fit(X, y)),
        ("naive Bayes predict", "BernoulliNB", lambda: bayes.predict(X), lambda: peer_bayes.predict(X)),
        (
            "Perceptron fit, 10 passes",
            "Perceptron",
            lambda: Perceptron(n_passes=10).fit(X, y),
            lambda: TheirPerceptron(max_iter=10, tol=None, shuffle=False).fit(X, y),
        ),
    ]
    rows = []
    for what, peer, ours, theirs in contests:
        mine, other = take_turns(ours, theirs, rounds)
        rows.append(
            {"what": what, "setting": f"({size}, {n})", "peer": peer, "ours": mine, "theirs": other, "note": ""}
        )
    return rows


def winnow_rate(size: int, n: int, rounds: int) -> str:
    X, y = data(size, n)
    learner = Winnow(n_members=1, n_passes=10)
    mine, _ = take_turns(lambda: learner.fit(X, y), lambda: None, rounds)
    rate = mine / (size * n * 10) * 1e9
    return f"Winnow, one member, ten passes at ({size}, {n}): {rate:.2f} ns per example × feature × pass"


def evaluations_saved(problems: int) -> str:
    """Evaluations of accelerated against plain EM, and how often its best is lower, on the paper's grid."""
    rng, lower, evaluations = np.random.RandomState(0), 0, np.zeros(2)
    for index in range(problems):
        n, k = (10, 75)[index % 2], (2, 3, 5)[index // 2 % 3]
        size = (30, 100, 300, 1000)[index // 6 % 4]
        X, y = CIAFamily(n, k, 0.9).draw(rng=index).sample(size, rng=index)
        rows, counts = np.column_stack([y, X]), np.ones(size)
        problem = pieces.make_problem(rows, counts)
        starts = make_starts(rows, counts, 2, RESTARTS, rng, target=0)
        fits = [
            restarts.maximize(problem, starts, tol=TOLERANCE, max_iter=10_000, accelerate=way) for way in (True, False)
        ]
        evaluations += [fit.n_evaluations.sum() for fit in fits]
        lower += fits[0].objective.max() < fits[1].objective.max() - 1e-6
    share = evaluations[0] / evaluations[1]
    return (
        f"accelerated EM: {share:.2f} of plain EM's evaluations; "
        f"best of {RESTARTS} lower in {lower} of {problems} problems"
    )


@dataclass(frozen=True)
class AtPrecision(World):
    """A family whose rules are tested to another error of T, on the same models and samples."""

    family: CIAFamily
    t_target: float

    @property
    def name(self) -> str:
        """Name of the family."""
        return self.family.name

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the family."""
        return self.family.parameters

    @property
    def identity(self) -> dict[str, Any]:
        """Identity of the family, so that models and samples are the same."""
        return self.family.identity

    def task(self, seed: Seed) -> Task:
        """Task of the family with its scorer's target changed."""
        task = self.family.task(seed)
        assert isinstance(task.judge, Scorer)
        task.judge.t_target = self.t_target
        return task


def protocol(rounds: int) -> list[dict[str, object]]:
    """The paper's six panels end to end, one trial of each per round, against the same protocol by StepMix and others.

    Our side fits COV and Winnow too. It is timed twice: with tests on 20,000 drawn rows, as the peers' side makes them,
    and with tests until the error of T is 0.005, as in our experiments; at n = 10 it sums over all patterns both times.
    """
    learners = tuple(resolve(name, name, {}) for name in ("EM", "COV", "Winnow", "Perceptron", "NaiveBayes"))
    families = tuple(CIAFamily(n, k, 0.9) for n in (10, 75) for k in (2, 3, 5))
    precisions = {"20,000 test rows at most": np.inf, "ours with T to 0.005": 0.005}
    plans = [
        Plan(1997, rounds, PROTOCOL_SIZES, tuple(AtPrecision(family, target) for family in families), learners)
        for target in precisions.values()
    ]
    guard, spent = Guard(time_limit=600), np.zeros((rounds, 3))
    cells: list[list[CellOutcome]] = [[] for _ in plans]
    run_cell(plans[0], Job(0, 0, plans[0].wanted(0)), guard)
    for trial, (index, family) in product(range(rounds), enumerate(families)):
        job = Job(index, trial, plans[0].wanted(index))
        sides = [
            lambda plan=plan, job=job, done=done: done.append(run_cell(plan, job, guard))
            for plan, done in zip(plans, cells, strict=True)
        ]
        sides.append(lambda family=family, trial=trial: plain_harness.run_cell(family, PROTOCOL_SIZES, trial))
        spent[trial] += [seconds(side, 1) for side in sides]
    return [protocol_row(name, spent[:, side], spent[:, 2], cells[side]) for side, name in enumerate(precisions)]


def protocol_row(setting: str, ours: np.ndarray, theirs: np.ndarray, cells: list[CellOutcome]) -> dict[str, object]:
    """Line of the table for the round with the median ratio."""
    ratios = theirs / ours
    middle = int(np.argsort(ratios)[len(ratios) // 2])
    return {
        "what": "paper's protocol,",
        "setting": setting,
        "peer": "StepMix + scikit-learn",
        "ours": ours[middle],
        "theirs": theirs[middle],
        "note": f"six cells, five learners against three; rounds {', '.join(f'{ratio:.0f}' for ratio in ratios)}; "
        f"{certainty(cells)}",
    }


def certainty(cells: list[CellOutcome]) -> str:
    """Standard errors of T that are due to testing, ours and that of a rate among simulated rows, where both test."""
    tested = [cell for cell in cells if cell.scores[0].t_error or cell.scores[-1].t_error]
    ours = np.mean([score.t_error for cell in tested for score in cell.scores])
    chance = plain_harness.TEST_ROWS**-0.5
    theirs = np.mean([chance * (c.constant * (1 - c.constant)) ** 0.5 / (c.best - c.constant) for c in tested])
    return f"T at n = 75 is certain to ±{ours:.3f}, the peers' to ±{theirs:.3f}"


def growth() -> tuple[pd.DataFrame, str]:
    """Time of EM against s and n, and the slopes of the lines on logarithmic axes."""
    found = []
    for size, n in [(s, 75) for s in (1000, 4000, 16000, 64000)] + [(2000, n) for n in (50, 100, 200, 400)]:
        X, y = CIAFamily(n, 2, 0.9).draw(rng=1).sample(size, rng=0)
        rows, counts = np.column_stack([y, X]), np.ones(size)
        problem = pieces.make_problem(rows, counts)
        starts = make_starts(rows, counts, 2, RESTARTS, np.random.RandomState(0), target=0)
        climb = partial(restarts.maximize, problem, starts, tol=TOLERANCE, max_iter=EVALUATIONS)
        step = statistics.median(seconds(climb, 5) for _ in range(5)) / EVALUATIONS
        found.append({"size": size, "n": n, "seconds": step})
    table = pd.DataFrame(found)
    by_size, by_n = speed_shown.slope(table[:4], "size"), speed_shown.slope(table[4:], "n")
    return table, f"one evaluation of EM grows as s^{by_size:.2f} and n^{by_n:.2f}"


def contests(rounds: int) -> Iterator[dict[str, object]]:
    """Lines of the table, as they are measured."""
    for size, n in SIZES:
        yield against_stepmix(size, n, rounds)
    yield against_stepmix(1000, 75, rounds, restarts=1)
    for size, n in [(10000, 75), (1000, 500)]:
        yield against_products(size, n, rounds)
    for size in (1000, 20000):
        yield from against_scikit_learn(size, 75, rounds)
    yield from against_other_peers(rounds)
    yield from protocol(rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--problems", type=int, default=2_000)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    prepare_kernels()
    matplotlib.use("agg")
    found = []
    for row in contests(options.rounds):
        found.append(row)
        print(f"{row['what']} {row['setting']}: {row['theirs'] / row['ours']:.2f}×", file=sys.stderr, flush=True)
    table = pd.DataFrame(found)
    table["ratio"] = table["theirs"] / table["ours"]
    options.out.mkdir(exist_ok=True)
    table.to_csv(options.out / "speed.csv", index=False)
    speed_shown.picture(table, options.out / "speed.png")
    grown, slopes = growth()
    remarks = [winnow_rate(10000, 75, options.rounds), evaluations_saved(options.problems), slopes]
    remarks += [speed_models.threads(options.rounds), speed_fresh.start_up(options.rounds), speed_fresh.large_fit()]
    grown.to_csv(options.out / "growth.csv", index=False)
    speed_shown.picture_growth(grown, options.out / "growth.png")
    (options.out / "speed.md").write_text(speed_shown.markdown(table, remarks), encoding="utf-8")
    print(speed_shown.markdown(table, remarks))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
