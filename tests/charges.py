"""What a release drew, held against what it was charged for: every draw, in order."""

from recording import RecordingNoise

SCALARS = (
    "unevenness of the coordinates",
    "weight of the coordinates",
    "spread in the basis",
    "togetherness of the coordinates",
)
SEARCHES = ("friend radius", "unit of the scores", "lengths on the ring", "unit of the ring's scores")


def uncharged(noise: RecordingNoise, events) -> list[tuple[str, float, int]]:
    """The Gaussian draws left over when every event, in order, has taken its own. Raises where an event finds none.

    A search takes between one draw and as many as its dimension, each of one number; anything else one vector.
    """
    draws = [asked for asked in noise.asked if asked[0] == "gaussian"]
    for event in events:
        size = 1 if event.purpose in SEARCHES else event.dimension
        most = event.dimension if event.purpose in SEARCHES else 1
        taken = 0
        while taken < most and draws and draws[0] == ("gaussian", event.stddev, size):
            draws.pop(0)
            taken += 1
        assert taken, f"nothing was drawn for {event.purpose}"
    return draws


def precision(events) -> float:
    return sum((event.sensitivity / event.stddev) ** 2 for event in events)
