"""Where results are kept: stores, tables and their provenance."""
