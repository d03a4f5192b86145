"""How close the estimators come to an oracle that knows the mean."""
