"""What a drive says of itself while a run lasts: its readings, the samples of a run, and whether it throttled."""
