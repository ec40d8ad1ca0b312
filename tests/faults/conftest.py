import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOLDERS = [str(HERE), str(HERE.parent / "lab")]
sys.path += [folder for folder in FOLDERS if folder not in sys.path]

from harness import exported, made  # noqa: E402 - found since the line above


@pytest.fixture(autouse=True)
def helpers_on_path(monkeypatch):
    """Modules of this folder, and learners named "hostile:…", are found by processes that are started."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(FOLDERS))


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A store that a run has finished, and its rows; to be copied, not changed."""
    path = made(tmp_path_factory.mktemp("finished"), trials=3)
    return path, exported(path)
