"""Distributions on arrays: no truth, no learning."""
