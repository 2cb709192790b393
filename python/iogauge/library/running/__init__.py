"""One run of jobs: its request, its logs and its result."""
