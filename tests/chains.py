"""What a caller can get hold of after a call: every exception in its chain, and every warning."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from dimfree.errors import DimfreeError


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error with all that it names as cause or context, printed or not, and the members of groups."""
    waiting, seen = [error], set()
    while waiting:
        found = waiting.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        waiting += [found.__cause__, found.__context__, *getattr(found, "exceptions", ())]


def words(error: BaseException) -> str:
    return " ".join([str(error), repr(error), repr(error.args), *getattr(error, "__notes__", [])])


def call_quietly(call: Callable[[], Any], *secrets: str) -> Any:
    """The result of a call, or its error; fails if anything foreign or secret comes with it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at
            found = error
    for warning in caught:
        assert warning.category.__module__.startswith("dimfree."), warning
        assert not [secret for secret in secrets if secret in str(warning.message)], warning
    for each in chain(found if isinstance(found, BaseException) else None):
        assert isinstance(each, DimfreeError), f"{type(each)} in the chain of {found!r}"
        assert not [secret for secret in secrets if secret in words(each)], words(each)
    return found
