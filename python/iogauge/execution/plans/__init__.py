"""The plan of a run that the core gets: from jobs, their targets and the CPUs of their workers."""
