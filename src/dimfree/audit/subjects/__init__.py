"""What is sampled: every mechanism and every way to release, as functions from a table to numbers."""
