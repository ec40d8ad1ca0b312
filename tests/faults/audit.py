"""Audit the pinned versions with pip-audit; if no vulnerability database can be reached, say so and audit nothing."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PINS = Path(__file__).parents[2] / "constraints.txt"
SECONDS = "5"


def audited(pins):
    """Run pip-audit on some pins; one entry per package, with its vulnerabilities or why it was skipped."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(pins))
        file.flush()
        options = ["--no-deps", "--disable-pip", "--progress-spinner", "off", "--timeout", SECONDS, "-f", "json"]
        command = [sys.executable, "-m", "pip_audit", "-r", file.name, *options]
        process = subprocess.run(command, capture_output=True, text=True)
    return json.loads(process.stdout)["dependencies"] if process.stdout else []


def main():
    """Audit one pin to see whether that is possible, then all."""
    pins = PINS.read_text(encoding="utf-8").split()
    if not any("vulns" in package for package in audited(pins[:1])):
        print("pip-audit: no vulnerability database can be reached; nothing was audited.")
        return
    found = audited(pins)
    known = [package for package in found if package.get("vulns")]
    skipped = [package["name"] for package in found if "vulns" not in package]
    for package in known:
        print(package["name"], package["version"], ", ".join(one["id"] for one in package["vulns"]))
    print(f"pip-audit: {len(found) - len(skipped)} pins audited, {len(skipped)} skipped, {len(known)} vulnerable.")
    sys.exit(1 if known else 0)


if __name__ == "__main__":
    main()
