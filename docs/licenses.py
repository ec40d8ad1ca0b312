"""Licenses of everything that ciabench depends on, as the installed packages declare them: `python docs/licenses.py`.

Fails, with the names, if a license is unknown or does not go together with BSD-3-Clause.
"""

import sys
from importlib.metadata import Distribution, distribution
from itertools import groupby

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

USERS = ("dask", "parquet", "spelling")
"""Extras for users; the others are for benchmarks, the site and tests."""

PERMISSIVE = {"0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU"}
PERMISSIVE |= {"Apache-2.0 WITH LLVM-exception", "PSF-2.0", "Public Domain", "Zlib"}
WITH_SOURCE = {"MPL-2.0"}
"""Asks that changes to its own files are published; nothing of it is in ciabench."""

DECLARED = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The MIT License (MIT)": "MIT",
}
"""Names of licenses in older metadata."""

READ_BY_HAND = {"docutils": "BSD-2-Clause AND Public Domain"}
"""Where metadata do not tell: what of docutils is under the GPL is an Emacs mode, which is not installed."""


def required(root: str, extras: tuple[str, ...]) -> set[str]:
    """Names of the packages that one needs with some of its extras, directly or not, on this platform."""
    found: set[tuple[str, str]] = set()
    open_ends = [(root, extra) for extra in ("", *extras)]
    while open_ends:
        name, extra = open_ends.pop()
        for need in map(Requirement, distribution(name).requires or []):
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                ends = {(canonicalize_name(need.name), asked) for asked in ("", *need.extras)}
                open_ends += ends - found
                found |= ends
    return {name for name, _ in found} - {root}


def license_of(package: Distribution) -> str:
    """License of a package: the expression in its metadata, or its classifiers, or the text that stands for them."""
    metadata = package.metadata
    expression = READ_BY_HAND.get(metadata["Name"]) or metadata.get("License-Expression")
    if expression:
        return str(expression)
    classifiers = [one.split(" :: ")[-1] for one in metadata.get_all("Classifier", []) if one.startswith("License :: ")]
    names = classifiers or [(metadata.get("License") or "unknown").split("\n")[0]]
    return " AND ".join(DECLARED.get(name, name) for name in names)


def is_compatible(expression: str, accepted: set[str]) -> bool:
    """Whether a package under these licenses may be used; OR leaves the choice, AND does not."""
    return any(all(one in accepted for one in choice.split(" AND ")) for choice in expression.split(" OR "))


def licenses() -> list[tuple[str, str, int]]:
    """License, name and column of the table, 0 to 2, of every package."""
    every = tuple(distribution("ciabench").metadata.get_all("Provides-Extra", []))
    run, users, all_of_them = (required("ciabench", extras) for extras in ((), USERS, every))
    columns = ((name, 0 if name in run else 1 if name in users else 2) for name in all_of_them)
    return sorted((license_of(distribution(name)), name, column) for name, column in columns)


def refused(found: list[tuple[str, str, int]]) -> list[str]:
    """Packages whose license is unknown or not compatible; what users install must not even ask for source."""
    return [
        f"{name}: {expression}"
        for expression, name, column in found
        if not is_compatible(expression, PERMISSIVE if column < 2 else PERMISSIVE | WITH_SOURCE)
    ]


def table() -> str:
    """All packages in a table in Markdown, by their license."""
    extras = ", ".join(USERS)
    lines = [f"| license | needed to run | for {extras} | for tests, benchmarks and the site |", "|---|---|---|---|"]
    for expression, group in groupby(licenses(), key=lambda one: one[0]):
        members = list(group)
        cells = (", ".join(name for _, name, column in members if column == place) for place in range(3))
        lines.append(f"| {expression} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
    if incompatible := refused(licenses()):
        sys.exit(f"unknown, or not compatible with BSD-3-Clause: {'; '.join(incompatible)}")
