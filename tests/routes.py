"""How tests call a release: expert options flat, by the stable core, with small pilot samples."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any
from unittest.mock import patch

from dimfree import Options
from dimfree.request import Request

EXPERT = tuple(field.name for field in fields(Options))


def with_options(**flat: Any) -> dict[str, Any]:
    """The keywords of a release: with_options(tails="gaussian") is {"options": Options(tails="gaussian")}."""
    expert = {name: flat.pop(name) for name in EXPERT if name in flat}
    return {**flat, "options": Options(**expert)} if expert else flat


@contextmanager
def through_the_core() -> Iterator[None]:
    """Without the branch of the per-column program."""
    with patch.object(Request, "by_columns", return_value=None):
        yield


@contextmanager
def early_samples(records: int) -> Iterator[None]:
    """Everything before the last look sees about so many records, or as many as core_sample, where there are more."""
    with patch.multiple(
        "dimfree.programs.choose.constants", PILOT_SAMPLE_SNR=0.0, MIN_PILOT_SAMPLE=records, MIN_SAMPLING_GAIN=1.0
    ):
        yield
