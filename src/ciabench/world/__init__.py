"""The truth: models that draw data, families of them, and exact scores."""
