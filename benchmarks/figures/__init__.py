"""The paper's claims as figures: each one a picture, the numbers behind it, and a sentence on what was measured."""
