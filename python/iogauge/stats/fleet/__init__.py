"""Which drives of a fleet are slow: arrays of measured batches in, findings out.

``slow.py`` is where to start. It gives no cause and reads no file.
"""
