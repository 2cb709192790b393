"""Whether a drive is good enough for a use: the criteria of a profile, judged by the intervals of saved figures."""
