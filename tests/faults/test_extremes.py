"""The most extreme tables, networks and files: answered or refused in one line, in bounded time and memory."""

import extremes
import pytest

ANSWERED = {
    "columns read", "columns fitted", "columns of a world", "columns advised on", "levels read", "1e149 fitted",
    "1e149 beside text", "1e149 as labels", "a store that is a loop",
}  # fmt: skip
REASONS = {
    "pipe as table": "it is a pipe or a device; save its content to a file first",
    "endless as experiment": "it is a pipe or a device",
    "loop as network": "Too many levels of symbolic links",
    "sparse as results": "more than the limit of",
    "bomb.csv": "is compressed; unpack it first",
    "rows.csv.gz": "unpacks to more than 200 times its size",
    "text.parquet": "10000000000 bytes of text",
    "rows.parquet": "more than 134217728 cells in all",
    "levels fitted": "at most 65534 are possible",
    "levels as bits": "leave out columns with many levels",
    "long labels": "labels have at most 200",
    "infinity as labels": "not finite",
    "an integer of an experiment": "seed = an integer of 36000 bits",
    "keys of an experiment": "a key has more than 100 parts",
    "quoted keys of an experiment": "a key has more than 100 parts",
    "keys with commas of an experiment": "a key has more than 100 parts",
    "network of braces": "there is a { without its }",
    "network of variables": "more than the limit of 10000",
    "writing to full": "such as a folder or a device",
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return extremes.outcomes(tmp_path_factory.mktemp("extremes") / "made", 1)


def test_each_is_answered_or_refused_in_one_line(cases):
    assert {name for name, text in cases.items() if text == "answered"} == ANSWERED
    assert [text for text in cases.values() if text != "answered" and not text.startswith("refused: ")] == []
    assert [text for text in cases.values() if "\n" in text] == []


@pytest.mark.parametrize("name", REASONS)
def test_the_reason_is_given(cases, name):
    assert REASONS[name] in cases[name]
