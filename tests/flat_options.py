"""Arguments of a release as tests write them: one flat mapping, whose expert options become one `Options`."""

from dataclasses import fields
from typing import Any

from dimfree import Options

EXPERT = tuple(field.name for field in fields(Options))


def with_options(**flat: Any) -> dict[str, Any]:
    """The keywords of a release: with_options(tails="gaussian") is {"options": Options(tails="gaussian")}."""
    expert = {name: flat.pop(name) for name in EXPERT if name in flat}
    return {**flat, "options": Options(**expert)} if expert else flat
