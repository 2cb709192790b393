"""Charts of one drive, all of whose steps follow one another on one clock."""
