"""Worst pairs of neighbouring tables, by relation."""
