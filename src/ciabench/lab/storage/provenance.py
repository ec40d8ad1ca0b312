"""Provenance of results: package, commit, libraries, BLAS, processor."""

import os
import platform
import subprocess  # runs git, without a shell  # nosec B404
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import ciabench

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "pandas", "distributed")


def environment() -> dict[str, Any]:
    """Describe the software and the machine that produce results, without names of people, hosts or folders.

    Examples
    --------
    >>> sorted(environment())
    ['blas', 'ciabench', 'commit', 'cores', 'cpu', 'dirty', 'libraries', 'platform', 'python']
    """
    commit, dirty = git_state()
    return {
        "ciabench": ciabench.__version__,
        "commit": commit,
        "dirty": dirty,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": processor(),
        "cores": os.cpu_count(),
        "blas": blas(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name))},
    }


def git_state() -> tuple[str | None, bool | None]:
    """Commit of the working tree that the package runs from, and whether it has changes; None if it is installed."""
    package = Path(ciabench.__file__).resolve().parent
    top = _git(package, "rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() / "src" / "ciabench" != package:
        return None, None
    commit = _git(package, "rev-parse", "HEAD")
    return commit, bool(_git(package, "status", "--porcelain", "--untracked-files=no"))


def blas() -> list[str]:
    """Loaded linear algebra and threading libraries, with their versions.

    Examples
    --------
    >>> all(isinstance(library, str) for library in blas())
    True
    """
    import scipy.linalg  # noqa: F401 - so that its library is loaded
    from threadpoolctl import threadpool_info

    return sorted({f"{library['internal_api']} {library['version'] or ''}".strip() for library in threadpool_info()})


def processor() -> str:
    """Model of the processor, and the kind that kernels are compiled for, on which last digits can depend.

    Examples
    --------
    >>> processor().endswith(")")
    True
    """
    from llvmlite.binding import get_host_cpu_name

    return f"{_model_name()} ({get_host_cpu_name()})"


def _model_name() -> str:
    """The manufacturer's name of the processor, which may cover several kinds."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _git(folder: Path, *arguments: str) -> str | None:
    """Output of a git command; None if it fails."""
    try:
        command = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)  # fixed arguments  # nosec B603
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
