import shutil

import numpy as np
import pytest

from ciabench.errors import CorpusError, ParameterError
from ciabench.seeds import Seed, canonical
from ciabench.world.corpus import read_corpus
from ciabench.world.pairs import named_pairs
from ciabench.world.spelling import SpellingPair, blanked, features


@pytest.fixture
def family(small_corpus):
    return SpellingPair("passed/past", str(small_corpus))


def written(tmp_path, *texts):
    for number, text in enumerate(texts):
        (tmp_path / f"{number}").write_text(text)
    return str(tmp_path)


def test_words_alone_give_five_collocations_and_context_up_to_the_end_of_the_sentence():
    found = features(blanked("Far away. We saw him, ___ the old mill! Nearby."))
    assert {one for one in found if "_" in one} == {", _", "him , _", "_ the", "_ the old", ", _ the"}
    assert found - {one for one in found if "_" in one} == {
        f"{word} ±10" for word in ("we", "saw", "him", "the", "old", "mill")
    }


def test_tags_stand_in_for_words_in_collocations_only(tmp_path):
    corpus = written(tmp_path, "We/ppss passed/vbd the/at mill/nn ./.", "The/at past/jj year/nn ./.")
    examples = SpellingPair("passed/past", corpus).examples()
    row = {examples.features[column] for column in examples.X[[0]].indices}
    assert {"we _", "PPSS _", "_ the", "_ AT", "we _ AT", "PPSS _ the", "_ AT NN", "_ the mill"} < row
    assert "AT ±10" not in row
    assert examples.y.tolist() == [0, 1]


def test_context_reaches_ten_words():
    words = [f"w{letter}" for letter in "abcdefghijkl"]
    found = features(blanked(" ".join(["___", *words])))
    assert "wj ±10" in found
    assert "wk ±10" not in found


def test_a_word_may_be_two(tmp_path):
    examples = SpellingPair("maybe/may be", written(tmp_path, "Maybe so. It may be so. In may we be.")).examples()
    assert examples.y.tolist() == [0, 1]
    assert "_ so" in {examples.features[column] for column in examples.X[[1]].indices}


def test_splits_keep_documents_whole_and_show_both_words(family):
    _, y, documents, _ = family.examples()
    for seed in range(20):
        training, test, _ = family.split(np.random.default_rng(seed))
        assert not set(documents[training]) & set(documents[test])
        assert sorted([*training, *test]) == list(range(36))
        assert 0.2 <= len(test) / 36 < 0.3
        assert set(y[test]) == set(y[training]) == {0, 1}


def test_vocabulary_comes_from_the_rows_given(family):
    X, _, _, names = family.examples()
    training = family.split(np.random.default_rng(0)).training
    columns = family.vocabulary(training)
    assert X[training][:, columns].sum(axis=0).min() >= 2
    assert len(columns) < len(names)
    assert len(family.vocabulary(training[:5])) < len(columns)


def test_name_parameters_and_identity_of_a_pair(family, small_corpus):
    assert family.name == "passed/past (corpus=corpus)"
    assert family.parameters == {"pair": "passed/past", "corpus": "corpus", "min_count": 2, "examples": 36}
    assert family.identity == {
        "pair": "passed/past",
        "corpus": read_corpus(str(small_corpus)).digest,
        "min_count": 2,
        "n": 36,
        "k": 2,
        "b": 24 / 36,
    }
    assert SpellingPair("passed/past", str(small_corpus), 3).name == "passed/past (corpus=corpus, min_count=3)"
    assert SpellingPair("raise/rise").name == "raise/rise"


def test_the_identity_is_of_the_text_wherever_it_lies(family, small_corpus, tmp_path):
    elsewhere = shutil.copytree(small_corpus, tmp_path / "elsewhere")
    assert canonical(SpellingPair("passed/past", str(elsewhere)).identity) == canonical(family.identity)
    longer = shutil.copytree(small_corpus, tmp_path / "longer")
    (longer / "more.txt").write_text("Nothing of either.")
    assert SpellingPair("passed/past", str(longer)).identity != family.identity
    assert SpellingPair("passed/past", str(small_corpus), min_count=3).identity != family.identity


def test_a_task_learns_from_prefixes_and_sees_the_words_of_so_many_rows(family):
    task = family.task(Seed((0,)))
    X, y = task.training(1000)
    for size in (1, 5, 20):
        part, labels = task.training(size)
        assert (part != X[:size]).nnz == 0
        assert labels.tolist() == y[:size].tolist()
    assert task.view(5)(X).shape[1] < task.view(len(y))(X).shape[1] < X.shape[1]
    assert task.view(5)(X).shape == (len(y), task.view(5)(task.judge._X).shape[1])
    assert (task.judge.best, task.classes.tolist(), task.facts) == (1.0, [0, 1], {"draws": 1})


def test_sets_go_by_any_of_their_words():
    assert named_pairs("It's") == ["its/it's"]
    assert named_pairs("there") == ["their/there", "their/they're", "there/they're"]
    assert named_pairs("may be, maybe") == ["may be/maybe"]


@pytest.mark.parametrize("pair", ["passed", "passed/passed", "passed/", "a/b/c", "///"])
def test_what_is_no_pair_is_refused(pair):
    with pytest.raises(CorpusError, match="is not a pair"):
        SpellingPair(pair)


def test_too_little_text_is_refused(small_corpus, tmp_path):
    corpus = str(small_corpus)
    for pair, reason in (("cat/dog", "neither word occurs"), ("past/dog", "only 'past' occurs")):
        with pytest.raises(CorpusError, match=f"{pair}: {reason}"):
            SpellingPair(pair, corpus)
    (tmp_path / "one").write_text("The past passed.")
    with pytest.raises(CorpusError, match="too few documents"):
        SpellingPair("passed/past", str(tmp_path / "one")).split(np.random.default_rng(0))
    with pytest.raises(ParameterError, match="min_count"):
        SpellingPair("passed/past", corpus, min_count=0)
    for sentence in ("no blank", "two ___ of ___"):
        with pytest.raises(CorpusError, match="one blank"):
            blanked(sentence)
