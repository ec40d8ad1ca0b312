"""The paper's claims as statistical tests on paired trials (Grove & Roth 1997, §8; SPEC of each in its function).

Each claim is one function that turns rows into evidence. All claims together err with probability 5% at most: each is
tested at 5% / (number of claims). Within a claim every statement must be shown, which needs no further correction; that
one of them contradicts the claim is tested at that level divided by the number of its statements.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from ciabench.errors import StoreError
from ciabench.findings.curves import passing_sizes
from ciabench.findings.evidence import Estimate, Evidence, Level, Verdict, above, below, decided, verdict, within
from ciabench.findings.selection import Data, Family, named
from ciabench.findings.spelling import mean_leads
from ciabench.probability.bernoulli import all_patterns
from ciabench.world.model import CIAModel

ERROR_RATE = 0.05
SIMILAR = 0.1
"""Two curves are called similar when their mean difference in T is below this (ours: the paper gives no number)."""

DISMAL = 0.15
"""T up to this is called dismal (ours)."""

NO_BETTER, FAR_ABOVE = 0.02, 0.05
"""Leads in accuracy over the majority up to and from which a learner is called no better, and far above (ours)."""


class Finding(NamedTuple):
    """A claim, what was found, and the tests behind it."""

    id: str
    claim: str
    verdict: Verdict
    evidence: list[Evidence]
    note: str


Test = Callable[[Data], list[Evidence]]
CLAIMS: dict[str, tuple[str, Test]] = {}


def claim(identity: str, statement: str) -> Callable[[Test], Test]:
    """Enter a test into the table of claims."""

    def enter(test: Test) -> Test:
        CLAIMS[identity] = (statement, test)
        return test

    return enter


def check_claims(rows: pd.DataFrame) -> list[Finding]:
    """Test every claim on the rows of one or more experiments.

    Examples
    --------
    >>> none = pd.DataFrame(columns=["n", "k", "b", "trial", "size", "learner", "t"])
    >>> [(finding.id, finding.verdict) for finding in check_claims(none) if finding.verdict != "no data"]
    [('C11', 'reproduced')]
    """
    return [_finding(identity, Data(rows, ERROR_RATE / len(CLAIMS))) for identity in CLAIMS]


def _finding(identity: str, data: Data) -> Finding:
    statement, test = CLAIMS[identity]
    try:
        evidence = test(data)
    except StoreError as missing:
        return Finding(identity, statement, "no data", [], str(missing))
    told = verdict(evidence)
    return Finding(identity, statement, told, evidence, _note(told, evidence))


def _note(told: Verdict, evidence: list[Evidence]) -> str:
    """What decided the verdict, in words."""
    if told == "reproduced":
        return f"all {len(evidence)} tests hold"
    wanted = "contradicts" if told == "not reproduced" else "undecided"
    culprits = [one for one in evidence if one.outcome == wanted]
    note = f"{len(culprits)} of {len(evidence)} tests {wanted}: " + "; ".join(one.statement for one in culprits[:3])
    needed = [one.trials_needed for one in culprits if one.trials_needed is not None]
    return f"{note}; about {max(needed):,} trials would decide" if wanted == "undecided" and needed else note


def _ahead(data: Data, family: Family, first: str, second: str, least: int, level: Level) -> list[Evidence]:
    """`first` is ahead of `second` at every size of at least `least`."""
    leads = {size: lead for size, lead in data.lead(family, first, second).items() if size >= least}
    return [
        above(f"{named(family)}, s = {size}: {first} ahead of {second}", Estimate.of(lead), 0.0, level)
        for size, lead in leads.items()
    ]


@claim("C1", "k = 2: EM learns faster than Winnow at every s ≥ 100, for n = 10 and 75, and its T goes to 1")
def _em_learns_faster(data: Data) -> list[Evidence]:
    level = data.levels(16)
    evidence = [one for n in (10, 75) for one in _ahead(data, (n, 2, 0.9), "EM", "Winnow", 100, level)]
    last = {n: max(data.lead((n, 2, 0.9), "EM", "Winnow")) for n in (10, 75)}
    return evidence + [
        above(
            f"{named((n, 2, 0.9))}, s = {size}: T of EM above 0.95",
            Estimate.of(data.t((n, 2, 0.9), "EM", size)),
            0.95,
            level,
        )
        for n, size in last.items()
    ]


@claim("C2", "k = 3: EM and Winnow are on the whole very similar, and they cross")
def _similar_at_three(data: Data) -> list[Evidence]:
    level, evidence = data.levels(6), []
    for n in (10, 75):
        family = (n, 3, 0.9)
        lead = data.mean_lead(family, "EM", "Winnow", (10, 1000))
        evidence.append(within(f"{named(family)}: mean lead over s ≤ 1000 within ±{SIMILAR}", lead, SIMILAR, level))
        leads = {size: Estimate.of(values) for size, values in data.lead(family, "EM", "Winnow").items()}
        ahead = max(leads, key=lambda size: leads[size].mean / leads[size].error)
        behind = min(leads, key=lambda size: leads[size].mean / leads[size].error)
        one_of = Level(level.support / len(leads), level.contradict)
        evidence.append(above(f"{named(family)}: EM ahead somewhere (s = {ahead})", leads[ahead], 0.0, one_of))
        evidence.append(below(f"{named(family)}: Winnow ahead somewhere (s = {behind})", leads[behind], 0.0, one_of))
    return evidence


@claim("C3", "k = 5, n = 10: Winnow is superior to EM at every s ≥ 50")
def _winnow_superior(data: Data) -> list[Evidence]:
    return _ahead(data, (10, 5, 0.9), "Winnow", "EM", 50, data.levels(7))


@claim("C4", "k = 5, n = 75: Winnow is not better than EM until s reaches about 100, and is better beyond")
def _winnow_late(data: Data) -> list[Evidence]:
    family, level = (75, 5, 0.9), data.levels(8)
    leads = {size: Estimate.of(values) for size, values in data.lead(family, "Winnow", "EM").items()}
    early = [
        below(f"{named(family)}, s = {size}: Winnow not ahead by {SIMILAR}", lead, SIMILAR, level)
        for size, lead in leads.items()
        if size < 100
    ]
    return early + _ahead(data, family, "Winnow", "EM", 200, level)


@claim("C5", "n = 75, s < n: every learner is dismal")
def _dismal(data: Data) -> list[Evidence]:
    level, evidence = data.levels(27), []
    for k in (2, 3, 5):
        family = (75, k, 0.9)
        sizes = sorted(size for size in data.select(family, "EM", "COV", "Winnow")["size"].unique() if size < 75)
        evidence += [
            below(
                f"{named(family)}, s = {size}: T of {learner} below {DISMAL}",
                Estimate.of(data.t(family, learner, size)),
                DISMAL,
                level,
            )
            for size in sizes
            for learner in ("EM", "COV", "Winnow")
        ]
    return evidence


@claim("C6", "COV is generally similar to EM: the fragility is the model's, not the algorithm's")
def _cov_like_em(data: Data) -> list[Evidence]:
    level = data.levels(8)
    leads = [data.mean_lead((n, k, 0.9), "COV", "EM", (10, 1000)) for n in (10, 75) for k in (2, 3, 5)]
    mean = Estimate(
        float(np.mean([lead.mean for lead in leads])),
        float(np.sqrt(sum(lead.error**2 for lead in leads))) / len(leads),
        sum(lead.freedom for lead in leads),
    )
    return [
        within(f"mean lead of COV over EM in six families, s ≤ 1000, within ±{SIMILAR}", mean, SIMILAR, level),
        *(
            above(
                f"n = {n}: COV's T at s = 1000 falls from k = 2 to k = 5, as EM's",
                Estimate.of(data.t((n, 2, 0.9), "COV", 1000)) - Estimate.of(data.t((n, 5, 0.9), "COV", 1000)),
                0.0,
                level,
            )
            for n in (10, 75)
        ),
    ]


@claim(
    "C7", "EM's plateau falls as k departs from 2: T at s = 1000 is larger for k = 2 than for 3, and for 3 than for 5"
)
def _plateau_falls(data: Data) -> list[Evidence]:
    level, evidence = data.levels(4), []
    for n in (10, 75):
        t = {k: Estimate.of(data.t((n, k, 0.9), "EM", 1000)) for k in (2, 3, 5)}
        evidence += [
            above(f"n = {n}: T of EM at s = 1000, k = {k} above k = {more}", t[k] - t[more], 0.0, level)
            for k, more in ((2, 3), (3, 5))
        ]
    return evidence


@claim("C8", "margin Winnow, averaged over members, beats basic Winnow and the Perceptron")
def _margin_helps(data: Data) -> list[Evidence]:
    rivals, level = ("basic Winnow", "Perceptron"), data.levels(12)
    return [
        above(
            f"{named((n, k, 0.9))}: Winnow ahead of {rival}, mean over 100 ≤ s ≤ 1000",
            data.mean_lead((n, k, 0.9), "Winnow", rival, (100, 1000)),
            0.0,
            level,
        )
        for n in (10, 75)
        for k in (2, 3, 5)
        for rival in rivals
    ]


def _passing(data: Data, family: Family) -> tuple[float, float, float]:
    """Size at which Winnow passes EM, and its interval."""
    found = passing_sizes(data.select(family, "EM", "Winnow"), "EM", "Winnow").iloc[0]
    if found["trials"] < 2:
        raise StoreError("one trial tells no error; a test needs at least two")
    return float(found["size"]), float(found["low"]), float(found["high"])


def _later(data: Data, statement: str, late: Family, early: Family) -> Evidence:
    """Judge that Winnow passes EM later in one family than in another, by the ratio of the two sizes."""
    (size, low, high), (other, other_low, other_high) = _passing(data, late), _passing(data, early)
    return decided(statement, size / other, (low / other_high, high / other_low), 1.0)


@claim("C9", "as n grows Winnow needs more examples to pass EM, for fixed k")
def _passing_grows(data: Data) -> list[Evidence]:
    return [
        _later(data, f"k = {k}: passing size at n = 75 over that at n = 10", (75, k, 0.9), (10, k, 0.9)) for k in (3, 5)
    ]


@claim(
    "C10",
    "other difficulties, same picture; at higher b EM converges faster for k = 2 and Winnow passes it sooner for k > 2",
)
def _other_difficulties(data: Data) -> list[Evidence]:
    level = data.levels(14)
    t = {b: Estimate.of(data.t((10, 2, b), "EM", 100)) for b in (0.8, 0.95)}
    evidence = [above("CIA(10, 2, ·), s = 100: T of EM, b = 0.95 above b = 0.8", t[0.95] - t[0.8], 0.0, level)]
    for b in (0.8, 0.95):
        evidence += [
            above(
                f"{named((10, k, b))}: {first} ahead of {second}, mean over 100 ≤ s ≤ 1000",
                data.mean_lead((10, k, b), first, second, (100, 1000)),
                0.0,
                level,
            )
            for k, first, second in ((2, "EM", "Winnow"), (5, "Winnow", "EM"))
        ]
    sooner = "k = 3, n = 10: passing size at b = 0.8 over that at b = 0.95"
    return [*evidence, _later(data, sooner, (10, 3, 0.8), (10, 3, 0.95))]


@claim("C11", "for k = 2 the Bayes rule is linear (exact, on all patterns of 200 models)")
def _bayes_rule_is_linear(data: Data) -> list[Evidence]:
    rng, differing = np.random.default_rng(11), 0
    for _ in range(200):
        n = int(rng.integers(1, 11))
        model = CIAModel(rng.dirichlet(np.ones(2)), rng.random((n + 1, 2)))
        coefficients, intercept = model.linear_rule()
        X = all_patterns(n)
        differing += int((model.predict(X) != (X @ coefficients + intercept > 0)).sum())
    return [decided("patterns on which the two rules differ, negated", -differing, (-differing, -differing), -0.5)]


@claim("C12", "real text: on the whole EM tells two words apart no better than the majority, Winnow far better")
def _spelling(data: Data) -> list[Evidence]:
    em, winnow = mean_leads(data.rows, "EM"), mean_leads(data.rows, "Winnow")
    exceptions = [f"{pair} +{lead:.3f}" for pair, lead in em.items() if lead >= NO_BETTER]
    told = f"; not so in {len(exceptions)}: {', '.join(exceptions)}" if exceptions else ""
    over, level = f"mean over {len(em)} pairs", data.levels(3)
    leads = [Estimate.of(np.array(list(one.values()))) for one in (em, winnow, mean_leads(data.rows, "Winnow", "EM"))]
    evidence = [
        below(f"{over}: EM leads the majority by less than {NO_BETTER}{told}", leads[0], NO_BETTER, level),
        above(f"{over}: Winnow leads it by more than {FAR_ABOVE}", leads[1], FAR_ABOVE, level),
        above(f"{over}: Winnow ahead of EM", leads[2], 0.0, level),
    ]
    # Only more pairs would decide, which no number of trials brings.
    return [one._replace(trials_needed=None) for one in evidence]


@claim("B1", "beyond the paper: EM with a selected number of classes regains the lead once s suffices (n = 10, k = 5)")
def _selection_regains(data: Data) -> list[Evidence]:
    return _ahead(data, (10, 5, 0.9), "EM selected", "Winnow", 3000, data.levels(2))
