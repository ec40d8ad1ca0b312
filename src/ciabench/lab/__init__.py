"""The lab: declare an experiment, run its trials anywhere, keep every row."""
