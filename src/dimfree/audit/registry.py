"""All checks, collected from the files in `mechanisms/`, each of which defines an `AUDIT`."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pkgutil import iter_modules

from dimfree.accounting.budget import Neighbours
from dimfree.audit import mechanisms
from dimfree.audit.audited import Audited, ChargeCase, ExactCheck, Subject
from dimfree.audit.canaries.one_run import Found
from dimfree.audit.search.climb import Target
from dimfree.noise import Noise

MECHANISMS: tuple[Audited, ...] = tuple(
    import_module(f"{mechanisms.__name__}.{file.name}").AUDIT for file in iter_modules(mechanisms.__path__)
)
EXACT: dict[str, ExactCheck] = {name: check for each in MECHANISMS for name, check in each.exact.items()}
CANARIES: dict[str, Callable[..., Found]] = {name: play for each in MECHANISMS for name, play in each.canaries.items()}


def _searches(audited: Audited) -> Iterator[tuple[str, Callable[[float], Target]]]:
    def in_relation(make: Callable[[float, Neighbours], Target], relation: Neighbours, epsilon: float) -> Target:
        return make(epsilon, relation)

    for name, make in audited.searches.items():
        for relation in Neighbours:
            yield f"{name}, {relation}", partial(in_relation, make, relation)
    for name, make_one in audited.add_remove_searches.items():
        yield f"{name}, {Neighbours.ADD_REMOVE}", make_one


SEARCHES: dict[str, Callable[[float], Target]] = {name: make for each in MECHANISMS for name, make in _searches(each)}


def subjects(epsilon: float) -> list[Subject]:
    """Everything that is sampled at this epsilon, in a fixed order."""
    return [
        subject
        for each in MECHANISMS
        for subject in (
            *(make(epsilon, relation) for make in each.subjects for relation in Neighbours),
            *each.other_subjects(epsilon),
        )
    ]


def charge_cases() -> list[ChargeCase]:
    """Every mechanism that draws, with its cost."""
    return [case for each in MECHANISMS for case in each.charges()]


def off_lattice_cases(noise: Noise) -> Iterator[tuple[str, int]]:
    """(name, how many released numbers are off their lattice or list)."""
    for case in charge_cases():
        if case.off is not None:
            yield case.name, case.off(case.release(noise=noise))
    for each in MECHANISMS:
        yield from each.lattice(noise)
