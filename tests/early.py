"""Early samples of small tables: the public rule with other constants."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

CONSTANTS = "dimfree.programs.choose.constants"


@contextmanager
def early_samples(records: int) -> Iterator[None]:
    """Everything before the last look sees about so many records, or as many as core_sample, where there are more."""
    with patch.multiple(CONSTANTS, EARLY_STRENGTH=0.0, EARLY_LEAST=records, EARLY_WORTH=1.0):
        yield
