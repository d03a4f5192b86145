"""Flags are shown as flags in --help: typer writes <bool> beside them, as if a value had to follow."""

from typing import Any

import typer.core


class PlainCommand(typer.core.TyperCommand):
    """A command whose flags have no placeholder for a value."""

    def get_params(self, ctx: Any) -> Any:
        return _plain(super().get_params(ctx))


class PlainGroup(typer.core.TyperGroup):
    """A group of commands whose flags have no placeholder for a value."""

    def get_params(self, ctx: Any) -> Any:
        return _plain(super().get_params(ctx))


def _plain(parameters: Any) -> Any:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters
