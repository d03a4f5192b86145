"""Every estimator on the same public draws at the same budget: who is nearer to the mean, and what each was told."""
