"""The HTML report of a release: results, guarantee, charges and method. Public numbers only."""
