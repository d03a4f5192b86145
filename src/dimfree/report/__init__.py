"""An HTML page about a release: what was promised, spent and released, and how to read it. Public numbers only."""
