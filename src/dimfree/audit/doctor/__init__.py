"""Is this installation fit to make promises? Versions, entropy, floating point, samplers. No data are read."""
