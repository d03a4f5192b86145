"""How long the costly steps take, against a plain matrix product in the same run."""
