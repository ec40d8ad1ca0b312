import os
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse

from ciabench.errors import ExperimentError
from ciabench.lab.compute import guard as guard_module
from ciabench.lab.compute.fitting import Bench, FitError
from ciabench.lab.compute.guard import Guard
from ciabench.lab.plan.imports import import_foreign
from ciabench.lab.plan.learner import resolve

X = np.array([[0, 1], [1, 0], [1, 1]], dtype=np.uint8)
Y = np.array([0, 1, 1], dtype=np.uint8)
CLASSES = np.array([0, 1], dtype=np.uint8)


@pytest.fixture
def guard():
    with Guard(time_limit=60) as opened:
        yield opened


def fit(guard, use, **params):
    return guard.fit(resolve(f"hostile:{use}", use, params), 0, X, Y, CLASSES)


def test_a_death_is_reported_and_the_next_fit_succeeds(guard):
    with pytest.raises(FitError, match="its process was killed by SIGSEGV"):
        fit(guard, "Crashes")
    with pytest.raises(FitError, match="its process was killed by signal 35"):
        fit(guard, "DiesBySignal35")
    fit(guard, "Majority")
    np.testing.assert_array_equal(guard.predict(X), [1, 1, 1])


def test_a_hang_ends_at_the_time_limit_even_if_it_holds_the_interpreter(guard, capfd):
    fit(guard, "Majority")
    guard.time_limit = 0.3
    started = time.perf_counter()
    with pytest.raises(FitError, match=r"exceeded the time limit of 0.3 s"):
        fit(guard, "HangsInC")
    assert time.perf_counter() - started < 20
    guard.time_limit = 60
    fit(guard, "Prints")
    assert capfd.readouterr() == ("", "")


def test_one_child_serves_many_fits_and_ends_with_its_guard(guard):
    fit(guard, "Majority")
    process = guard._child.process
    fit(guard, "Random")
    assert guard._child.process is process
    guard.close()
    assert process.returncode is not None


@pytest.mark.parametrize(
    ("use", "params", "cause"),
    [
        ("AnswersNonsense", {}, "it is too long"),
        ("AnswersHalf", {}, "it stopped halfway"),
        ("AnswersNothing", {"length": 0}, "EOFError"),
        ("AnswersNothing", {"length": -7}, "EOFError"),
    ],
)
def test_what_a_learner_writes_to_the_connection_is_nonsense(guard, use, params, cause, monkeypatch):
    monkeypatch.setattr(guard_module, "STALL_LIMIT", 1.0)
    with pytest.raises(FitError, match=f"its process sent an invalid reply; {cause}"):
        fit(guard, use, **params)
    fit(guard, "Majority")
    np.testing.assert_array_equal(guard.predict(X), [1, 1, 1])


def test_a_learner_that_closes_the_connection_fails(guard, monkeypatch):
    monkeypatch.setattr(guard_module, "BURIAL_SECONDS", 0.5)
    with pytest.raises(FitError, match="its process closed the connection"):
        fit(guard, "ClosesAll")


def test_a_process_that_does_not_read_fails(guard, monkeypatch):
    monkeypatch.setattr(guard_module, "STALL_LIMIT", 1.0)
    fit(guard, "StopsReading")
    time.sleep(2)
    with pytest.raises(FitError, match="exceeded the time limit"):
        guard.predict(np.zeros((10_000_000, 2), dtype=np.uint8))


def test_an_interrupted_call_leaves_no_reply_behind(guard, monkeypatch):
    fit(guard, "Majority")
    process = guard._child.process

    def interrupt(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(guard._child, "receive", interrupt)
        with pytest.raises(KeyboardInterrupt):
            guard.predict(X)
    assert process.returncode is not None
    np.testing.assert_array_equal(guard.predict(X), [1, 1, 1])


@pytest.mark.parametrize("rows", [X, sparse.csr_array(X)], ids=["dense", "sparse"])
def test_a_guard_gives_what_a_bench_gives(guard, rows):
    learner = resolve("sklearn.naive_bayes:BernoulliNB", "bayes", {})
    y, classes = np.array(["yes", "no", "no"], dtype=object), np.array(["maybe", "no", "yes"], dtype=object)
    bench = Bench()
    reports = [one.fit(learner, 0, rows, y, classes) for one in (guard, bench)]
    assert reports[0]._replace(seconds=0) == reports[1]._replace(seconds=0) == (0, {}, True)
    codes = guard.predict(rows)
    assert codes.dtype == np.intp
    np.testing.assert_array_equal(codes, bench.predict(rows))
    np.testing.assert_array_equal(guard.predict_proba(rows), bench.predict_proba(rows))


def test_a_child_does_not_outlive_its_parent():
    code = (
        "import os, numpy as np; from test_guard import Guard, fit\n"
        "guard = Guard(60); fit(guard, 'Majority'); print(guard._child.process.pid, flush=True); os._exit(0)"
    )
    child = int(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout)
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{child}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{child}")


@pytest.fixture
def module(tmp_path, monkeypatch, request):
    """Write a module with a name of its own, and make it importable."""
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"foreign_{abs(hash(request.node.name))}"

    def write(code):
        (tmp_path / f"{name}.py").write_text(code)
        return name

    yield write
    sys.modules.pop(name, None)


def test_an_import_that_hangs_ends_with_all_that_it_started(module, tmp_path):
    name = module(
        "import subprocess, sys, time\n"
        "started = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(started.pid))\n"
        "time.sleep(3600)\n"
    )
    with pytest.raises(ExperimentError, match=f"importing '{name}' did not finish within 3 s"):
        import_foreign(name, time_limit=3.0)
    grandchild = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 20
    while _is_running(grandchild) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_running(grandchild)
    assert name not in sys.modules


def _is_running(process):
    try:
        with open(f"/proc/{process}/stat") as status:
            return status.read().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import ctypes; ctypes.string_at(0)", "kills its process by SIGSEGV"),
        ("import os; os._exit(0)", "ends its process with exit code 0"),
        ("import os; os._exit(3)", "ends its process with exit code 3"),
    ],
)
def test_an_import_that_kills_its_process_is_reported(module, code, cause):
    with pytest.raises(ExperimentError, match=cause):
        import_foreign(module(code))


@pytest.mark.parametrize(
    ("code", "error"), [("1 / 0", ZeroDivisionError), ("raise SystemExit(4)", SystemExit), ("(", SyntaxError)]
)
def test_an_import_that_raises_raises_here(module, code, error):
    with pytest.raises(error):
        import_foreign(module(code))
    with pytest.raises(ModuleNotFoundError):
        import_foreign("there_is_no_such_module")


def test_a_good_module_is_tried_silently_and_once(module, capfd, monkeypatch):
    name = module("import sys, threading, time; print('hello', file=sys.stderr); value = 3")
    assert import_foreign(name).value == 3
    assert capfd.readouterr().err == "hello\n"
    monkeypatch.setattr(subprocess, "Popen", None)
    assert import_foreign(name).value == 3
    assert import_foreign("sklearn.dummy").__name__ == "sklearn.dummy"
    del sys.modules[name]
    assert import_foreign(name).value == 3
