"""iogauge measures how a storage drive responds under load, and says how sure it is."""

__version__ = "0.1.0"
