"""Accuracy and speed, measured. `results/` is written by these commands only, never by hand."""
