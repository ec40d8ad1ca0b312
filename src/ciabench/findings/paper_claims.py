"""The paper's claims (Grove & Roth 1997, §8), one function each, from rows to the statements that it makes.

That Winnow passes EM later in one world than in another (C9, C10) is stated by sizes: there is one at which Winnow
leads in the one world and EM in the other. Text (C12) is judged by t intervals over splits that share examples.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ciabench.errors import StoreError
from ciabench.findings.evidence import Sample
from ciabench.findings.paper import SIX, named
from ciabench.findings.selection import PAIRS, Data
from ciabench.findings.spelling import leads, of_pairs, split_error
from ciabench.findings.statements import Direction, IntervalStatement, Somewhere, Statement
from ciabench.findings.tester import Statements, claim
from ciabench.lab.storage.view import WORLD
from ciabench.probability.bernoulli import all_patterns
from ciabench.world.model import CIAModel

SIMILAR = 0.1
"""Two curves are called similar when their mean difference in T is below this (ours: the paper gives no number)."""

DISMAL = 0.15
"""T up to this is called dismal (ours)."""

NO_BETTER, FAR_ABOVE = 0.02, 0.05
"""Leads in accuracy over the majority up to and from which a learner is called no better, and far above (ours)."""

PAPER_PAIR = "passed/past"
"""The pair of which the paper says how well the binary model does."""

PLATEAU = 3_000
"""Examples from which on T of EM should be near its end (ours)."""

NUMBERS = (10, 25, 75, 200, 500)
"""Numbers of attributes that claim C9 compares, each with the next but one, as far as there are results."""


def always_ahead(data: Data, world: str, first: str, second: str, least: int) -> Statements:
    """`first` is ahead of `second` at every size of at least `least`."""
    return [
        Statement(f"{world}, s = {size}: {first} ahead of {second}", lead, 0.0)
        for size, lead in data.leads(world, first, second, least).items()
    ]


def ahead_somewhere(data: Data, text: str, leads: Sequence[tuple[str, str, str]]) -> Somewhere:
    """There is a size at which in each of these worlds the one learner is ahead of the other."""
    by_size = [data.leads(*lead) for lead in leads]
    sizes = [size for size in by_size[0] if all(size in own for own in by_size)]
    if not sizes:
        raise StoreError(f"no size in common of {' and '.join(world for world, _, _ in leads)}")
    parts = {size: [Statement(text, own[size], 0.0) for own in by_size] for size in sizes}
    return Somewhere(text, parts)


@claim(
    "C1",
    "k = 2: EM learns faster than Winnow at every s ≥ 100, for n = 10 and 75, and its T goes to 1",
    named(10, 2),
    named(75, 2),
)
def _em_learns_faster(data: Data) -> Statements:
    worlds = named(10, 2), named(75, 2)
    ahead = [always_ahead(data, world, "EM", "Winnow", 100) for world in worlds]
    last = {world: data.sizes(world, "EM")[-1] for world in worlds}
    for world, size in last.items():
        if size < PLATEAU:
            raise StoreError(f"no rows of EM at sizes of at least {PLATEAU:,} for {world}")
    return [
        *ahead[0],
        *ahead[1],
        *(
            Statement(f"{world}, s = {size}: T of EM above 0.95", data.t(world, "EM", size), 0.95)
            for world, size in last.items()
        ),
    ]


@claim("C2", "k = 3: EM and Winnow are on the whole very similar, and they cross", named(10, 3), named(75, 3))
def _similar_at_three(data: Data) -> Statements:
    worlds = named(10, 3), named(75, 3)
    mean = data.mean_lead(worlds, "EM", "Winnow", 10, 1000)
    statements: list[Statement | Somewhere] = [
        Statement(f"k = 3, mean lead of EM over both n and s ≤ 1000 within ±{SIMILAR}", mean, SIMILAR, "within")
    ]
    for world in worlds:
        lead = data.mean_lead(world, "EM", "Winnow", 10, 1000)
        statements += [
            Statement(f"{world}: mean lead of EM over s ≤ 1000 within ±{SIMILAR}", lead, SIMILAR, "within"),
            ahead_somewhere(data, f"{world}: EM ahead somewhere", [(world, "EM", "Winnow")]),
            ahead_somewhere(data, f"{world}: Winnow ahead somewhere", [(world, "Winnow", "EM")]),
        ]
    return statements


@claim("C3", "k = 5, n = 10: Winnow is superior to EM at every s ≥ 50", named(10, 5))
def _winnow_superior(data: Data) -> Statements:
    return always_ahead(data, named(10, 5), "Winnow", "EM", 50)


@claim(
    "C4", "k = 5, n = 75: Winnow is not better than EM until s reaches about 100, and is better beyond", named(75, 5)
)
def _winnow_late(data: Data) -> Statements:
    world = named(75, 5)
    early = data.leads(world, "Winnow", "EM", most=99)
    return [
        *(
            Statement(f"{world}, s = {size}: Winnow not ahead by {SIMILAR}", lead, SIMILAR, "below")
            for size, lead in early.items()
        ),
        *always_ahead(data, world, "Winnow", "EM", 200),
    ]


@claim("C5", "n = 75, s < n: every learner is dismal", *SIX[3:])
def _dismal(data: Data) -> Statements:
    learners = ("EM", "COV", "Winnow")
    return [
        Statement(f"{world}, s = {size}: T of {learner} below {DISMAL}", data.t(world, learner, size), DISMAL, "below")
        for world in SIX[3:]
        for size in data.sizes(world, *learners, most=74)
        for learner in learners
    ]


@claim(
    "C6",
    "COV is generally similar to EM, on average and in each family: the fragility is the model's, not the algorithm's",
    *SIX,
)
def _cov_like_em(data: Data) -> Statements:
    mean = data.mean_lead(SIX, "COV", "EM", 10, 1000)
    return [
        Statement(f"mean lead of COV over EM in six families, s ≤ 1000, within ±{SIMILAR}", mean, SIMILAR, "within"),
        *(
            Statement(
                f"{world}: mean lead of COV over EM, s ≤ 1000, within ±{SIMILAR}",
                data.mean_lead(world, "COV", "EM", 10, 1000),
                SIMILAR,
                "within",
            )
            for world in SIX
        ),
        *(
            Statement(
                f"n = {n}: COV's T at s = 1000 falls from k = 2 to k = 5, as EM's",
                data.fall("COV", 1000, named(n, 2), named(n, 5)),
                0.0,
            )
            for n in (10, 75)
        ),
    ]


@claim(
    "C7",
    "EM's plateau falls as k departs from 2: T at s = 1000 is larger for k = 2 than for 3, and for 3 than for 5",
    *SIX,
)
def _plateau_falls(data: Data) -> Statements:
    return [
        Statement(
            f"n = {n}: T of EM at s = 1000, k = {k} above k = {more}",
            data.fall("EM", 1000, named(n, k), named(n, more)),
            0.0,
        )
        for n in (10, 75)
        for k, more in ((2, 3), (3, 5))
    ]


@claim(
    "C8",
    "margin Winnow, averaged over members, beats basic Winnow and the Perceptron",
    *SIX,
    experiment="omitted",
)
def _margin_helps(data: Data) -> Statements:
    return [
        Statement(
            f"{world}: Winnow ahead of {rival}, mean over 100 ≤ s ≤ 1000",
            data.mean_lead(world, "Winnow", rival, 100, 1000),
            0.0,
        )
        for world in SIX
        for rival in ("basic Winnow", "Perceptron")
    ]


def _passes_later(data: Data, text: str, late: str, early: str) -> Somewhere:
    """Winnow passes EM later in one world than in another."""
    return ahead_somewhere(data, text, [(early, "Winnow", "EM"), (late, "EM", "Winnow")])


@claim(
    "C9",
    "as n grows Winnow needs more examples to pass EM, for fixed k > 2: there is a size at which Winnow leads at the "
    "smaller n and EM at the larger",
    *(named(n, k) for n in (10, 75) for k in (3, 5)),
)
def _passing_grows(data: Data) -> Statements:
    pairs = [pair for pair in zip(NUMBERS, NUMBERS[2:], strict=False) if pair == (10, 75) or _are_held(data, pair)]
    return [
        _passes_later(data, f"k = {k}: Winnow ahead at n = {few}, EM at n = {many}", named(many, k), named(few, k))
        for few, many in pairs
        for k in (3, 5)
    ]


def _are_held(data: Data, numbers: Sequence[int]) -> bool:
    return all(data.holds(named(n, k)) for n in numbers for k in (3, 5))


@claim(
    "C10",
    "other difficulties, same picture; at higher b EM converges faster for k = 2, and Winnow passes it sooner where it "
    "does for k > 2: there is a size at which Winnow leads at b = 0.95 and EM at b = 0.8",
    *(named(10, k, b) for k in (2, 3, 5) for b in (0.8, 0.95)),
    *(named(75, k, b) for k in (3, 5) for b in (0.8, 0.95)),
    experiment="omitted",
)
def _other_difficulties(data: Data) -> Statements:
    faster = data.fall("EM", 100, named(10, 2, 0.95), named(10, 2, 0.8))
    return [
        Statement("CIA(10, 2, ·), s = 100: T of EM, b = 0.95 above b = 0.8", faster, 0.0),
        *(
            Statement(
                f"{world}: {first} ahead of {second}, mean over 100 ≤ s ≤ 1000",
                data.mean_lead(world, first, second, 100, 1000),
                0.0,
            )
            for b in (0.8, 0.95)
            for world, first, second in ((named(10, 2, b), "EM", "Winnow"), (named(10, 5, b), "Winnow", "EM"))
        ),
        *(
            _passes_later(
                data,
                f"k = {k}, n = {n}: Winnow ahead at b = 0.95, EM at b = 0.8",
                named(n, k, 0.8),
                named(n, k, 0.95),
            )
            for n, k in ((10, 3), (75, 3), (75, 5))
        ),
    ]


@claim("C11", "for k = 2 the Bayes rule is linear (exact, on all patterns of 200 models)")
def _bayes_rule_is_linear(data: Data) -> Statements:
    rng, differing = np.random.default_rng(11), 0
    for _ in range(200):
        n = int(rng.integers(1, 11))
        model = CIAModel(rng.dirichlet(np.ones(2)), rng.random((n + 1, 2)))
        coefficients, intercept = model.linear_rule()
        X = all_patterns(n)
        differing += int((model.predict(X) != (X @ coefficients + intercept > 0)).sum())
    return [
        IntervalStatement("patterns on which the two rules differ: none", differing, differing, differing, 0.5, "below")
    ]


@claim(
    "C12",
    "real text, passed or past: EM is no better than the majority class on any corpus, Winnow far better on each",
    PAIRS,
    experiment="spelling",
)
def _passed_or_past(data: Data) -> Statements:
    em, winnow = (leads(data.rows, learner) for learner in ("EM", "Winnow"))
    pairs = of_pairs(data.rows)
    worlds = list(dict.fromkeys(pairs[WORLD][pairs["pair"] == PAPER_PAIR]))
    if not worlds:
        raise StoreError(f"no rows of {PAPER_PAIR}")
    return [
        statement
        for world in worlds
        for statement in (
            _of_splits(f"{world}: EM leads the majority by less than {NO_BETTER}", em.loc[world], NO_BETTER, "below"),
            _of_splits(f"{world}: Winnow leads it by more than {FAR_ABOVE}", winnow.loc[world], FAR_ABOVE),
        )
    ]


def _of_splits(text: str, values: "pd.Series[float]", bound: float, direction: Direction = "above") -> Statement:
    """Statement about one corpus: its splits overlap, so that more of them do not bring the error to 0."""
    present = np.asarray(values.dropna(), dtype=np.float64)
    mean = Sample.of(present)._replace(error=split_error(present))
    return Statement(text, mean, bound, direction)
