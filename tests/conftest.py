import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import settings
from selenium import webdriver

from ciabench.lab.compute import workers

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads of several test processes would wait for each other

COMPILE = """
from ciabench.lab.compute.workers import prepare
from ciabench.lab.plan.learner import LEARNERS, resolve
from ciabench.lab.plan.plan import Plan

if __name__ == "__main__":
    learners = tuple(resolve(use, use, {}) for use in LEARNERS.builtins() if use != "Adaptive")  # made of others
    prepare(Plan(seed=0, trials=0, sizes=(), worlds=(), learners=learners), jobs=2)
"""

settings.register_profile("same every time", derandomize=True)
settings.register_profile("explore", print_blob=True)
settings.load_profile(os.environ.get("CIABENCH_HYPOTHESIS", "same every time"))

PASSED = ("The law was passed by them", "They passed the law", "Congress passed a bill")
PAST = ("In the past year", "The past is gone", "It is half past nine")

FLAGS = (
    "headless",
    "no-sandbox",
    "disable-gpu",
    "disable-quic",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
    "window-size=1300,1000",
)


class OpenFigures:
    """Closes the figures of every test and doctest; hooks of this file alone would miss the doctests of the package."""

    def pytest_runtest_teardown(self):
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")


def pytest_configure(config):
    config.pluginmanager.register(OpenFigures())


def pytest_sessionstart(session):
    """Compile the kernels of all learners before test processes start, which would each compile them."""
    if session.config.getoption("numprocesses", 0) and not hasattr(session.config, "workerinput"):
        subprocess.run([sys.executable, "-c", COMPILE], check=True)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A headless Chromium that keeps its console; skips where there is none, unless CIABENCH_REQUIRE_BROWSER is set."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        if os.environ.get("CIABENCH_REQUIRE_BROWSER"):
            pytest.fail("pages must be tested in a browser: install chromium and chromium-driver.")
        pytest.skip("no chromium with its driver here: pages are not tested in a browser")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()


@pytest.fixture(scope="module")
def one_guard():
    """Runs in this process share a guarded child, whose start takes longer than most runs; a function that ends it."""
    end = workers.close_guard
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(workers, "close_guard", lambda: None)
        yield end
    end()


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
