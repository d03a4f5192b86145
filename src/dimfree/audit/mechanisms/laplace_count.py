"""The Laplace count."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from dimfree.audit.audited import EPSILON, Audited, ChargeCase, ExactCheck, off_list
from dimfree.audit.exact.claims import promising
from dimfree.audit.exact.divergence import Laws, laplace_masses, laws
from dimfree.audit.noise_doubles import Law, ZeroNoise, exact_law
from dimfree.audit.numerics.records import ROWS
from dimfree.paper.laplace_count import laplace_count


def pure_count(epsilon: float, delta: float) -> Laws:
    """Pure, so delta is not used."""
    asked, _ = promising(epsilon, delta, lambda each, _: laplace_count(3, each, noise=ZeroNoise()).event)

    def law(count: int) -> Law:
        return exact_law(lambda noise: laplace_count(count, asked, noise=noise).value, laplace_masses(30))

    return laws(law, [(3, 4), (0, 1)], slack=1e-12)


def _charges() -> Iterator[ChargeCase]:
    release, off = partial(laplace_count, ROWS, EPSILON), off_list(np.arange(-1000, 1000))
    yield ChargeCase("Laplace count", release, (EPSILON, 0.0), 1, 1, off)


AUDIT = Audited(exact={"count (Laplace)": ExactCheck(pure_count, delta=0.0)}, charges=_charges)
