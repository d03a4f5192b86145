"""Where privacy usually leaks although the mathematics is right: bits, order, batches, texts, copies of noise.

Every check returns its complaints, which are public; none if all is well.
"""

from collections.abc import Callable

from dimfree.audit.noise_doubles import PooledNoise
from dimfree.audit.numerics.batches import predicate, recordwise
from dimfree.audit.numerics.charges import charges
from dimfree.audit.numerics.isolation import isolation
from dimfree.audit.numerics.order import order, storage
from dimfree.audit.numerics.refusals import errors, extremes, invalid_rows, refusals
from dimfree.audit.numerics.replay import lattice_points
from dimfree.audit.numerics.silence import silence
from dimfree.audit.registry import off_lattice_cases
from dimfree.noise import Noise, SystemNoise


def lattice(noise: Noise | None = None) -> list[str]:
    """Every released number is a whole number of the steps that its event states, or on a public list."""
    cases = off_lattice_cases(noise or PooledNoise(SystemNoise()))
    return [f"{name}: {off} value(s) off the lattice" for name, off in cases if off]


NUMERICS: dict[str, Callable[[], list[str]]] = {
    "outputs on the lattice": lattice,
    "outputs from lattice points alone": lattice_points,
    "charges state what was drawn": charges,
    "order and chunks": order,
    "storage and blocks": storage,
    "the predicate": predicate,
    "maps of one record": recordwise,
    "silence": silence,
    "refusals alike": refusals,
    "errors alike": errors,
    "numbers out of range": extremes,
    "invalid records alike": invalid_rows,
    "noise of processes and threads": isolation,
}
