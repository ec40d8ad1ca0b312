import subprocess

import ciabench
from ciabench.lab.storage.provenance import git_state


def test_commit_and_changes_of_the_working_tree_are_known(tmp_path, monkeypatch):
    def git(*arguments):
        command = ["git", "-c", "user.name=someone", "-c", "user.email=someone@example.org", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    source = tmp_path / "src" / "ciabench" / "__init__.py"
    source.parent.mkdir(parents=True)
    source.touch()
    monkeypatch.setattr(ciabench, "__file__", str(source))
    assert git_state() == (None, None)
    git("init")
    git("add", ".")
    git("commit", "--message", "first")
    (source.parent / "untracked.py").touch()
    assert git_state() == (git("rev-parse", "HEAD"), False)
    source.write_text("changed = True\n")
    assert git_state() == (git("rev-parse", "HEAD"), True)
