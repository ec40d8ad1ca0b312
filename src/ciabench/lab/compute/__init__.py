"""How cells are computed: one trial, guarded learners, workers and clusters."""
