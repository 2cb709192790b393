"""The Solid State Storage Performance Test Specification (PTS) of SNIA: its tests, and the rules that they share."""
