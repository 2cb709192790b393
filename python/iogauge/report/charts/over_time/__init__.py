"""Draw one drive over time: all of its steps, one after the other, on one clock."""
