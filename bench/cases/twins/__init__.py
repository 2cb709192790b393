"""Tests whether twins predict suites that they were not fitted to."""
