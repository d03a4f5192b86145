"""The parameters at which a mechanism states a given claim.

The claim is the lower of what was asked for and what the returned event states. An event that understates makes the
mechanism run with less noise here, and the claim is then violated.
"""

from collections.abc import Callable

from dimfree.accounting.events import Gaussian
from dimfree.accounting.losses import Approximate, Loss, Pure


def stated_epsilon(event: Loss) -> float:
    """The epsilon of a cost without its delta."""
    if isinstance(event, Pure | Approximate):
        return event.epsilon
    raise TypeError("This cost states no epsilon.")


def promising(epsilon: float, delta: float, cost: Callable[[float, float], Loss]) -> tuple[float, float]:
    """The (epsilon, delta) to ask for, so that the lower of asked and stated is the one given."""
    event = cost(epsilon, delta)
    stated = min(delta, event.delta) if isinstance(event, Approximate) else delta
    return epsilon * epsilon / min(epsilon, stated_epsilon(event)), delta * delta / stated


def precise(mu: float, cost: Callable[[float], Gaussian]) -> float:
    """The same for the mu of a Gaussian."""
    return mu * mu / min(mu, cost(mu).mu)
