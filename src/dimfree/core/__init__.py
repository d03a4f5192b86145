"""From records to friend counts, weights and sensitivities: private or public arithmetic, no noise of its own."""
