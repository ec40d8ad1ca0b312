"""Compiled kernels are made anew when what they are made of has changed."""

import os

from ciabench.learners import base


def test_kernels_older_than_their_sources_are_dropped(tmp_path, monkeypatch):
    old, new = tmp_path / "old.nbi", tmp_path / "new.nbi"
    for index in (old, new):
        index.touch()
    os.utime(old, (0, 0))
    monkeypatch.setattr(base, "kept_kernels", lambda: [old, new])
    base.drop_old_kernels()
    assert not old.exists()
    assert new.exists()
