"""From records to friend counts, weights and sensitivities. Everything here is private or public arithmetic: no noise."""
