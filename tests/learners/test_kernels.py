"""Compiled kernels on disk: those out of date or damaged are dropped; a first compilation is announced."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

import ciabench
from ciabench import kernels

ANNOUNCEMENT = "compiling kernels, once; this takes up to a minute\n"
FIT = """
from pathlib import Path
from ciabench import NaiveBayes, kernels
from ciabench.learners import naive_bayes
print(NaiveBayes().fit([[0, 1], [1, 0], [1, 1]], [0, 1, 1]).coef_.round(6))
print(Path(naive_bayes._count_ones.stats.cache_path) == kernels.cache_folder(Path(naive_bayes.__file__).parent))
"""


def run(package, code=FIT, **environment):
    """Stdout and stderr of a new process that imports the package from a folder."""
    dropped = ("NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE")
    variables = {name: value for name, value in os.environ.items() if name not in dropped}
    variables.update(PYTHONPATH=str(package), PYTHONPYCACHEPREFIX=str(package / "bytecode"), **environment)
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, env=variables)
    assert process.returncode == 0, process.stderr
    return process.stdout, process.stderr


def copied(folder):
    """Copy the rooms with kernels, and what they import, to a folder, without anything compiled."""
    source, target = Path(ciabench.__file__).parent, folder / "ciabench"
    target.mkdir()
    for path in source.glob("*.py*"):
        shutil.copy2(path, target)
    for room in kernels.rooms():
        shutil.copytree(room, target / room.relative_to(source), ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A copy of the package with the kernels of one fit, and what that fit printed."""
    package = copied(tmp_path_factory.mktemp("package"))
    return package, *run(package)


def kept(folder, *suffixes):
    return sorted(path for suffix in suffixes or (".nbi",) for path in folder.rglob(f"*{suffix}"))


def test_the_first_compilation_is_announced_in_one_line_and_a_warm_start_is_silent(compiled):
    package, printed, announced = compiled
    assert announced == ANNOUNCEMENT
    assert printed.endswith("True\n")
    assert kept(package)
    assert run(package) == (printed, "")


def test_importing_changes_nothing_and_prints_nothing(compiled):
    package, *_ = compiled
    before = {path: path.stat().st_mtime for path in kept(package)}
    for path in before:
        os.utime(path, (1, 1))
    assert run(package, "import ciabench.kernels, ciabench.learners.em, ciabench.learners.cov") == ("", "")
    assert kept(package) == sorted(before)
    for path, changed in before.items():
        os.utime(path, (changed, changed))


@pytest.mark.soak
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_truncated_files_are_replaced(compiled, suffix):
    package, printed, _ = compiled
    damaged = kept(package, suffix)
    for path in damaged:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    again, said = run(package)
    assert again == printed
    assert all(f"{path} is damaged and was deleted; its kernel will be compiled again\n" in said for path in damaged)
    assert run(package) == (printed, "")


@pytest.mark.soak
def test_another_cache_folder_is_used_and_checked(compiled, tmp_path):
    package, printed, _ = compiled
    assert run(package, NUMBA_CACHE_DIR=str(tmp_path)) == (printed, ANNOUNCEMENT)
    kept(tmp_path, ".nbc")[0].write_bytes(b"")
    assert "is damaged" in run(package, NUMBA_CACHE_DIR=str(tmp_path))[1]


@pytest.mark.parametrize("room", ["latent", "learners", "probability"])
def test_kernels_are_out_of_date_when_any_room_changed(tmp_path, room, monkeypatch):
    monkeypatch.setattr(kernels, "PACKAGE", copied(tmp_path) / "ciabench")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    rooms = kernels.rooms()
    caches = [kernels.cache_folder(folder) for folder in rooms]
    for folder in caches:
        folder.mkdir()
        (folder / "kernel.nbi").touch()
    kernels.drop_old_kernels(rooms, caches)
    assert len(kept(tmp_path)) == len(rooms)
    changed = next((tmp_path / "ciabench" / room).glob("*.py"))
    for path, moment in ((changed, 0), *((index, -1) for index in kept(tmp_path))):
        os.utime(path, (time.time() + moment, time.time() + moment))
    kernels.drop_old_kernels(rooms, caches)
    assert not kept(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [lambda _: b"", lambda old: old[:-1], lambda old: bytes(len(old)), lambda old: b"garbage" + old, lambda _: b"."],
)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_files_are_found_and_no_others(compiled, tmp_path, suffix, damage):
    package, *_ = compiled
    for path in kept(package, ".nbi", ".nbc"):
        shutil.copy(path, tmp_path)
    damaged, *others = kept(tmp_path, suffix) + kept(tmp_path, *({".nbi", ".nbc"} - {suffix}))
    damaged.write_bytes(damage(damaged.read_bytes()))
    kernels.drop_damaged_kernels([tmp_path, tmp_path / "absent"])
    assert not damaged.exists()
    assert all(path.exists() for path in others)


def test_old_kernels_are_dropped_and_sources_from_the_future_are_ignored(tmp_path):
    times = {"f-1.py311.nbi": 1, "f-1.py311.1.nbc": 1, "source.py": 2, "f-2.py311.nbi": 3, "f-2.py311.12.nbc": 3}
    for name, changed in {**times, "future.py": time.time() + 1e6}.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (changed, changed))
    kernels.drop_old_kernels([tmp_path], [tmp_path])
    assert {path.name for path in kept(tmp_path, ".nbi", ".nbc")} == {"f-2.py311.nbi", "f-2.py311.12.nbc"}


def test_all_rooms_with_kernels_are_watched():
    package = Path(ciabench.__file__).parent
    with_kernels = {
        path.parent for path in package.rglob("*.py") if "@njit" in path.read_text() and path.parent != package
    }
    assert set(kernels.rooms()) == with_kernels
    assert {"latent", "learners", "probability"} <= {room.name for room in kernels.rooms()}


def test_a_read_only_installation_uses_the_cache_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    room = Path(ciabench.__file__).parent / "latent"
    assert kernels.cache_folder(room) == room / "__pycache__"
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert kernels.cache_folder(room).name.startswith("latent_")
    assert room not in kernels.cache_folder(room).parents
