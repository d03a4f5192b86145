"""One currency: Gaussian precision, plus the bit of the stability test."""
