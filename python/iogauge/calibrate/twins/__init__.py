"""How a twin is fitted: the solver, and how long a step of a review runs on the model."""
