"""Plans, estimates, runs and resumes reviews, lengthens their steps, and imports the results of other programs."""
