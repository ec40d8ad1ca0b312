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
SHOWN_PAIRS = 3


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
    world, labels = reading.world, reading.world.labels
    kinds = reading.kinds
    found = ", ".join(
        f"{kinds.count(kind)} {kind}"
        for kind in dict.fromkeys(("binary", "categorical", "numeric", *kinds))
        if kind in kinds
    )
    missing = f"; {counted(reading.n_missing, 'cell')} missing" if reading.n_missing else ""
    classes, counts = np.unique(labels, return_counts=True)
    majority = f"{percent(counts.max() / counts.sum())} are {classes[counts.argmax()]}"
    return (
        f"{world.name}: {counted(labels.size, 'row')}, {counted(len(kinds), 'column')} ({found}{missing}), "
        f"{reading.target} has {len(classes)} classes, {majority}"
    )


def left_out(reading: Reading) -> str:
    """Columns that are left out, with their reasons; empty if there is none."""
    return ", ".join(f"{one.column} ({one.reason})" for one in reading.left_out)


def verdict(lead: Lead, margin: float, rows: tuple[int, int]) -> str:
    """Which way is better here, in a sentence or two."""
    one, other = (LEARNERS[lead.representatives[way]].words for way in (lead.leader, lead.other))
    basis = f"{counted(lead.n_splits, 'paired split')} into {rows[0]:,} and {rows[1]:,} rows"
    if lead.n_splits == 1:
        return (
            f"One split is too few to tell the ways apart: in it {BEST[lead.leader]}, {one}, is {points(lead.difference)} "
            f"points ahead of {BEST[lead.other]}, {other}."
        )
    interval = f"95% interval {span(lead.low, lead.high)}; {basis}"
    if lead.answer == LEAD:
        little = (
            "" if lead.difference >= margin else f" That is less than the {points(margin)} points that matter to you."
        )
        return (
            f"{DO[lead.leader]}. {capital(one)} leads {BEST[lead.other]}, {other}, by {points(lead.difference)} points "
            f"of accuracy ({interval}).{little}"
        )
    if lead.answer == SAME:
        return (
            f"It makes no difference that matters. {capital(BEST[lead.leader])}, {one}, and {BEST[lead.other]}, {other}, "
            f"differ by less than {points(margin)} points of accuracy ({points(lead.difference)}; {interval})."
        )
    needed = (
        f" If the difference stays what it is, about {lead.rows_needed:,} rows would tell." if lead.rows_needed else ""
    )
    return (
        f"Not told apart with this many rows. {capital(BEST[lead.leader])}, {one}, is {points(lead.difference)} points of "
        f"accuracy ahead of {BEST[lead.other]}, {other} ({interval}).{needed}"
    )


def choice(advice: "Advice") -> str:
    """What to use: the best learner, and one that is as good and simpler."""
    best = LEARNERS[advice.best].words
    text = f"Most accurate: {best}, {percent(advice.scores.means('success')[advice.best])} of the test rows right."
    if LEARNERS[advice.best].way is None:
        text = text.replace(best, f"{best}, which mixes both ways", 1)
    if advice.simplest is not None:
        behind = advice.behind[advice.simplest]
        interval = f", interval {span(behind.low, behind.high)}" if behind.n_splits > 1 else ""
        text += f" As good and simpler: {LEARNERS[advice.simplest].words} ({points(behind.difference)} points behind{interval})."
    return text


def majority(found: Interval, best: str) -> str:
    """A warning if no learner is clearly better than the constant rule; empty otherwise."""
    if found.low > 0:
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
    text = f"The data show {counted(found.n_classes, 'hidden class')}".replace("classs", "classes")
    text += f" ({shares} of the rows)" if found.n_classes > 1 else ""
    least = ", the least that 19 drawn tables can show" if found.is_alarm else ""
    test = f"(misfit test: p = {found.p_value:.2f}{least})"
    if not found.is_alarm:
        return f"{text}, which explain how the columns go together {test}."
    pairs = [f"{one}–{two}" for one, two, *_ in found.unexplained.itertuples(index=False)]
    shown = listed(pairs[:SHOWN_PAIRS]) if pairs else "how the columns go together"
    more = f", and {len(pairs) - SHOWN_PAIRS} more pairs" if len(pairs) > SHOWN_PAIRS else ""
    return f"{text}, which do not explain {shown}{more} {test}."


def drawn(advice: "Advice") -> str:
    """What would be seen if the classes were the whole truth; empty if that was not computed."""
    table = advice.drawn
    if table is None:
        return ""
    here, there = ({way: table.loc[table["way"] == way, column].max() for way in DO} for column in ("here", "drawn"))
    tables = counted(advice.n_drawn, "table")
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
            f"{percent(change, 0)}."
        )
    return texts


def basis(advice: "Advice") -> list[str]:
    """What else has to be known: splits that are still missing, learners that took no part."""
    texts = [f"{LEARNERS[name].words} failed and is left out: {why}" for name, why in advice.scores.failed.items()]
    if advice.lead.n_splits < advice.n_planned:
        texts.append(
            f"{advice.lead.n_splits} of {counted(advice.n_planned, 'split')} were computed; more of them narrow the "
            "intervals a little, more rows narrow them much more."
        )
    return [capital(text) for text in texts]


def sentences(advice: "Advice") -> list[str]:
    """The whole advice, sentence by sentence."""
    found = [
        advice.verdict,
        choice(advice),
        majority(advice.over_majority, advice.best),
        classes(advice),
        drawn(advice),
        *forecast(advice),
        *basis(advice),
    ]
    return [text for text in found if text]
