"""Write docs/cli.md from the commands and docs/api.md from the docstrings: `python docs/generate.py`."""

import inspect
import re
from pathlib import Path
from typing import Any

import click

import ciabench
from ciabench import errors
from ciabench.cli import main

FOLDER = Path(__file__).parent
ROOMS = {"world": "Worlds", "learners": "Learners", "lab": "Experiments", "findings": "Findings"}
HOOKS = ("check_training_data", "check_next_data", "check_rows", "set_rule", "start", "learn")
"""Methods for authors of learners, described in `learners/base.py`."""

NOTE = "<!-- Written by docs/generate.py; do not edit. -->"


def cli_page() -> str:
    """Help of every command."""
    codes = "Exit codes: 0 success; 1 a negative result, such as a failed score or a changed curve; 2 bad input."
    lines = ["# The command line", "", NOTE, "", codes]
    for name, command in main.commands.items():
        context = click.Context(command, info_name=f"ciabench {name}", max_content_width=100, terminal_width=100)
        context.help_option_names = ["-h", "--help"]
        lines += ["", f"## ciabench {name}", "", "```text", command.get_help(context), "```"]
    return "\n".join(lines) + "\n"


def api_page() -> str:
    """Docstrings of the public names, package by package, and of the errors."""
    lines = ["# The public names", "", NOTE, "", "All are imported from `ciabench`; the errors from `ciabench.errors`."]
    for room, title in ROOMS.items():
        lines += ["", f"## {title}"]
        for name in sorted(ciabench.__all__[1:]):
            thing = getattr(ciabench, name)
            if thing.__module__.startswith(f"ciabench.{room}."):
                lines += _entry(name, thing)
    found = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.CIABenchError)]
    lines += ["", "## Errors", ""]
    lines += [f"- `{one.__name__}`: {inspect.getdoc(one).splitlines()[0]}" for one in found]
    return "\n".join(lines) + "\n"


def _entry(name: str, thing: Any) -> list[str]:
    """A public name with its docstring and, of a class, its public methods."""
    lines = ["", f"### {name}", "", "```text", f"{name}{_signature(thing)}", "```", "", *_markdown(thing)]
    for method, made in inspect.getmembers(thing) if isinstance(thing, type) else []:
        if not method.startswith("_") and method not in HOOKS and made.__doc__ and _is_ours(made):
            lines += ["", f"#### {name}.{method}", ""]
            lines += ["```text", f"{method}{_signature(made)}", "```", ""] if callable(made) else []
            lines += _markdown(made)
    return lines


def _is_ours(member: Any) -> bool:
    """Whether a method or property is written in this package."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    return callable(function) and getattr(function, "__module__", "").startswith("ciabench")


def _signature(thing: Any) -> str:
    """Parameters and defaults, without types, which the docstring gives."""
    found = [one for one in inspect.signature(thing).parameters.values() if one.name != "self"]
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in found]
    return re.sub(r"<function (\w+) at 0x\w+>", r"\1", str(inspect.Signature(plain)))


def _markdown(thing: Any) -> list[str]:
    """Docstring in numpydoc as Markdown: sections in bold, entries as a list, examples as code."""
    text = inspect.getdoc(thing) or ""
    parts = re.split(r"^(\w[\w ]*)\n-+$", text, flags=re.MULTILINE)
    lines = _body("", parts[0])
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        lines += ["", f"**{title}**", "", *_body(title, body)]
    return lines


def _body(title: str, body: str) -> list[str]:
    """Lines of one section."""
    lines = body.strip("\n").rstrip().splitlines()
    if title == "Examples":
        return ["```pycon", *lines, "```"]
    if title in ("Parameters", "Attributes", "Returns"):
        return [re.sub(r"^(\S[^:]*?)( : (.*))?$", _item, line) for line in lines]
    return [re.sub(r"^\.\. \[(\d+)\] ", r"\1. ", line) for line in lines]


def _item(found: re.Match[str]) -> str:
    """First line of a list item: a name in code, and its type."""
    return f"- `{found[1]}`" + (f" : {found[3]}  " if found[3] else "  ")


if __name__ == "__main__":
    (FOLDER / "cli.md").write_text(cli_page(), encoding="utf-8")
    (FOLDER / "api.md").write_text(api_page(), encoding="utf-8")
