"""The paper's claims (Grove & Roth 1997, §8), one function each, from rows to the statements that it makes.

Passing sizes (C9, and the last statement of C10) are judged by the 95% bootstrap intervals of both sizes, whatever the
level, and not at all with fewer than ten trials.
"""

import numpy as np
import pandas as pd

from ciabench.errors import StoreError
from ciabench.findings.curves import passing_sizes
from ciabench.findings.evidence import TOO_FEW, Direction, Estimate, IntervalStatement, Statement, Trials
from ciabench.findings.paper import SIX, named
from ciabench.findings.selection import PAIRS, Data
from ciabench.findings.spelling import leads, of_pairs, split_error
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

FEWEST_RESAMPLED = 10
"""Resampling fewer trials than this gives no interval that could be trusted (ours)."""


def always_ahead(data: Data, world: str, first: str, second: str, least: int) -> Statements:
    """`first` is ahead of `second` at every size of at least `least`."""
    return [
        Statement(f"{world}, s = {size}: {first} ahead of {second}", lead, 0.0)
        for size, lead in data.leads(world, first, second, least).items()
    ]


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
    statements = []
    for world in (named(10, 3), named(75, 3)):
        lead = data.mean_lead(world, "EM", "Winnow", 10, 1000)
        leads = data.leads(world, "EM", "Winnow")
        ranked = sorted(leads, key=lambda size: leads[size].standardized)
        behind, ahead = ranked[0], ranked[-1]
        statements += [
            Statement(f"{world}: mean lead over s ≤ 1000 within ±{SIMILAR}", lead, SIMILAR, "within"),
            Statement(f"{world}: EM ahead somewhere (s = {ahead})", leads[ahead], 0.0, "above", len(leads)),
            Statement(f"{world}: Winnow ahead somewhere (s = {behind})", leads[behind], 0.0, "below", len(leads)),
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
    "COV is generally similar to EM: the fragility is the model's, not the algorithm's",
    *SIX,
)
def _cov_like_em(data: Data) -> Statements:
    mean = Estimate.average([data.mean_lead(world, "COV", "EM", 10, 1000) for world in SIX])
    return [
        Statement(f"mean lead of COV over EM in six families, s ≤ 1000, within ±{SIMILAR}", mean, SIMILAR, "within"),
        *(
            Statement(
                f"n = {n}: COV's T at s = 1000 falls from k = 2 to k = 5, as EM's",
                data.t(named(n, 2), "COV", 1000) - data.t(named(n, 5), "COV", 1000),
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
    t = {(n, k): data.t(named(n, k), "EM", 1000) for n in (10, 75) for k in (2, 3, 5)}
    return [
        Statement(f"n = {n}: T of EM at s = 1000, k = {k} above k = {more}", t[n, k] - t[n, more], 0.0)
        for n in (10, 75)
        for k, more in ((2, 3), (3, 5))
    ]


@claim(
    "C8",
    "margin Winnow, averaged over members, beats basic Winnow and the Perceptron",
    *SIX,
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


def _later(data: Data, text: str, late: str, early: str) -> IntervalStatement:
    """Winnow passes EM later in one world than in another: the ratio of the two sizes is above 1."""
    found = [passing_sizes(data.select(world, "EM", "Winnow"), "EM", "Winnow").iloc[0] for world in (late, early)]
    trials = Trials.joined(Trials(int(one["trials"]), int(one["trials"])) for one in found)
    if trials.fewest < 2:
        raise StoreError(TOO_FEW)
    (size, low, high), (other, other_low, other_high) = (map(float, one[["size", "low", "high"]]) for one in found)
    ends = (low / other_high, high / other_low) if trials.fewest >= FEWEST_RESAMPLED else (0.0, np.inf)
    return IntervalStatement(text, size / other, *ends, 1.0, trials=trials)


@claim(
    "C9",
    "as n grows Winnow needs more examples to pass EM, for fixed k",
    *(named(n, k) for n in (10, 75) for k in (3, 5)),
)
def _passing_grows(data: Data) -> Statements:
    return [
        _later(data, f"k = {k}: passing size at n = 75 over that at n = 10", named(75, k), named(10, k)) for k in (3, 5)
    ]


@claim(
    "C10",
    "other difficulties, same picture; at higher b EM converges faster for k = 2 and Winnow passes it sooner for k > 2",
    *(named(10, k, b) for k in (2, 3, 5) for b in (0.8, 0.95)),
)
def _other_difficulties(data: Data) -> Statements:
    faster = data.t(named(10, 2, 0.95), "EM", 100) - data.t(named(10, 2, 0.8), "EM", 100)
    sooner = "k = 3, n = 10: passing size at b = 0.8 over that at b = 0.95"
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
        _later(data, sooner, named(10, 3, 0.8), named(10, 3, 0.95)),
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
    mean = Estimate.of(present)._replace(error=split_error(present))
    return Statement(text, mean, bound, direction, is_settled_by_trials=False)
