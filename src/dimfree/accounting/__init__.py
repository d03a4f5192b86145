"""Privacy accounting: costs as Gaussian precisions (mu²), plus the bit of the stability test."""
