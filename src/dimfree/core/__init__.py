"""Friend counts, weights and sensitivities of the records. Private arithmetic; no noise is added here."""
