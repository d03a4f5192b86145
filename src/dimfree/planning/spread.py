"""Standard deviations of the columns of records that do not exist yet: by name, by numbers, or of a public table."""

import math

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_count, check_lengths, check_magnitude, check_variances
from dimfree.data.records import as_records
from dimfree.errors import InvalidParameter
from dimfree.planning.spectra import SMALLEST
from dimfree.planning.spectra import spectrum as named

GIVEN = "given standard deviations"  # the name of a spectrum that has none
ANY_UNITS = "any units"  # where every column counts by its own spread


def stddevs_of_public(table: object) -> Floats:
    """The standard deviations of the columns of a public table; a constant column gets a tiny one.

    The numbers are exact and not private, so the table has to be public.
    """
    with np.errstate(all="ignore"):  # what overflows is refused in the next line
        stddevs = public_rows(table).std(axis=0)
    if not 0 < stddevs.max() < math.inf:
        raise InvalidParameter("Expected the public table to vary, in units that fit floating-point numbers.")
    return np.maximum(stddevs, SMALLEST * stddevs.max())


def public_rows(table: object) -> Floats:
    """The rows of any table that `release_mean` accepts; every entry has to be finite."""
    records = as_records(table)
    if not records.count:
        raise InvalidParameter("Expected the public table to have rows.")
    blocks = list(records.blocks())
    if not all(valid.all() for _, valid in blocks):
        raise InvalidParameter("Expected the public table to be finite in every entry: drop the other rows.")
    return np.concatenate([rows for rows, _ in blocks])


def spread_of(spectrum: object, dimension: int | None) -> tuple[Floats, str]:
    """(standard deviations, name): of a named spectrum in so many dimensions, or as given."""
    if isinstance(spectrum, str) and spectrum == ANY_UNITS:
        return np.ones(check_count("d", dimension)), ANY_UNITS
    if isinstance(spectrum, str):
        return named(spectrum, dimension), spectrum  # type: ignore[arg-type]  # None is refused there, in words
    spread = check_magnitude("spectrum", check_variances("spectrum", spectrum))
    if dimension is not None:
        check_lengths("spectrum", len(spread), "column", dimension)
    return np.asarray(spread), GIVEN
