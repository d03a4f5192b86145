"""What a release was charged for."""

SCALARS = (
    "unevenness of the coordinates",
    "weight of the coordinates",
    "spread in the basis",
    "togetherness of the coordinates",
)


def precision(events) -> float:
    return sum((event.sensitivity / event.stddev) ** 2 for event in events)
