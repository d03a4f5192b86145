"""Standard deviations of the columns of records that do not exist yet: by name, by numbers, or of a public table."""

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_count, check_dimension, check_magnitude, check_variances
from dimfree.comparison.spectra import spectrum as named
from dimfree.comparison.worlds import PublicTable

GIVEN = "given standard deviations"  # the name of a spectrum that has none
ANY_UNITS = "any units"  # where every column counts by its own spread


def stddevs_of_public(table: object) -> Floats:
    """The standard deviations of the columns of a public table; a constant column gets a tiny one.

    The numbers are exact and not private, so the table has to be public.
    """
    return PublicTable.of(table).priors.stddevs


def spread_of(spectrum: object, dimension: int | None) -> tuple[Floats, str]:
    """(standard deviations, name): of a named spectrum in so many dimensions, or as given."""
    if isinstance(spectrum, str) and spectrum == ANY_UNITS:
        return np.ones(check_count("d", dimension)), ANY_UNITS
    if isinstance(spectrum, str):
        return named(spectrum, dimension), spectrum  # type: ignore[arg-type]  # None is refused there, in words
    spread = check_magnitude("spectrum", check_variances("spectrum", spectrum))
    if dimension is not None:
        check_dimension("spectrum", len(spread), dimension)
    return np.asarray(spread), GIVEN
