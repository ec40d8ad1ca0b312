"""Every Python block of the README runs."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=[block.splitlines()[-1][:40] for block in BLOCKS])
def test_python_block_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, README.name, "exec"), {"__name__": "__main__"})


def test_first_example_prints_what_readme_and_start_page_say(capsys):
    exec(compile(BLOCKS[0], README.name, "exec"), {"__name__": "__main__"})
    printed = re.findall(r"T = (\d\.\d{3})", capsys.readouterr().out)
    em, winnow = printed
    assert f"# EM: {em}, Winnow: {winnow}" in README.read_text(encoding="utf-8")
    start = (README.parent / "docs" / "start.md").read_text(encoding="utf-8")
    assert f"It prints T = {em} for EM and {winnow} for Winnow" in start
