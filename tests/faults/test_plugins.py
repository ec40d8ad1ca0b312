"""Misbehaving learners fail their own scores, with the cause; every other number is the same to the last bit."""

from functools import partial
from pathlib import Path

import pytest
from harness import TOML, asked, refusal
from plugins import CAUSES, WELL, failures_among

from ciabench.lab.plan import registry


@pytest.mark.soak
def test_misbehaving_learners_fail_alone_and_with_the_cause(tmp_path):
    failures, scored = failures_among(tmp_path, [*CAUSES, *WELL], trials=1, sizes=[30], time_limit=5.0)
    assert {one.learner: one.cause[: len(CAUSES[one.learner])] for one in failures} == CAUSES
    assert scored == {*WELL, "NaiveBayes", "Random"}


@pytest.mark.parametrize(("name", "code", "cause"), [
    ("hangs_at_import", "import time; time.sleep(3600)", "importing 'hangs_at_import' did not finish within 3 s."),
    ("crashes_at_import", "import os; os.abort()", "importing 'crashes_at_import' kills its process by SIGABRT."),
    ("leaves_at_import", "import os; os._exit(3)", "importing 'leaves_at_import' ends its process with exit code 3."),
    ("exits_at_import", "raise SystemExit", "'exits_at_import:Any' cannot be imported; SystemExit: ."),
])  # fmt: skip
def test_a_plug_in_that_cannot_be_imported_costs_one_line(tmp_path, monkeypatch, name, code, cause):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "import_foreign", partial(registry.import_foreign, time_limit=3.0))
    Path(f"{name}.py").write_text(code)
    Path("faults.toml").write_text(TOML.replace('"Perceptron"', f'"{name}:Any"'))
    assert refusal(asked("run", "faults.toml")) == f"Error: faults.toml: learners[1]: {cause}"
    assert not Path("results").exists()
