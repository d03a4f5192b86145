"""A search over pairs of neighbouring tables for the one with the largest divergence."""
