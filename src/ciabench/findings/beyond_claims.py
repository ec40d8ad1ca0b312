"""Claims beyond the paper (B), and about the limit of learning (L), whose statements are in `limits`.

Crossing points (B2) are judged by 95% bootstrap intervals, whatever the level, and not at all with fewer than ten
trials; shares of pairs of words (B3) by exact 95% intervals, and means over pairs by t intervals.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from ciabench.errors import StoreError
from ciabench.findings.curves import CONFIDENCE
from ciabench.findings.departures import (
    Crossing,
    crossing,
    heterogeneity,
    leads_by_departure,
    trials_per_world,
)
from ciabench.findings.evidence import Sample, Trials
from ciabench.findings.limits import (
    averaging_is_fragile_elsewhere,
    averaging_is_near_the_limit,
    none_above_the_limit,
)
from ciabench.findings.paper import SIX, named
from ciabench.findings.paper_claims import FAR_ABOVE, SIMILAR, always_ahead
from ciabench.findings.points import Slope
from ciabench.findings.selection import MEASURED_WORLDS, PAIRS, Data
from ciabench.findings.spelling import corpora, leads
from ciabench.findings.statements import Anything, IntervalStatement, Statement
from ciabench.findings.tester import Statements, claim
from ciabench.lab.storage.view import WORLD

NEAR = 0.05
"""Two accuracies on text are called near when they differ by less than this (ours)."""

MOST, NOT_RARE = 0.5, 0.1
"""Shares of all pairs from which on something is called the rule, and not rare (ours)."""

SAME_RATE = 1e-9
"""Accuracies that differ by less than this are the same."""

DEPARTURE_SIZE = 1_000
"""Sample size at which leads are compared with departures."""

FEWEST_RESAMPLED = 10
"""Resampling fewer trials than this gives no interval that could be trusted (ours)."""

RULES = "Threshold"
"""Kind of world in which the target is a rule of the attributes, whatever their hidden cause."""


@claim(
    "B1",
    "beyond the paper: EM with a selected number of classes regains the lead once s suffices (n = 10, k = 5)",
    named(10, 5),
    experiment="beyond",
)
def _selection_regains(data: Data) -> Statements:
    return always_ahead(data, named(10, 5), "EM selected", "Winnow", 3000)


@claim(
    "B2",
    "beyond the paper: within each kind of world EM's lead over Winnow falls with the departure from the binary model, "
    "in nats, also between models of the same parameters; it is lost at a crossing point, but where the target is a "
    "rule (Threshold) Winnow leads throughout",
    MEASURED_WORLDS,
    experiment="departures",
)
def _lead_falls_with_departure(data: Data) -> Statements:
    kinds = data.measured_kinds(DEPARTURE_SIZE, "EM", "Winnow")
    if not kinds:
        raise StoreError(f"no rows of EM and Winnow at size {DEPARTURE_SIZE} in worlds whose departure is known")
    of_kinds = _models(data)
    crossings = {kind: crossing(own) for kind, own in of_kinds.items() if kind != RULES}
    return [
        *_slopes(data, kinds),
        *(_crosses(kind, of_kinds[kind], found) for kind, found in crossings.items()),
        *(
            Statement(
                f"{kind}: mean lead of EM over Winnow",
                data.mean_lead(worlds, "EM", "Winnow", DEPARTURE_SIZE, DEPARTURE_SIZE),
                0.0,
                "below",
            )
            for kind, worlds in kinds.items()
            if kind == RULES
        ),
        *_in_common(crossings),
    ]


def _models(data: Data) -> dict[str, pd.DataFrame]:
    """Leads and departures of the models of each kind; none while a run has estimates but no rows yet."""
    if data.rows.empty:
        return {}
    leads = leads_by_departure(data.rows, "EM", "Winnow", DEPARTURE_SIZE)
    return {str(kind): own for kind, own in leads.groupby("kind", sort=False)}


def _slopes(data: Data, kinds: Mapping[str, Sequence[str]]) -> list[Statement]:
    """Slope of each kind, over all its models and between models of the same parameters."""
    return [
        Statement(
            f"{kind}: slope of the lead{where}, per nat",
            data.estimate(Slope(tuple(worlds), "EM", "Winnow", DEPARTURE_SIZE, is_within)),
            0.0,
            "below",
        )
        for kind, worlds in kinds.items()
        for where, is_within in (("", False), (" between models of the same parameters", True))
        if not is_within or len(worlds) > 1
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
    experiment="spelling",
)
def _lines_up_or_not(data: Data) -> Statements:
    by_corpus = corpora(data.rows)
    return [
        statement
        for corpus, rows in by_corpus.items()
        for statement in _on_corpus(f"{corpus}, " if len(by_corpus) > 1 else "", rows)
    ]


def _on_corpus(where: str, rows: pd.DataFrame) -> Statements:
    """The statements about all pairs of one corpus."""
    over_majority, over_winnow = leads(rows, "EM"), leads(rows, "EM", "Winnow")
    mean = over_majority.mean(axis=1)
    lines_up, is_majority = mean >= FAR_ABOVE, (over_majority.abs().fillna(0) < SAME_RATE).all(axis=1)
    is_either, splits = lines_up | is_majority, _splits(rows)
    statements: list[Anything] = [
        _share(f"{where}{text}", is_one, bound, splits)
        for text, is_one, bound in (
            (f"EM does one or the other; neither{_listed(mean[~is_either])}", is_either, MOST),
            (f"EM leads the majority by {FAR_ABOVE} or more{_listed(mean[lines_up])}", lines_up, NOT_RARE),
            ("EM is exactly the majority in every split", is_majority, NOT_RARE),
        )
    ]
    near = _where_others_line_up(over_majority, over_winnow)
    if len(near) > 1:
        text = f"{where}EM within ±{NEAR} of Winnow in splits whose other splits show that it lines up"
        means = Sample.of(np.array(list(near.values())))._replace(trials=splits)
        statements.append(Statement(f"mean over {len(near)} pairs: {text}", means, NEAR, "within"))
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


def _share(text: str, is_one: "pd.Series[bool]", bound: float, splits: Trials) -> IntervalStatement:
    """Statement about the share of all pairs, with an exact 95% interval (Clopper & Pearson)."""
    count, total = int(is_one.sum()), len(is_one)
    interval = stats.binomtest(count, total).proportion_ci(0.95, method="exact")
    ends = float(interval.low), float(interval.high)
    return IntervalStatement(f"{count} of {total} pairs: {text}", count / total, *ends, bound, trials=splits)


def _splits(rows: pd.DataFrame) -> Trials:
    """Splits per pair: fewest and most."""
    splits = rows.groupby(WORLD)["trial"].nunique()
    return Trials(int(splits.min()), int(splits.max()))


@claim(
    "B4",
    f"beyond the paper: COV by the rank-one factor is within {SIMILAR} of EM, or above it, at every s ≥ 100",
    *SIX,
    experiment="beyond",
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


@claim("L1", "the limit: no learner exceeds what can be reached by knowing the family", *SIX, experiment="limit")
def _none_above_the_limit(data: Data) -> Statements:
    return none_above_the_limit(data, SIX)


@claim("L2", "the limit: averaging over models is within 0.05 of it wherever s ≥ 200", *SIX, experiment="limit")
def _averaging_is_near_the_limit(data: Data) -> Statements:
    return averaging_is_near_the_limit(data, SIX)


@claim(
    "L3",
    "the paper's conclusion revisited: model-fitting that averages over models is not fragile to k, but it is to "
    "dependence between attributes (Tree) and to rules (Threshold)",
    *(_tree(strength) for strength in (1, 2)),
    *(_threshold(relevant) for relevant in (5, 7)),
    experiment="limit",
)
def _averaging_is_fragile_elsewhere(data: Data) -> Statements:
    families = [(named(n, 2), named(n, 5)) for n in (10, 75)]
    wrong = [*(_tree(strength) for strength in (1, 2)), *(_threshold(relevant) for relevant in (5, 7))]
    return averaging_is_fragile_elsewhere(data, families, wrong)
