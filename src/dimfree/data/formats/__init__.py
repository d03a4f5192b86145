"""Readers of files, block by block, again on every pass; `file_stream` has what they share."""
