"""What (epsilon, delta) means for one person, as probabilities. Each is rounded up, so that none is too good."""

import math

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.guarantee import Guarantee
from dimfree.report.tradeoff import Tradeoff

PRESENCE = {
    Neighbours.ADD_REMOVE: "whether one given person is in the table",
    Neighbours.REPLACE_ONE: "which of two given persons is in the table",
}
FALSE_ALARM = 0.01


def guessed_right(guarantee: Guarantee) -> float:
    """The largest probability of a correct guess between two equally likely neighbours: (e^ε + δ)/(e^ε + 1)."""
    return (1 + guarantee.delta * math.exp(-guarantee.epsilon)) / (1 + math.exp(-guarantee.epsilon))


def detected(guarantee: Guarantee, false_alarm: float = FALSE_ALARM) -> float:
    """The largest true-positive rate at this false-positive rate a: min(e^ε·a + δ, 1 - e^-ε·(1 - δ - a))."""
    shrink = math.exp(-guarantee.epsilon)
    directly = false_alarm / shrink + guarantee.delta if shrink else 1.0
    return min(1.0, directly, 1 - shrink * max(0.0, 1 - guarantee.delta - false_alarm))


def consequences(guarantee: Guarantee) -> list[str]:
    """What an attacker who knows the rows of all other people can achieve at most, one sentence each."""
    who = PRESENCE[guarantee.neighbours]
    return [
        f"Somebody who knows the rows of everybody else and has to guess {who}, both being equally likely, is right "
        f"with probability at most {_percent_up(guessed_right(guarantee))}. A random guess is right with 50 %.",
        f"Any test for this has a true-positive rate of at most {_percent_up(detected(guarantee))} at "
        f"{100 * FALSE_ALARM:g} % false positives.",
        "This holds whatever else is known or published about the person, and for everything computed from this page.",
    ]


def by_charges(guarantee: Guarantee, curve: Tradeoff) -> str:
    """The same two numbers by the charges of this release, in one sentence; never worse than by the promise."""
    guess = min(curve.guessed_right, guessed_right(guarantee))
    found = min(curve.detected(FALSE_ALARM), detected(guarantee))
    return (
        f"By everything it was charged, this release is at least as hard to attack as that: the guess is right with at "
        f"most {_percent_up(guess)}, and the true-positive rate is at most {_percent_up(found)} at "
        f"{100 * FALSE_ALARM:g} % false positives. The closest Gaussian has μ = {curve.mu:.3g}; its curve "
        f"differs by at most {math.ceil(100 * curve.apart)} percentage points."
    )


def _percent_up(share: float) -> str:
    return f"{min(100.0, math.ceil(share * 1000 - 1e-9) / 10):.1f} %"
