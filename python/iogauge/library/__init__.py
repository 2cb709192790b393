"""What ``import iogauge`` offers: what the command line can do, as functions that return objects.

Each public function has a file of its own. The commands parse options, call these functions and print, so both refuse
the same with the same errors. Nothing here prints or ends the process. ``iogauge/__init__.py`` names what is public.
"""
