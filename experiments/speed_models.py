"""Models beside EM on bits against their peers, for `speed.py`, mostly by the scripts that know these peers."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import network_speed
import speed_gibbs
import tables_against_peers
from ciabench import COV, EM, CIAFamily, Winnow

TABLES = {
    "categorical 1785 × 12, 5% missing, k = 3": "LatentClass, 20 restarts",
    "Gaussian diag (1000, 2), k = 3": "LatentClass, 20 restarts",
    "Gaussian full (1000, 2), k = 3": "LatentClass, 20 restarts",
}
"""Tables of `tables_against_peers` that take seconds, not minutes."""

PASSES = 10

Work = Callable[[], object]
Contest = tuple[str, str, str, Work, Work]
"""What, setting, peer, and the work of both sides."""


def contests() -> Iterator[Contest]:
    """Contests that are timed as wholes."""
    X, y = CIAFamily(75, 2, 0.9).draw(rng=0).sample(10_000, rng=0)
    once = Winnow(n_members=1, n_passes=PASSES)
    yield "Winnow fit, 10 passes", "(10000, 75)", "plain NumPy", lambda: once.fit(X, y), lambda: plain_winnow(X, y)
    yield "COV fit", "(10000, 75)", "EM, 20 restarts", lambda: COV().fit(X, y), lambda: EM(random_state=0).fit(X, y)
    for name, peer, ours, theirs, _ in tables_against_peers.contests():
        if name in TABLES:
            yield TABLES[name], name, peer, ours, theirs
    for size, n in [(200, 10), (1000, 10), (1000, 75)]:
        ours, theirs = speed_gibbs.sides(size, n)
        yield (
            f"BayesianMixture, {speed_gibbs.CLASSES} classes, 1,400 sweeps",
            f"({size}, {n})",
            "plain NumPy",
            ours,
            theirs,
        )


def plain_winnow(X: np.ndarray, y: np.ndarray, rate: float = 1.05, margin: float = 0.1) -> np.ndarray:
    """Weights of balanced Winnow with a margin, as one would write it with NumPy."""
    plus, minus = np.ones(X.shape[1]), np.ones(X.shape[1])
    threshold, rows, labels = X.shape[1], X.astype(bool), y.astype(bool)
    for _ in range(PASSES):
        for row, is_positive in zip(rows, labels, strict=True):
            score = plus[row].sum() + minus[~row].sum() - threshold
            if is_positive and score <= margin * threshold:
                plus[row] *= rate
                minus[~row] /= rate
            elif not is_positive and score >= -margin * threshold:
                plus[row] /= rate
                minus[~row] *= rate
    return plus - minus


def networks(rounds: int) -> Iterator[dict[str, Any]]:
    """Lines of the table for belief networks, per iteration of EM."""
    for found in (
        network_speed.against_pyagrum("asia", 1_000, 2, 8, rounds),
        network_speed.against_pgmpy(1_000, 2, 6, rounds),
    ):
        ours, theirs = found.medians
        setting = f"{found.network}, {found.size:,} rows"
        yield {
            "what": "BeliefNetwork, an iteration of EM",
            "setting": setting,
            "peer": found.peer,
            "ours": ours,
            "theirs": theirs,
            "note": f"tables of both sides are {found.apart:.0e} apart",
        }


def threads(rounds: int) -> str:
    """Time by the clock of one large fit, with one thread and with two, taking turns."""
    X, y = CIAFamily(75, 2, 0.9).draw(rng=1).sample(10**6, rng=0)
    spent: dict[int, list[float]] = {1: [], 2: []}
    fits = {}
    for n_jobs in [1, 2] * rounds:
        started = time.perf_counter()
        fits[n_jobs] = EM(n_jobs=n_jobs, random_state=0).fit(X, y)
        spent[n_jobs].append(time.perf_counter() - started)
    one, two = (float(np.median(spent[n_jobs])) for n_jobs in (1, 2))
    same = "the same bits" if fits[1].probs_.tobytes() == fits[2].probs_.tobytes() else "other bits"
    ratios = ", ".join(f"{a / b:.2f}" for a, b in zip(spent[1], spent[2], strict=True))
    return (
        f"10^6 × 75 rows fitted with 20 restarts by the clock: one thread {one:.2f} s, two {two:.2f} s, "
        f"{one / two:.2f}× (rounds {ratios}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}), {same}"
    )
