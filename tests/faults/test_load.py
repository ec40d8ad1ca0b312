"""Small forms of `load.py`; times and memory are measured by `make soak`."""

import pytest
from harness import asked
from load import filled, measure_leak

from ciabench.findings import curves
from ciabench.lab.storage import rows as storage


def test_rows_are_the_same_in_small_pieces_and_in_one(tmp_path, monkeypatch):
    path = filled(tmp_path, 60)
    whole = storage.read(path).rows
    intervals = curves.learning_curves(whole)
    monkeypatch.setattr(storage, "CHUNK", 7)
    monkeypatch.setattr(curves, "MOST_COUNTS", 35)
    assert storage.read(path).rows.equals(whole)
    assert curves.learning_curves(whole).round(12).equals(intervals.round(12))
    assert "cells   60 of 60\n" in asked("status", path).stdout


@pytest.mark.soak
def test_memory_of_driver_workers_and_guards_is_measured(capsys):
    measure_leak(100, workers=1)
    assert capsys.readouterr().out.startswith("100 cells with a no-op learner: driver ")
