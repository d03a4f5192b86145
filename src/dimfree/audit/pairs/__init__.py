"""Pairs of neighbouring tables that are worst cases, by relation."""
