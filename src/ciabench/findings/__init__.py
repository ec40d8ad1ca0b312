"""Rows of results → curves, claims, figures, regressions."""
