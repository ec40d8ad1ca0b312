"""Rows of results → curves, claims, figures, regression tests."""
