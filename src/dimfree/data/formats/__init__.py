"""Files read block by block, again on every pass: `file_stream` has what all of them share."""
