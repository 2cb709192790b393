"""Cases about fleets."""
