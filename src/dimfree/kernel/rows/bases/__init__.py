"""Public coordinates in which the noise may be shaped: rotations of each record by itself, undone in the release."""
