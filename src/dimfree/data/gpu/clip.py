"""`clip` for rows on a GPU: the same whole numbers, by the same operations, one at a time.

Nothing here is fused: a product and a sum in one kernel would be rounded once instead of twice.
Proof: proofs/data/gpu/clip.md.
"""

from dimfree._types import Floats, Integers
from dimfree.data.blocks import ALL, Entrywise
from dimfree.data.gpu.rows import DeviceRows, Tensor, here, namespace, parts, rooted


def total(rows: DeviceRows, step: float, entrywise: Entrywise, shell: tuple[int, int], cap: int) -> Integers:
    """The sum of all rows, mapped entry by entry, then clipped: what lies between two lengths in steps."""
    torch = namespace(rows.tensor)
    sums = torch.zeros(rows.shape[1], dtype=torch.float64, device=rows.tensor.device)
    for part in parts(rows):
        steps, squared = _steps_and_squares(entrywise(rows.tensor[part], ALL, step), cap)
        sums += _shortened(steps, squared, *shell).sum(0)  # whole numbers below 2^53: exact in any order
    return here(sums.to(torch.int64))


def squares(rows: DeviceRows, step: float, entrywise: Entrywise, cap: int) -> Floats:
    """Squared norms of the mapped rows, in whole steps: the float nearest to the integer."""
    torch = namespace(rows.tensor)
    found = [_steps_and_squares(entrywise(rows.tensor[part], ALL, step), cap)[1] for part in parts(rows)]
    return here(torch.cat([*found, torch.zeros(0, dtype=torch.float64, device=rows.tensor.device)]))


def _steps_and_squares(steps: Tensor, cap: int) -> tuple[Tensor, Tensor]:
    """As in `clip`: only rows with a larger sum of squares than cap² can have an entry that must be held."""
    steps.round_()  # half to even, as NumPy's rint
    squared = (steps * steps).sum(1)
    wild = (~(squared <= float(cap) ** 2)).nonzero()[:, 0]
    if len(wild):
        held = steps[wild].nan_to_num_(nan=0.0, posinf=cap, neginf=-cap).clamp_(-cap, cap)
        steps[wild], squared[wild] = held, _exact_squares(held, cap)
    return steps, squared


def _exact_squares(held: Tensor, cap: int) -> Tensor:
    """In halves that cannot overflow; rounded once, where the halves meet."""
    torch, half = namespace(held), cap.bit_length() - 1
    whole = held.to(torch.int64).square_()
    high, low = (whole >> half).sum(1), (whole & (2**half - 1)).sum(1)
    return high.to(torch.float64) * 2.0**half + low.to(torch.float64)


def _shortened(steps: Tensor, squared: Tensor, inner: int, ball: int) -> Tensor:
    """Rows outside the ball, or beyond `inner`, are shortened by the factor of `clip`.

    A row within the ball is times one, and whole already; a row within `inner` is times zero.
    """
    torch = namespace(steps)
    outside = squared > float(inner or ball) ** 2
    if not inner and not outside.any():
        return steps
    length = rooted(torch.where(outside, squared, float(ball) ** 2))
    shrink = length.clamp(max=float(ball)).sub_(inner).div_(length)  # tensor by tensor: a true division
    shrink = torch.where(outside, shrink * (1 - 2.0**-40), 0.0 if inner else 1.0)
    return steps.mul_(shrink[:, None]).trunc_()
