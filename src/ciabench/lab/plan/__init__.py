"""What an experiment asks for: its file, its learners and worlds, and the cells to compute."""
