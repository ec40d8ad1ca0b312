"""Licenses of all dependencies are known, and go together with BSD-3-Clause."""

import sys
from importlib.metadata import Distribution
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pytest

LICENSES = SimpleNamespace(**run_path(Path(__file__).parents[1] / "docs" / "licenses.py"))


def test_licenses_of_all_dependencies_are_compatible():
    found = LICENSES.licenses()
    assert {("markupsafe", 0), ("pyarrow", 1), ("pytest", 2)} <= {(name, column) for _, name, column in found}
    assert LICENSES.refused(found) == []


def installed(folder, name, *lines):
    """Metadata of a package, where packages are found."""
    (folder / f"{name}-1.dist-info").mkdir()
    text = "\n".join(["Metadata-Version: 2.4", f"Name: {name}", "Version: 1", *lines])
    (folder / f"{name}-1.dist-info" / "METADATA").write_text(f"{text}\n")
    return Distribution.at(folder / f"{name}-1.dist-info")


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("License-Expression: MIT", [0, 2]),
        ("License-Expression: GPL-3.0-only OR MIT AND Zlib", [0, 2]),
        ("License: Apache 2.0\nClassifier: License :: OSI Approved :: Apache Software License", [0, 2]),
        ("License-Expression: MPL-2.0 AND MIT", [2]),
        ("License-Expression: MIT AND GPL-3.0-only", []),
        ("License: BSD\nClassifier: License :: OSI Approved :: GNU General Public License (GPL)", []),
        ("License: all rights reserved", []),
        ("Summary: says nothing", []),
    ],
)
def test_a_license_is_read_and_judged(tmp_path, line, columns):
    expression = LICENSES.license_of(installed(tmp_path, "some", line))
    accepted = [column for column in (0, 2) if not LICENSES.refused([(expression, "some", column)])]
    assert accepted == columns


def test_dependencies_of_dependencies_and_of_their_extras_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    installed(tmp_path, "first", "Requires-Dist: The_Second[more]", 'Requires-Dist: absent; python_version < "3"')
    needs = 'Requires-Dist: third; extra == "more"', 'Requires-Dist: absent; extra == "other"', "Requires-Dist: first"
    installed(tmp_path, "the_second", *needs)
    installed(tmp_path, "third")
    assert LICENSES.required("first", ()) == {"the-second", "third"}
