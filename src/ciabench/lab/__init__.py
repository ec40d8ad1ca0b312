"""The lab: declare experiments, run their trials anywhere, store every row."""
