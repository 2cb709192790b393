"""Twins: how they are fitted, the solver, and how long a step of a review runs on the model."""
