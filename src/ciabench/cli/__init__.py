"""The command line: parses arguments, calls the library, prints. Heavy imports wait until a command needs them."""

from ciabench.cli import advice, experiments, results, tools
from ciabench.cli.group import main

__all__ = ["advice", "experiments", "main", "results", "tools"]
