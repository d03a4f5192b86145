"""`Options`: the expert options of a release, checked once. All of them are public."""

from dataclasses import dataclass
from typing import Literal, get_args

from dimfree._validate import Need, check_choice, check_count, check_failure, check_window, is_word

Scale = Literal["auto", "known", "learn"]
Tails = Literal["heavy", "gaussian"]

AUTO = "auto"
MOST_OUTLIERS = 0.3  # a share that is below this


_CHECK_OUTLIERS = Need(f"a number in [0, {MOST_OUTLIERS})", lambda number: 0 <= number < MOST_OUTLIERS)


@dataclass(frozen=True)
class Options:
    """Expert options of `release_mean` and `release_means`. The defaults serve almost everybody.

    Options are public: choose them before you look at the records.

    Parameters
    ----------
    core_sample : int or "auto"
        About how many records the core compares with each other, which takes quadratic time. The stages use all.
    scale : {"auto", "known", "learn"}
        "learn" takes a known covariance as right up to one unknown factor, which is learned inside the budget.
        "auto" is "known"; but where `release_means` learns the shape that groups share, it is "learn": each group
        learns its own factor.
    tails : {"heavy", "gaussian"}
        With a known covariance: "heavy" makes the friend radius half as large again as is best for Gaussian records;
        "gaussian" does not.
    outliers : float
        The share of arbitrary records that is tolerated, in [0, 0.3). A larger share costs accuracy.
    window : (float, float)
        Where an unknown scale is searched, in the units of the records: the distance of two typical records lies
        between the two numbers.
    failure_probability : float
        The chance of a refusal on honest data that is accepted, in (0, 1).

    Raises
    ------
    InvalidParameter
        If a value cannot be used.

    Examples
    --------
    >>> from dimfree import Options
    >>> Options(tails="gaussian", outliers=0.01).scale
    'auto'
    """

    core_sample: int | Literal["auto"] = "auto"
    scale: Scale = "auto"
    tails: Tails = "heavy"
    outliers: float = 0.03
    window: tuple[float, float] = (1e-6, 1e6)
    failure_probability: float = 0.01

    def __post_init__(self) -> None:
        sample = self.core_sample
        checked = {
            "core_sample": AUTO if is_word(sample, AUTO) else check_count("core_sample", sample, or_auto=True),
            "scale": check_choice("scale", self.scale, get_args(Scale)),
            "tails": check_choice("tails", self.tails, get_args(Tails)),
            "outliers": _CHECK_OUTLIERS("outliers", self.outliers),
            "window": check_window("window", self.window),
            "failure_probability": check_failure("failure_probability", self.failure_probability),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
