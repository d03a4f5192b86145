"""A persistent budget for one data set: every release is charged, on disk, before it draws noise."""
