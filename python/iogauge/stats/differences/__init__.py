"""Whether two things differ, and by how much: of two sides, of the rungs of a ladder, of many tests at once."""
