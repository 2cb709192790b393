"""Running jobs once: what is asked for, what is logged meanwhile, and what was measured."""
