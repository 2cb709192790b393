"""Plans, starts, ends and resumes reviews for the pages: the request, what its user has to type, and the process."""

from iogauge.web.starting.starter import Started, Starter

__all__ = ["Started", "Starter"]
