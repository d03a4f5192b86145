"""Privacy accounting: costs as Gaussian precisions (mu²), and the bit of the stability test."""
