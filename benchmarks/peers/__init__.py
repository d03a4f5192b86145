"""Estimators of other authors as plain functions `f(X, epsilon, delta, rng, **what it must be told)`, at equal privacy.

Each returns an array, or None where it refuses. Budgets are accounted exactly, from dimfree.accounting alone. The noise
is that of NumPy in floating point, and X is read many times: these are for public draws. They protect nobody.
"""
