"""A release by the stable core, of a table that the public rule would read column by column."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from dimfree.request import Request


@contextmanager
def through_the_core() -> Iterator[None]:
    """Without the branch of the per-column program."""
    with patch.object(Request, "by_columns", return_value=None):
        yield
