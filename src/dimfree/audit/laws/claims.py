"""How loud a mechanism may be asked to be, so that what it states is a given claim.

A claim is the lower of what was asked for and what the returned event states: an event that understates makes the
mechanism louder here, and what is then drawn no longer keeps the claim.
"""

from collections.abc import Callable

from dimfree.accounting.events import Gaussian
from dimfree.accounting.losses import Approximate, Loss, Pure


def stated_epsilon(event: Loss) -> float:
    """The pure part of a cost."""
    if isinstance(event, Pure | Approximate):
        return event.epsilon
    raise TypeError("This cost states no epsilon.")


def promising(epsilon: float, delta: float, cost: Callable[[float, float], Loss]) -> tuple[float, float]:
    """What to ask for, so that the lower of what is asked for and what is stated is (epsilon, delta)."""
    event = cost(epsilon, delta)
    stated = min(delta, event.delta) if isinstance(event, Approximate) else delta
    return epsilon * epsilon / min(epsilon, stated_epsilon(event)), delta * delta / stated


def precise(mu: float, cost: Callable[[float], Gaussian]) -> float:
    """Likewise for a Gaussian of precision mu²."""
    return mu * mu / min(mu, cost(mu).mu)
