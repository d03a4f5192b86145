"""Bits, order, texts, processes and time: where privacy leaks although the mathematics is right."""
