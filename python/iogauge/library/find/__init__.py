"""Find the most load that keeps a limit: ``limits`` reads the limits, ``search`` measures."""
