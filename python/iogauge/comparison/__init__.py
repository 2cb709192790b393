"""Compares saved reviews figure by figure, says what differs, and compares drives with published figures."""
