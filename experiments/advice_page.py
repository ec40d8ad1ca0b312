"""What the scripts about advice share: lines of a file that grows, and the marked parts of their page."""

import json
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "science" / "advice.md"


def lines_of(out: Path) -> list[dict[str, Any]]:
    """Lines that are finished; one that was cut short is left out."""
    text = out.read_text(encoding="utf-8") if out.exists() else ""
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def append(out: Path, line: dict[str, Any]) -> None:
    """Add a line."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def write_part(mark: str, text: str) -> None:
    """Put a text between two marks of the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    after = rest.partition(f"<!-- /{mark} -->")[2]
    PAGE.write_text(f"{before}<!-- {mark} -->\n\n{text}\n\n<!-- /{mark} -->{after}", encoding="utf-8")
