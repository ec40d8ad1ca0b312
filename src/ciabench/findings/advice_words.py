"""An advice in sentences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ciabench.findings.advice_learners import DIRECT, LEARNERS, MODEL
from ciabench.findings.advice_table import Reading
from ciabench.findings.leads import LEAD, SAME, Interval, Lead

if TYPE_CHECKING:
    from ciabench.findings.advice import Advice

DO = {MODEL: "Fit a model", DIRECT: "Learn the classifier directly"}
BEST = {MODEL: "the best fitted model", DIRECT: "the best direct learner"}
KINDS = ("binary", "categorical", "numeric")
SHOWN_PAIRS = 3

FEW_SPLITS = 5
"""With fewer splits than this, intervals are too wide to say anything."""

NUMBERS = ("no", "one", "two", "three", "four")


def points(difference: float) -> str:
    """A difference of accuracies in points.

    Examples
    --------
    >>> points(0.0213), points(-0.0004), points(-0.02)
    ('2.1', '0.0', '−2.0')
    """
    text = f"{100 * difference:.1f}".replace("-", "−")
    return "0.0" if text == "−0.0" else text


def percent(share: float, digits: int = 1) -> str:
    """A share in percent."""
    return f"{100 * share:.{digits}f}%"


def chance(probability: float) -> str:
    """A probability in whole percent, never as certain.

    Examples
    --------
    >>> chance(0.001), chance(0.14), chance(0.999)
    ('less than 1%', '14%', 'more than 99%')
    """
    if 0.01 <= probability <= 0.99:
        return percent(probability, 0)
    return "less than 1%" if probability < 0.5 else "more than 99%"


def span(low: float, high: float) -> str:
    """Ends of an interval, in points."""
    return f"{points(low)} to {points(high)}"


def capital(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def listed(texts: Sequence[str]) -> str:
    """Texts in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def counted(number: int, noun: str) -> str:
    """A number and what it counts."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def summary(reading: Reading) -> str:
    """The table in one line."""
    labels, kinds = reading.world.labels, reading.kinds
    found = ", ".join(f"{kinds.count(kind)} {kind}" for kind in KINDS if kind in kinds)
    missing = f"; {counted(reading.n_missing, 'cell')} missing" if reading.n_missing else ""
    classes, counts = np.unique(labels, return_counts=True)
    return (
        f"{reading.world.name}: {counted(labels.size, 'row')}, {counted(len(kinds), 'column')} ({found}{missing}); "
        f"{reading.target} has {len(classes)} classes, {percent(counts.max() / labels.size)} of the rows are "
        f"{classes[counts.argmax()]}"
    )


def left_out(reading: Reading) -> str:
    """Columns that are left out, with their reasons; empty if there is none."""
    return ", ".join(f"{one.column} ({one.reason})" for one in reading.left_out)


def verdict(lead: Lead, margin: float, rows: tuple[int, int]) -> str:
    """Which way is better here, in a sentence or two; rows are those that train and test."""
    one, other = (LEARNERS[lead.representatives[way]].words for way in (lead.leader, lead.other))
    first, second, ahead = BEST[lead.leader], BEST[lead.other], points(lead.difference)
    if lead.n_splits < FEW_SPLITS:
        few = "One split is" if lead.n_splits == 1 else f"{capital(NUMBERS[lead.n_splits])} splits are"
        text = f"{few} too few to tell the ways apart; give it more time. So far"
        return f"{text} {first}, {one}, is {ahead} points of accuracy ahead of {second}, {other}."
    basis = (
        f"95% interval {span(lead.low, lead.high)}; {lead.n_splits} paired splits into {rows[0]:,} and {rows[1]:,} rows"
    )
    if lead.answer == LEAD:
        text = f"{DO[lead.leader]}. {capital(one)} leads {second}, {other}, by {ahead} points of accuracy ({basis})."
        return text if lead.difference >= margin else f"{text} That is less than the {points(margin)} that matter."
    if lead.answer == SAME:
        text = f"It makes no difference that matters. {capital(first)}, {one}, and {second}, {other}, are within"
        return f"{text} {points(margin)} points of accuracy of each other (difference {ahead}, {basis})."
    text = f"Not told apart with this many rows. {capital(first)}, {one}, is {ahead} points of accuracy ahead of"
    needed = (
        f" If the difference stays what it is, about {lead.rows_needed:,} rows will tell." if lead.rows_needed else ""
    )
    return f"{text} {second}, {other} ({basis}).{needed}"


def cost_of_choosing(advice: "Advice") -> str:
    """Why the ways differ by another number than their learners in the table; empty if they do not."""
    lead = advice.lead
    first, second = (advice.behind[lead.representatives[way]].difference for way in (lead.leader, lead.other))
    between, ahead = points(second - first), points(lead.difference)
    if not advice.has_intervals or between == ahead:
        return ""
    return (
        f"Between these two learners the table shows {between} points; the {ahead} include what choosing costs: in "
        "every split, the learner that does best on the rows outside its test part stands for its way."
    )


def choice(advice: "Advice") -> str:
    """What to use: the best learner, and one that is as good and simpler."""
    best = LEARNERS[advice.best]
    mixed = ", which mixes both ways" if best.way is None else ""
    share = percent(advice.scores.means("success")[advice.best])
    text = f"Most accurate: {best.words}{mixed}, right on {share} of the test rows."
    if advice.simplest is None or not advice.has_intervals:
        return text
    behind, simpler = advice.behind[advice.simplest], LEARNERS[advice.simplest].words
    interval = f"95% interval {span(behind.low, behind.high)}"
    return f"{text} As good and simpler: {simpler} ({points(behind.difference)} points behind, {interval})."


def majority(found: Interval, best: str) -> str:
    """A warning if no learner is clearly better than the constant rule; empty otherwise."""
    if found.low > 0 or found.n_splits < FEW_SPLITS:
        return ""
    return (
        f"Nothing here is clearly better than always giving the most common answer: {LEARNERS[best].words} is "
        f"{points(found.difference)} points ahead of it (95% interval {span(found.low, found.high)})."
    )


def classes(advice: "Advice") -> str:
    """How many hidden classes there are, and whether they explain the table; empty if that was not computed."""
    found = advice.misfit
    if found is None:
        return ""
    shares = listed([percent(share, 0) for share in found.model.weights_])
    several = f"{found.n_classes} hidden classes ({shares} of the rows)"
    text = f"The data show {several if found.n_classes > 1 else 'a single hidden class'}"
    least = ", the least that 19 drawn tables can show" if found.is_alarm else ""
    test = f"(misfit test: p = {found.p_value:.2f}{least})"
    if not found.is_alarm:
        return f"{text}, which explain how the columns go together {test}."
    pairs = [f"{one}–{two}" for one, two, *_ in found.unexplained.itertuples(index=False)]
    shown = listed(pairs[:SHOWN_PAIRS]) if pairs else "how the columns go together"
    more = f", and {counted(len(pairs) - SHOWN_PAIRS, 'more pair')}" if len(pairs) > SHOWN_PAIRS else ""
    return f"{text}, which do not explain {shown}{more} {test}."


def drawn(advice: "Advice") -> str:
    """What would be seen if the classes were the whole truth; empty if that was not computed."""
    table = advice.drawn
    if table is None:
        return ""
    here, there = ({way: table.loc[table["way"] == way, column].max() for way in DO} for column in ("here", "drawn"))
    tables = f"{counted(advice.n_drawn, 'table')} of {advice.drawn_rows:,} rows"
    return (
        f"If these classes were the whole truth ({tables} drawn from them), the best fitted model would reach "
        f"{percent(there[MODEL])} and the best direct learner {percent(there[DIRECT])}; here they reach "
        f"{percent(here[MODEL])} and {percent(here[DIRECT])}."
    )


def forecast(advice: "Advice") -> list[str]:
    """What twice and four times the rows would bring; none without a forecast."""
    if advice.forecast is None:
        return []
    found = advice.forecast[advice.forecast["learner"] == advice.forecast_of]
    texts = []
    for (_, row), change, times in zip(found.iterrows(), advice.chances, ("twice", "four times"), strict=True):
        texts.append(
            f"With {times} the rows expect {percent(row['low'], 0)} to {percent(row['high'], 0)} from "
            f"{LEARNERS[advice.forecast_of].words} (80% interval); chance that the lead between the ways changes: "
            f"{chance(change)}."
        )
    return texts


def basis(advice: "Advice") -> list[str]:
    """What else has to be known: splits that are still missing, learners that took no part."""
    texts = [f"{LEARNERS[name].words} failed and is left out: {why}" for name, why in advice.scores.failed.items()]
    if advice.lead.n_splits < advice.n_planned:
        texts.append(
            f"{advice.lead.n_splits} of {counted(advice.n_planned, 'split')} fit into the budget; more of them narrow "
            "the intervals a little, more rows much more."
        )
    return [capital(text) for text in texts]


def sentences(advice: "Advice") -> list[str]:
    """The whole advice, sentence by sentence."""
    found = [
        advice.verdict,
        cost_of_choosing(advice),
        choice(advice),
        majority(advice.over_majority, advice.best),
        classes(advice),
        drawn(advice),
        *forecast(advice),
        *basis(advice),
    ]
    return [text for text in found if text]
