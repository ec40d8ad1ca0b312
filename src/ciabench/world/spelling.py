"""Which of two words fits the blank: context-sensitive spelling (Golding & Roth 1996; Grove & Roth 1997, §8).

An example is an occurrence of one of the two words. Its attributes describe its context in the sentence: each word
within ten places, and each collocation of one or two words, or their tags, adjacent to the blank.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ciabench.arrays import Bits
from ciabench.errors import CorpusError, check_integer
from ciabench.seeds import Seed
from ciabench.world.base import Task, View, World
from ciabench.world.corpus import SOTU, Document, occurrences, read_corpus, tokens
from ciabench.world.held_out import HeldOut
from ciabench.world.pairs import words

Rows = NDArray[np.intp]

WINDOW = 10
COLLOCATIONS = ((-1,), (1,), (-2, -1), (-1, 1), (1, 2))
SENTENCE_ENDS = frozenset(".?!")
TEST_SHARE = 0.2
MOST_SPLITS = 100
"""Maximum number of splits drawn in search of one with both words in both parts."""


class Context(NamedTuple):
    """Up to ten places before and after the blank, each with its word and, if there is one, its tag."""

    before: list[tuple[str, ...]]
    after: list[tuple[str, ...]]


class Examples(NamedTuple):
    """All occurrences of a pair: attributes (s, n) as CSR, labels (s,), documents (s,), and names of the attributes."""

    X: Any
    y: Bits
    documents: Rows
    features: list[str]


class Occurrences(NamedTuple):
    """Where the words of a pair occur: which of them (s,), documents (s,), and positions in these (s,)."""

    y: Bits
    documents: Rows
    positions: Rows


class Split(NamedTuple):
    """Training rows in random order, test rows, and the number of splits drawn to find this one."""

    training: Rows
    test: Rows
    draws: int


@dataclass(frozen=True)
class SpellingPair(World):
    """A pair of easily confused words in a corpus.

    Parameters
    ----------
    pair : str
        The words, as in "passed/past".
    corpus : str
        "sotu", or the path of a file or folder of text.
    min_count : int
        Attributes seen less often in the training examples are dropped.

    Examples
    --------
    >>> world = SpellingPair("passed/past")
    >>> examples = world.examples()
    >>> examples.X.shape[0] > 1000, round(world.majority_share, 2)
    (True, 0.68)
    """

    pair: str
    corpus: str = SOTU
    min_count: int = 2

    use: ClassVar[str] = "Spelling"

    def __post_init__(self) -> None:
        check_integer("min_count", self.min_count, 1)
        self._labels  # noqa: B018 - a pair that cannot be used is refused at once

    @property
    def parameters(self) -> dict[str, Any]:
        """Pair, name of the corpus, `min_count`, and the number of examples."""
        return {
            "pair": self.pair,
            "corpus": Path(self.corpus).name,
            "min_count": int(self.min_count),
            "examples": int(self._labels.size),
        }

    @property
    def name(self) -> str:
        """The pair, with any other parameters that are not the default."""
        others = {key: value for key, value in self.changed_parameters().items() if key in ("corpus", "min_count")}
        shown = ", ".join(f"{key}={value}" for key, value in others.items())
        return f"{self.pair} ({shown})" if shown else self.pair

    @property
    def identity(self) -> dict[str, Any]:
        """What determines its trials, wherever the corpus is stored; n counts examples, b is the majority's share."""
        return {
            "pair": self.pair,
            "corpus": read_corpus(self.corpus).digest,
            "min_count": int(self.min_count),
            "n": int(self._labels.size),
            "k": 2,
            "b": self.majority_share,
        }

    def task(self, seed: Seed) -> Task:
        """Split the documents; a size larger than the training part means all of it.

        Examples
        --------
        >>> task = SpellingPair("raise/rise").task(Seed(("any", 0)))
        >>> X, y = task.training(100)
        >>> X.shape[0], y.shape, task.judge.best
        (100, (100,), 1.0)
        """
        X, y, *_ = self.examples()
        rows, test, draws = self.split(seed.rng("split"))
        return Task(
            training=lambda size: (X[rows[:size]], y[rows[:size]]),
            judge=HeldOut(X[test], y[test], constant_label=int(y[rows].mean() > 0.5)),
            classes=np.array([0, 1], dtype=np.uint8),
            facts={"draws": draws},
            view=lambda size: _columns(self.vocabulary(rows[:size])),
        )

    @property
    def majority_share(self) -> float:
        """Share of the more common word in the corpus."""
        return float(np.bincount(self._labels).max() / self._labels.size)

    @property
    def _labels(self) -> Bits:
        """Which word every occurrence is; quicker to find than the examples."""
        return _occurrences(self.corpus, self.pair).y

    def examples(self) -> Examples:
        """Occurrences of both words, collected once per process."""
        return _examples(self.corpus, self.pair)

    def split(self, rng: np.random.Generator) -> Split:
        """Draw test documents until they hold a fifth of the examples; both parts contain both words."""
        _, y, documents, _ = self.examples()
        for draws in range(1, MOST_SPLITS + 1):
            order = rng.permutation(np.unique(documents))
            sizes = np.cumsum([np.count_nonzero(documents == one) for one in order])
            chosen = order[: 1 + np.searchsorted(sizes, TEST_SHARE * y.size)]
            is_test = np.isin(documents, chosen)
            parts = rng.permutation(np.flatnonzero(~is_test)), np.flatnonzero(is_test)
            if all(np.unique(y[part]).size == 2 for part in parts):
                return Split(*parts, draws)
        raise CorpusError(f"{self.pair}: occurs in too few documents to be split into training and test.")

    def vocabulary(self, rows: Rows) -> Rows:
        """Columns of the attributes that occur at least `min_count` times in these rows."""
        counts = np.asarray(self.examples().X[rows].sum(axis=0, dtype=np.int64)).ravel()
        found = np.flatnonzero(counts >= self.min_count)
        if not found.size:
            raise CorpusError(
                f"{self.pair}: no attribute occurs {self.min_count} times in {rows.size} training examples."
            )
        return found


def _columns(chosen: Rows) -> View:
    """View of the chosen columns."""
    return lambda rows: rows[:, chosen]


def features(context: Context) -> set[str]:
    """Attributes that are 1 in a context; in collocations, _ is the blank and tags are in capitals.

    Examples
    --------
    >>> sorted(features(blanked("I did not know ___ to laugh")))[:4]
    ['_ to', '_ to laugh', 'did ±10', 'i ±10']
    """
    before, after = context
    near = {place[0] for place in (*before, *after) if place[0][0].isalpha()}
    places = {-1 - i: place for i, place in enumerate(reversed(before))} | dict(enumerate(after, start=1))
    found = {f"{word} ±{WINDOW}" for word in near}
    for positions in COLLOCATIONS:
        if all(position in places for position in positions):
            blank = sum(position < 0 for position in positions)
            for run in product(*(places[position] for position in positions)):
                found.add(" ".join((*run[:blank], "_", *run[blank:])))
    return found


def blanked(sentence: str) -> Context:
    """Context of the blank ___ in a sentence."""
    before, blank, after = sentence.partition("___")
    if not blank or "___" in after:
        raise CorpusError("the sentence must have one blank, written as ___.")
    return _context(Document([*tokens(before), "___", *tokens(after)], None), len(tokens(before)), 1)


def _context(text: Document, start: int, length: int) -> Context:
    """Places around the `length` words from `start`, within the sentence."""
    end = start + length
    first = next((i + 1 for i in range(start - 1, -1, -1) if text.words[i] in SENTENCE_ENDS), 0)
    last = next((i for i in range(end, len(text.words)) if text.words[i] in SENTENCE_ENDS), len(text.words))
    columns = (text.words,) if text.tags is None else (text.words, text.tags)
    before, after = slice(max(first, start - WINDOW), start), slice(end, min(last, end + WINDOW))
    return Context(*(list(zip(*(column[part] for column in columns), strict=True)) for part in (before, after)))


@cache
def _occurrences(corpus: str, pair: str) -> Occurrences:
    """Occurrences of both words, by document, then word; both must occur."""
    found = sorted(
        (place.document, label, place.position)
        for label, word in enumerate(words(pair))
        for place in occurrences(corpus, word.split())
    )
    origins, labels, positions = np.array(found, dtype=np.int64).reshape(-1, 3).T
    y = labels.astype(np.uint8)
    _check_both(y, pair, corpus)
    return Occurrences(y, origins, positions)


@cache
def _examples(corpus: str, pair: str) -> Examples:
    """Examples of a pair."""
    known: dict[str, int] = {}
    columns: list[int] = []
    ends, documents = [0], read_corpus(corpus).documents
    y, origins, positions = _occurrences(corpus, pair)
    lengths = [len(word.split()) for word in words(pair)]
    for label, origin, start in zip(y.tolist(), origins.tolist(), positions.tolist(), strict=True):
        found = sorted(features(_context(documents[origin], start, lengths[label])))
        columns += [known.setdefault(feature, len(known)) for feature in found]
        ends.append(len(columns))
    ones = np.ones(len(columns), dtype=np.uint8)
    X = sparse.csr_array((ones, np.array(columns, dtype=np.int32), np.array(ends, dtype=np.int32)))
    X.resize(y.size, len(known))
    return Examples(X, y, origins, list(known))


def _check_both(y: Bits, pair: str, corpus: str) -> None:
    """Refuse a pair unless both words occur in the corpus."""
    if not y.size:
        raise CorpusError(f"{pair}: neither word occurs in the corpus {corpus}.")
    if y.min() == y.max():
        raise CorpusError(f"{pair}: only {words(pair)[y[0]]!r} occurs in the corpus {corpus}.")
