"""The promise, checked from outside: neighbours, exact laws, sampled bounds, numerics. `dimfree audit` runs it."""
