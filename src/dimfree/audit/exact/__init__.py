"""The true divergence of the code on small tables, without sampling."""
