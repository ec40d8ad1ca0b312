"""Pairs of easily confused words: the sets of Golding & Roth (1996), and pairs as users write them."""

import re
from itertools import combinations

from ciabench.errors import CorpusError
from ciabench.world.corpus import tokens

CONFUSION_SETS = (
    ("accept", "except"),
    ("affect", "effect"),
    ("among", "between"),
    ("amount", "number"),
    ("begin", "being"),
    ("cite", "sight", "site"),
    ("country", "county"),
    ("fewer", "less"),
    ("I", "me"),
    ("its", "it's"),
    ("lead", "led"),
    ("maybe", "may be"),
    ("passed", "past"),
    ("peace", "piece"),
    ("principal", "principle"),
    ("quiet", "quite"),
    ("raise", "rise"),
    ("than", "then"),
    ("their", "there", "they're"),
    ("weather", "whether"),
    ("your", "you're"),
)
"""Confusion sets of Golding & Roth (1996); a set of three stands for its three pairs."""

DEFAULT_PAIRS = (
    "accept/except",
    "affect/effect",
    "among/between",
    "amount/number",
    "begin/being",
    "country/county",
    "fewer/less",
    "its/it's",
    "lead/led",
    "passed/past",
    "principal/principle",
    "quiet/quite",
    "raise/rise",
    "sight/site",
    "than/then",
    "there/they're",
    "weather/whether",
    "your/you're",
)
"""Pairs whose words each occur at least 30 times in the default corpus, except the largest two (I/me, their/…)."""


def words(pair: str) -> tuple[str, str]:
    """Both words of a pair, as written in experiment files.

    Examples
    --------
    >>> words("maybe/may be")
    ('maybe', 'may be')
    """
    parts = [" ".join(tokens(part)) for part in pair.split("/")]
    if len(parts) != 2 or not all(parts) or parts[0] == parts[1]:
        raise CorpusError(f"{pair!r} is not a pair: write two different words as 'passed/past'.")
    return parts[0], parts[1]


def named_pairs(name: str) -> list[str]:
    """Pairs that a name stands for: two or more words, or one word of a confusion set of Golding & Roth.

    Examples
    --------
    >>> named_pairs("passed,past"), named_pairs("weather"), named_pairs("cite/sight/site")
    (['passed/past'], ['weather/whether'], ['cite/sight', 'cite/site', 'sight/site'])
    """
    members: tuple[str, ...] = tuple(part.strip() for part in re.split("[,/]", name))
    if len(members) == 1:
        sets = [one for one in CONFUSION_SETS if members[0].lower() in map(str.lower, one)]
        if not sets:
            raise CorpusError(f"there is no confusion set with {name!r}; give both words, as passed,past.")
        members = sets[0]
    pairs = ["/".join(pair) for pair in combinations(members, 2)]
    for pair in pairs:
        words(pair)
    return pairs
