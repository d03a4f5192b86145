"""A climb over pairs of tables towards the one that tells most."""
