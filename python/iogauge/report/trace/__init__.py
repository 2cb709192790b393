"""What people read of a trace: its answer on one screen, and its charts."""
