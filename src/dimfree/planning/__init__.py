"""Plans of releases: the predicted error, or the n, d or epsilon that an error needs. Nothing here reads a table."""
