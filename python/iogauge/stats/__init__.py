"""Pure functions from measured arrays to figures with intervals. They read no file and print nothing."""
