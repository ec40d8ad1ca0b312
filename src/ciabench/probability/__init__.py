"""Distributions on arrays: neither true models nor learning."""
