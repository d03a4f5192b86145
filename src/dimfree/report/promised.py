"""What (epsilon, delta) means for one person, in numbers that need no logarithm. Each is rounded up: never too good."""

import math

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.guarantee import Guarantee

_PRESENCE = {
    Neighbours.ADD_REMOVE: "whether one given person is in the table",
    Neighbours.REPLACE_ONE: "which of two given persons is in the table",
}
FALSE_ALARM = 0.01


def guessed_right(guarantee: Guarantee) -> float:
    """The largest chance of guessing right between two equally likely neighbours: (e^ε + δ)/(e^ε + 1)."""
    return (1 + guarantee.delta * math.exp(-guarantee.epsilon)) / (1 + math.exp(-guarantee.epsilon))


def detected(guarantee: Guarantee, false_alarm: float = FALSE_ALARM) -> float:
    """The largest power of a test with this rate of false alarms: min(e^ε·a + δ, 1 - e^-ε·(1 - δ - a))."""
    shrink = math.exp(-guarantee.epsilon)
    directly = false_alarm / shrink + guarantee.delta if shrink else 1.0
    return min(1.0, directly, 1 - shrink * max(0.0, 1 - guarantee.delta - false_alarm))


def plain_words(guarantee: Guarantee) -> list[str]:
    """What an attacker who knows everybody else's rows can do at most, sentence by sentence."""
    who = _PRESENCE[guarantee.neighbours]
    return [
        f"Somebody who knows the rows of everybody else and has to guess {who}, both being equally likely, guesses "
        f"right with probability {_percent_up(guessed_right(guarantee))} at most. Tossing a coin gives 50 %.",
        f"A test that is to accuse wrongly in {100 * FALSE_ALARM:g} % of cases at most accuses rightly in "
        f"{_percent_up(detected(guarantee))} at most.",
        "This holds whatever else is known or published about the person, and whatever is computed from this page.",
    ]


def _percent_up(share: float) -> str:
    return f"{min(100.0, math.ceil(share * 1000 - 1e-9) / 10):.1f} %"
