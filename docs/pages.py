"""What the site makes by itself: cards of the pages in a folder, the gallery, the public names, the commands."""

import base64
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import click
from docutils import nodes
from licenses import table
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

import ciabench
from ciabench.cli import main

HERE = Path(__file__).parent
NOTEBOOKS = HERE.parent / "experiments"
GALLERY = HERE / "gallery"
ROOMS = {"world": "Worlds", "learners": "Learners", "encoder": "Tables", "lab": "Experiments", "findings": "Findings"}
"""Titles of the packages that public names come from; another package appears under its own name."""

HOOKS = ("check_training_data", "check_next_data", "check_rows", "set_rule", "start", "learn")
"""Methods for authors of learners, described in `learners/base.py`."""


class Commands(SphinxDirective):
    """Help of every command, as it is printed in a shell."""

    def run(self) -> list[nodes.Node]:
        """Ask click for the help of one command after the other."""
        sections = []
        for name, command in main.commands.items():
            context = click.Context(command, info_name=f"ciabench {name}", max_content_width=80, terminal_width=80)
            context.help_option_names = ["-h", "--help"]
            sections.append(f"## ciabench {name}\n\n```text\n{command.get_help(context)}\n```\n")
        return self.parse_text_to_nodes("\n".join(sections), allow_section_headings=True)


class Licenses(SphinxDirective):
    """Table of the licenses of all dependencies."""

    def run(self) -> list[nodes.Node]:
        """Read them from the installed packages."""
        return self.parse_text_to_nodes(table())


class Card(NamedTuple):
    """A page, as its folder's first page presents it."""

    name: str
    title: str
    sentence: str
    picture: str | None


class Cards(SphinxDirective):
    """Cards of all other pages and notebooks in the folder of this page, the names in its content first."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Read the title, the first sentence and, of a notebook, the last picture of each file."""
        here = Path(self.env.doc2path(self.env.docname))
        files = [file for file in here.parent.iterdir() if file.suffix in (".md", ".ipynb") and file != here]
        first = {name: place for place, name in enumerate(self.content)}
        files.sort(key=lambda file: (first.get(file.stem, len(first)), file.stem))
        for file in files:
            self.env.note_dependency(str(file))
        contents = "\n".join(["```{toctree}", ":hidden:", "", *(file.stem for file in files), "```"])
        cards = "\n".join(_text(_card(file)) for file in files)
        return self.parse_text_to_nodes(f"{contents}\n\n::::{{grid}} 1 1 2 2\n:gutter: 3\n\n{cards}\n::::\n")


def _card(file: Path) -> Card:
    """Card of a page or notebook."""
    if file.suffix == ".md":
        return Card(file.stem, *_beginning(file.read_text(encoding="utf-8")), None)
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    pictures = [
        output["data"]["image/png"]
        for cell in cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    if pictures:
        _write(file.with_suffix(".png"), base64.b64decode("".join(pictures[-1])))
    return Card(file.stem, *_beginning("".join(cells[0]["source"])), f"{file.stem}.png" if pictures else None)


def _beginning(text: str) -> tuple[str, str]:
    """Title and first sentence of a page in Markdown."""
    found = re.search(r"^# (.+?)\n+(.+?)(?:\n\n|\Z)", text, flags=re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError(f"a page begins with a title and a sentence; this one begins with {text[:60]!r}")
    paragraph = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", " ".join(found[2].split()))
    return found[1], re.split(r"(?<=[.?!:]) ", paragraph)[0].removesuffix(":")


def _text(card: Card) -> str:
    """A card in Markdown."""
    picture = [f":img-top: {card.picture}", f":img-alt: A picture of {card.title}"] if card.picture else []
    lines = [f":::{{grid-item-card}} {card.title}", f":link: {card.name}", ":link-type: doc", *picture]
    return "\n".join([*lines, "", card.sentence, ":::", ""])


def write_sources(app: Sphinx, config: Config) -> None:
    """Put the notebooks into the gallery, and the public names into a file for autosummary."""
    notebooks = {GALLERY / file.name: file for file in NOTEBOOKS.glob("*.ipynb")}
    for stale in set(GALLERY.glob("*.ipynb")) - set(notebooks):
        stale.unlink()
    for copy, notebook in notebooks.items():
        _write(copy, notebook.read_bytes())
    _write(HERE / "_public_names.rst", public_names().encode())


def public_names() -> str:
    """Tables of the public names, package by package."""
    names: dict[str, list[str]] = {room: [] for room in ROOMS}
    for name in sorted(set(ciabench.__all__) - {"__version__"}):
        names.setdefault(getattr(ciabench, name).__module__.split(".")[1], []).append(name)
    lines = [".. currentmodule:: ciabench", ""]
    for room, found in names.items():
        title = ROOMS.get(room, room.capitalize())
        lines += [title, "-" * len(title), "", ".. autosummary::", "   :toctree: api", "   :nosignatures:", ""]
        lines += [*(f"   {name}" for name in found), ""]
    return "\n".join(lines)


def _write(path: Path, content: bytes) -> None:
    """Write a file unless it is there already, so that only changed pages are built again."""
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def skip_foreign(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Of a class, show the methods and properties that are written in this package and not hooks."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    is_ours = str(getattr(function, "__module__", "")).startswith("ciabench")
    is_method = callable(function) and "." in getattr(function, "__qualname__", "")
    return None if is_ours and is_method and name not in HOOKS else True


def mend_roles(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """References have the role of entries in a bibliography, which must not be in a list."""
    context["body"] = context.get("body", "").replace('<div role="list" class="citation-list">', "<div>")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_directive("cards", Cards)
    app.add_directive("commands", Commands)
    app.add_directive("licenses", Licenses)
    app.connect("config-inited", write_sources)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("html-page-context", mend_roles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
