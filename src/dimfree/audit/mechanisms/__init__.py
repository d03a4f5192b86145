"""One file per mechanism: its exact divergences, search targets, samplers, charges and canaries."""
