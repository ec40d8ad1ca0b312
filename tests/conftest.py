import os

import pytest
from hypothesis import settings

settings.register_profile("same every time", derandomize=True)
settings.register_profile("explore", print_blob=True)
settings.load_profile(os.environ.get("CIABENCH_HYPOTHESIS", "same every time"))

PASSED = ("The law was passed by them", "They passed the law", "Congress passed a bill")
PAST = ("In the past year", "The past is gone", "It is half past nine")


@pytest.fixture
def small_corpus(tmp_path):
    """A folder of twelve short documents about passed and past."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(12):
        own_word = "abcdefghijkl"[number] * 3
        sentences = [f"{PASSED[number % 3]} {own_word}", PAST[number % 3], PAST[(number + 1) % 3]]
        (folder / f"{number:02}.txt").write_text(". ".join(sentences) + ".\n")
    return folder
