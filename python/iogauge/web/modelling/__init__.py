"""What-if questions about drive models: asked by a form, answered by a process of their own, one at a time."""
