"""Tunings of the machine measured: what each is worth, and which of them this machine can set."""
