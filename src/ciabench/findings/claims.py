"""The paper's claims as statistical tests on paired trials (Grove & Roth 1997, §8).

Each claim is one function from rows to the statements that it makes; to add a claim, add a function, and the worlds
that it is about. It is shown for results that hold at least one of them. Levels are applied by `tester`, once the
statements are counted: 5% in all for the paper's claims, 5% for those beyond it, whose ids start with B, and 5% for
those about the limit of learning, whose ids start with L and whose statements are in `limits`. Passing sizes (C9, and
the last statement of C10) are judged by the 95% bootstrap intervals of both sizes, whatever the level, and not at all
with fewer than ten trials; so are crossing points (B2), and shares of pairs of words (B3) by exact 95% intervals.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from scipy import stats

from ciabench.errors import StoreError
from ciabench.findings.curves import CONFIDENCE, passing_sizes
from ciabench.findings.departures import (
    Crossing,
    crossing,
    heterogeneity,
    leads_by_departure,
    mean_lead,
    slope,
    trials_per_world,
)
from ciabench.findings.evidence import TOO_FEW, Direction, Estimate, IntervalStatement, Statement, Trials
from ciabench.findings.limits import (
    averaging_is_fragile_elsewhere,
    averaging_is_near_the_limit,
    none_above_the_limit,
)
from ciabench.findings.selection import MEASURED_WORLDS, PAIRS, Data
from ciabench.findings.spelling import leads, of_pairs, split_error
from ciabench.findings.tester import Claim, Finding, Statements, Test, findings_of, reference_verdicts
from ciabench.lab.storage.view import WORLD
from ciabench.probability.bernoulli import all_patterns
from ciabench.world.model import CIAModel

__all__ = ["CLAIMS", "Finding", "check_claims", "claim", "named"]

SIMILAR = 0.1
"""Two curves are called similar when their mean difference in T is below this (ours: the paper gives no number)."""

DISMAL = 0.15
"""T up to this is called dismal (ours)."""

NO_BETTER, FAR_ABOVE = 0.02, 0.05
"""Leads in accuracy over the majority up to and from which a learner is called no better, and far above (ours)."""

NEAR = 0.05
"""Two accuracies on text are called near when they differ by less than this (ours)."""

MOST, NOT_RARE = 0.5, 0.1
"""Shares of all pairs from which on something is called the rule, and not rare (ours)."""

SAME_RATE = 1e-9
"""Accuracies that differ by less than this are the same."""

PAPER_PAIR = "passed/past"
"""The pair of which the paper says how well the binary model does."""

FEWEST_RESAMPLED = 10
"""Resampling fewer trials than this gives no interval that could be trusted (ours)."""

DEPARTURE_SIZE = 1_000
"""Sample size at which leads are compared with departures."""

RULES = "Threshold"
"""Kind of world in which the target is a rule of the attributes, whatever their hidden cause."""

CLAIMS: dict[str, Claim] = {}


def claim(identity: str, text: str, *worlds: str) -> Callable[[Test], Test]:
    """Enter a test into the table of claims; without worlds it needs no rows."""

    def enter(test: Test) -> Test:
        CLAIMS[identity] = Claim(text, worlds, test)
        return test

    return enter


def named(n: int, k: int, b: float = 0.9) -> str:
    """Name of a family of the paper."""
    return f"CIA({n}, {k}, {b:g})"


SIX = tuple(named(n, k) for n in (10, 75) for k in (2, 3, 5))
"""The families of the paper's figures."""


def check_claims(rows: pd.DataFrame, *, beside_reference: bool = True) -> list[Finding]:
    """Test the claims on the rows of one or more experiments.

    Parameters
    ----------
    rows : DataFrame
        As of `learning_curve`, a store or a table.
    beside_reference : bool
        Whether to add the verdicts of the committed reference.

    Returns
    -------
    list of Finding
        Of the claims of which at least one world is among the rows; claims that need no rows stand only beside others.

    Examples
    --------
    >>> check_claims(pd.DataFrame({"world": ["my own"], "trial": 0, "size": 10, "learner": "EM", "t": 0.5}))
    []
    """
    return findings_of(CLAIMS, Data(rows), reference_verdicts() if beside_reference else {})


def _ahead(data: Data, world: str, first: str, second: str, least: int) -> Statements:
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
    ahead = [_ahead(data, world, "EM", "Winnow", 100) for world in worlds]
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
    return _ahead(data, named(10, 5), "Winnow", "EM", 50)


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
        *_ahead(data, world, "Winnow", "EM", 200),
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


@claim(
    "B1",
    "beyond the paper: EM with a selected number of classes regains the lead once s suffices (n = 10, k = 5)",
    named(10, 5),
)
def _selection_regains(data: Data) -> Statements:
    return _ahead(data, named(10, 5), "EM selected", "Winnow", 3000)


@claim(
    "B2",
    "beyond the paper: within each kind of world EM's lead over Winnow falls with the departure from the binary model, "
    "in nats, also between models of the same parameters; it is lost at a crossing point, but where the target is a "
    "rule (Threshold) Winnow leads throughout",
    MEASURED_WORLDS,
)
def _lead_falls_with_departure(data: Data) -> Statements:
    leads = leads_by_departure(data.rows, "EM", "Winnow", DEPARTURE_SIZE)
    kinds = {str(kind): own for kind, own in leads.groupby("kind", sort=False)}
    crossings = {kind: crossing(own) for kind, own in kinds.items() if kind != RULES}
    return [
        *(
            Statement(f"{kind}: slope of the lead{where}, per nat", slope(own, within_worlds=is_within), 0.0, "below")
            for kind, own in kinds.items()
            for where, is_within in (("", False), (" between models of the same parameters", True))
            if not is_within or own[WORLD].nunique() > 1
        ),
        *(_crosses(kind, kinds[kind], found) for kind, found in crossings.items()),
        *(
            Statement(f"{kind}: mean lead of EM over Winnow", mean_lead(own), 0.0, "below")
            for kind, own in kinds.items()
            if kind == RULES
        ),
        *_in_common(crossings),
    ]


def _crosses(kind: str, leads: pd.DataFrame, found: Crossing) -> IntervalStatement:
    """EM leads near the binary model, and no longer far from it."""
    ends = (found.low, found.high) if len(leads) >= FEWEST_RESAMPLED else (0.0, np.inf)
    text = f"{kind}: departure at which EM loses its lead, in nats"
    return IntervalStatement(text, found.nats, *ends, 0.0, trials=trials_per_world(leads))


def _in_common(crossings: Mapping[str, Crossing]) -> list[IntervalStatement]:
    """The common crossing point of all kinds, or that there is none, if at least two of them are known well enough."""
    known = {kind: found for kind, found in crossings.items() if np.isfinite(found.log_error)}
    if len(known) < 2:
        return []
    tested = heterogeneity(list(known.values()))
    named_kinds = ", ".join(known)
    if tested.p_value < 1 - CONFIDENCE:
        text = f"crossing points of {named_kinds} differ (Cochran's Q, p = {tested.p_value:.1g}), so none in common"
        return [IntervalStatement(text, tested.statistic, tested.statistic, tested.statistic, tested.critical)]
    text = f"crossing point that {named_kinds} have in common (heterogeneity p = {tested.p_value:.1g}), in nats"
    return [IntervalStatement(text, tested.common.nats, tested.common.low, tested.common.high, 0.0)]


@claim(
    "B3",
    "beyond the paper: on text EM either lines up with the word, and is then as good as Winnow, or is exactly the "
    "majority class",
    PAIRS,
)
def _lines_up_or_not(data: Data) -> Statements:
    over_majority, over_winnow = leads(data.rows, "EM"), leads(data.rows, "EM", "Winnow")
    mean = over_majority.mean(axis=1)
    lines_up, is_majority = mean >= FAR_ABOVE, (over_majority.abs().fillna(0) < SAME_RATE).all(axis=1)
    is_either = lines_up | is_majority
    statements: list[Statement | IntervalStatement] = [
        _share(data, f"EM does one or the other; neither{_listed(mean[~is_either])}", is_either, MOST),
        _share(data, f"EM leads the majority by {FAR_ABOVE} or more{_listed(mean[lines_up])}", lines_up, NOT_RARE),
        _share(data, "EM is exactly the majority in every split", is_majority, NOT_RARE),
    ]
    near = _where_others_line_up(over_majority, over_winnow)
    if len(near) > 1:
        text = f"EM within ±{NEAR} of Winnow in splits whose other splits show that it lines up"
        statements.append(_of_pairs(data, text, near, NEAR, "within"))
    return statements


def _listed(means: "pd.Series[float]") -> str:
    """Pairs with their leads, in words."""
    return f": {', '.join(f'{pair} {lead:+.3f}' for pair, lead in means.items()) or 'none'}"


def _where_others_line_up(over_majority: pd.DataFrame, over_winnow: pd.DataFrame) -> dict[str, float]:
    """Pair → mean lead of EM over Winnow in splits that are not among those by which the pair was chosen."""
    n_splits = over_majority.notna().sum(axis=1)
    others = over_majority.rsub(over_majority.sum(axis=1), axis=0).div(n_splits - 1, axis=0)
    means = over_winnow.where(others >= FAR_ABOVE).mean(axis=1).dropna()
    return {str(pair): float(lead) for pair, lead in means.items()}


def _share(data: Data, text: str, is_one: "pd.Series[bool]", bound: float) -> IntervalStatement:
    """Statement about the share of all pairs, with an exact 95% interval (Clopper & Pearson)."""
    count, total = int(is_one.sum()), len(is_one)
    interval = stats.binomtest(count, total).proportion_ci(0.95, method="exact")
    ends = float(interval.low), float(interval.high)
    return IntervalStatement(f"{count} of {total} pairs: {text}", count / total, *ends, bound, trials=_splits(data))


def _splits(data: Data) -> Trials:
    """Splits per pair: fewest and most."""
    splits = of_pairs(data.rows).groupby(WORLD)["trial"].nunique()
    return Trials(int(splits.min()), int(splits.max()))


def _of_pairs(
    data: Data, text: str, leads: Mapping[str, float], bound: float, direction: Direction = "above"
) -> Statement:
    """Statement of which the pair is the unit: only more pairs would decide it, which no number of trials brings."""
    mean = Estimate.of(np.array(list(leads.values())))._replace(trials=_splits(data))
    return Statement(f"mean over {len(leads)} pairs: {text}", mean, bound, direction, is_settled_by_trials=False)


@claim(
    "B4",
    f"beyond the paper: COV by the rank-one factor is within {SIMILAR} of EM, or above it, at every s ≥ 100",
    *SIX,
)
def _factor_like_em(data: Data) -> Statements:
    return [
        Statement(f"{world}, s = {size}: COV factor less than {SIMILAR} behind EM", lead, -SIMILAR)
        for world in SIX
        for size, lead in data.leads(world, "COV factor", "EM", 100).items()
    ]


def _tree(strength: float) -> str:
    return f"Tree(10, {strength:g}, 0.9)"


def _threshold(relevant: int) -> str:
    return f"Threshold(10, {relevant}, 0.05, 0.9)"


@claim("L1", "the limit: no learner is above what one could reach who knows the family", *SIX)
def _none_above_the_limit(data: Data) -> Statements:
    return none_above_the_limit(data, SIX)


@claim("L2", "the limit: averaging over models is within 0.05 of it wherever s ≥ 200", *SIX)
def _averaging_is_near_the_limit(data: Data) -> Statements:
    return averaging_is_near_the_limit(data, SIX)


@claim(
    "L3",
    "the paper's conclusion revisited: model-fitting that averages over models is not fragile to k, but it is to "
    "dependence between attributes (Tree) and to rules (Threshold)",
    *(_tree(strength) for strength in (1, 2)),
    *(_threshold(relevant) for relevant in (5, 7)),
)
def _averaging_is_fragile_elsewhere(data: Data) -> Statements:
    families = [(named(n, 2), named(n, 5)) for n in (10, 75)]
    wrong = [*(_tree(strength) for strength in (1, 2)), *(_threshold(relevant) for relevant in (5, 7))]
    return averaging_is_fragile_elsewhere(data, families, wrong)
