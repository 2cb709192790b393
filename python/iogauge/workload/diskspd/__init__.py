"""DiskSpd's command lines: read as jobs, and written from jobs."""
