"""Small forms of `load.py`; times and memory are measured by `make soak`."""

import pandas as pd
import pytest
from harness import asked
from load import filled, measure_leak

from ciabench.findings import curves
from ciabench.findings.curves import learning_curves
from ciabench.findings.digest import digest
from ciabench.lab.storage import blocks, tables
from ciabench.lab.storage import rows as storage
from ciabench.lab.storage.store import Store
from ciabench.lab.storage.view import View


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Store of sixty cells, ten of each of six worlds."""
    return filled(tmp_path_factory.mktemp("load"), 60)


def test_rows_are_the_same_in_small_blocks_and_in_one(path, monkeypatch):
    whole = storage.read(path).rows
    monkeypatch.setattr(blocks, "FIRST_CELLS", 2)
    monkeypatch.setattr(blocks, "ROWS_AT_ONCE", 50)
    assert storage.read(path).rows.equals(whole)


@pytest.mark.parametrize(("rows_of_part", "whole", "count"), [(1, 3, 18), (1, 10, 6), (200, 10, 3), (10_000, 10, 1)])
def test_parts_hold_whole_worlds_while_they_are_small(path, monkeypatch, rows_of_part, whole, count):
    monkeypatch.setattr(blocks, "FIRST_CELLS", 1)
    monkeypatch.setattr(blocks, "ROWS_AT_ONCE", 15)
    monkeypatch.setattr(storage, "ROWS_OF_PART", rows_of_part)
    parts = list(storage.parts(path, whole))
    rows = storage.read(path).rows
    together = pd.concat(parts, ignore_index=True).astype({column: rows[column].dtype for column in storage.TEXTS})
    pd.testing.assert_frame_equal(together, rows)
    assert len(parts) == count
    curves_in_one, curves_in_parts = learning_curves(rows), digest(parts).curves
    pd.testing.assert_frame_equal(curves_in_parts, curves_in_one, check_exact=whole == 10)


def test_above_the_limit_of_the_bootstrap_nothing_is_resampled(path, monkeypatch):
    monkeypatch.setattr(storage, "ROWS_OF_PART", 1)
    monkeypatch.setattr(curves, "MOST_RESAMPLED", 9)
    monkeypatch.setattr(curves, "_draws", None)
    found = digest(storage.parts(path, whole=3)).curves
    assert (found["trials"] == 10).all()
    assert found["pooled_low"].lt(found["pooled"]).all()


def test_status_counts_without_reading_scores(path, monkeypatch):
    monkeypatch.setattr(tables, "SHOWN_SCORES", "SELECT something else")
    assert asked("status", path).stdout == "cells   60 of 60\nscores  900 of 900 done, 0 failed\n"


def test_status_of_a_store_that_does_not_say_what_sizes_it_knows(path):
    with Store(path) as store:
        view = store.view()
        assert view.known_sizes == view.sizes
        store.view = lambda: View(**{**vars(view), "known_sizes": frozenset()})
        assert store.counts().done == 900


@pytest.mark.soak
def test_memory_of_driver_workers_and_guards_is_measured(capsys):
    measure_leak(100, workers=1)
    assert capsys.readouterr().out.startswith("100 cells with a no-op learner: driver ")
