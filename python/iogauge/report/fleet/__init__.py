"""What people see of a fleet: sentences, a screen of text, Markdown and a page, all written from ``view``.

``view`` has plain data alone: this package knows neither how a fleet is saved nor how its drives are judged.
"""
