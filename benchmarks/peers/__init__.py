"""Estimators of other authors with the parameters of `release_mean`, at equal privacy, with exact accounting."""
