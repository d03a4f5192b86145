"""How a value is quoted in an error. A single number or a short word is; what could hold records never is."""

import numpy as np

_LONGEST_TEXT = 40
_MOST_DIGITS = 30


def quoted(value: object) -> str:
    """A single number or a short word as it was given; anything else by its type, since it may hold records."""
    plain = value.item() if isinstance(value, np.integer | np.floating | np.bool_) else value
    if plain is None or isinstance(plain, bool):
        return repr(plain)
    if isinstance(plain, float):
        return float.__repr__(plain)
    if isinstance(plain, int) and abs(int.__index__(plain)) < 10**_MOST_DIGITS:
        return int.__repr__(plain)
    if isinstance(plain, str) and len(text := str.__str__(plain)) <= _LONGEST_TEXT:
        return repr(text)
    return f"<{type(value).__name__}>"
