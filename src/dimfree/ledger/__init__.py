"""A persistent budget for one data set: every release is charged, and committed to disk, before it draws noise."""
