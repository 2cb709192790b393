"""A local page over saved reviews and running measurements: one more way to draw what the library returns.

``app`` puts the views together, ``guard`` decides which requests they may see, ``server`` runs both in a process of low
priority. The server makes every page, and a script only adds what a page cannot do alone; so a view is a link, and one
file without a server has the same content.
"""
