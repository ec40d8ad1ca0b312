"""`python -m ciabench.cli` is the same as `ciabench`."""

from ciabench.cli import main

main()
