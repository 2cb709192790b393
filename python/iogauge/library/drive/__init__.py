"""What a drive says of itself, for people and programs.

``info`` is the result, ``answer`` its sentence; ``sections`` and ``nvme_sections`` are what is printed below it.
"""
