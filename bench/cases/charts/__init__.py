"""How long charts take: as files, and on a report's page."""
