"""The five public spectra and draws from them: those of the package, so that nothing is measured on others."""

from dimfree._types import Floats
from dimfree.planning.spectra import DISTANCE, SMALLEST, SPECTRA, draw

__all__ = ["DISTANCE", "SMALLEST", "SPECTRA", "Floats", "draw"]
