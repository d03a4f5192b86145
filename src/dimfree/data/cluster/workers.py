"""The workers of a cluster, and whether each has the dimfree of this process."""

import weakref
from pkgutil import resolve_name
from typing import Any, TypeAlias

from dimfree.errors import LostWorkers

ANSWER = 10.0  # seconds for a scheduler to say who its workers are

Client: TypeAlias = Any  # distributed's; it ships no types

_VERSION = "dimfree:__version__"
_UNLIKE = (
    "The worker at {address} has {found}, and this process has dimfree {own}: install dimfree {own} on every worker. "
    "Nothing was released."
)
_alike: "weakref.WeakKeyDictionary[Client, set[str]]" = weakref.WeakKeyDictionary()  # those that were asked


def threads_of(client: Client) -> dict[str, int]:
    """Threads by the address of a worker; none where the scheduler does not answer."""
    try:
        return dict(client.sync(client.scheduler.ncores, callback_timeout=ANSWER))
    except Exception:  # noqa: BLE001 - a scheduler that is gone fails in many ways
        return {}


def check_workers(client: Client | None) -> None:
    """Every worker has the dimfree of this process, or an error says which has not; each is asked once."""
    if client is None:
        return
    alike, own = _alike.setdefault(client, set()), resolve_name(_VERSION)
    for address, found in _versions(client, sorted(set(threads_of(client)) - alike)).items():
        if isinstance(found, OSError):
            continue  # gone meanwhile
        if found != own:
            raise LostWorkers(_UNLIKE.format(address=address, found=_said(found), own=own))
        alike.add(address)


def _versions(client: Client, workers: list[str]) -> dict[str, Any]:
    """What each worker imports as dimfree, or its error; they are asked by a function that needs no dimfree itself."""
    if not workers:
        return {}
    try:
        return dict(client.run(resolve_name, _VERSION, workers=workers, on_error="return"))
    except Exception:  # noqa: BLE001 - a scheduler that is gone is noticed by whoever hands it work
        return {}


def _said(found: object) -> str:
    if isinstance(found, ModuleNotFoundError):
        return "no dimfree"
    return f"dimfree {found}" if isinstance(found, str) else f"a dimfree that does not load ({type(found).__name__})"
