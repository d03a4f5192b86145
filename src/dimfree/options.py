"""`Options`: the expert options of a release, checked once. All of them are public."""

from dataclasses import dataclass
from typing import Literal, get_args

from dimfree._validate import check_choice, check_failure, check_flag, check_share, check_whole, check_window, is_word
from dimfree.errors import InvalidParameter

Core = Literal["auto", "stable", "soft", "basic"]
Scale = Literal["auto", "known", "learn"]
Tails = Literal["heavy", "gaussian"]

AUTO = "auto"
UNTESTED = ("soft", "basic")  # cores that need no stability test, and take no stages
MOST_STAGES = 20
MOST_OUTLIERS = 0.3  # a share that is below this


@dataclass(frozen=True)
class Options:
    """Expert options of `release_mean` and `release_means`. The defaults serve almost everybody.

    Options are public: choose them before you look at the records.

    Parameters
    ----------
    core : {"auto", "stable", "soft", "basic"}
        How the first estimate of a mean with a known covariance is protected. "auto" takes the core with the least
        predicted noise. "soft" and "basic" are for neighbours="add-remove" and have no stages. With nothing known,
        "auto" lets the released number of records choose between a core and reading every column by itself; "stable"
        always takes the core.
    stages : int or "auto"
        With a known covariance: the number of recentring stages at most, 0 to 20. 0 is the core alone.
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
    denoise : bool
        Shrink the released mean towards its bulk. This costs no privacy and is often closer to the truth, but the mean
        is no longer unbiased.

    Raises
    ------
    InvalidParameter
        If a value cannot be used, or if "soft" or "basic" is combined with stages or a learned scale.

    Examples
    --------
    >>> from dimfree import Options
    >>> Options(tails="gaussian", outliers=0.01).core
    'auto'
    """

    core: Core = "auto"
    stages: int | Literal["auto"] = "auto"
    core_sample: int | Literal["auto"] = "auto"
    scale: Scale = "auto"
    tails: Tails = "heavy"
    outliers: float = 0.03
    window: tuple[float, float] = (1e-6, 1e6)
    failure_probability: float = 0.01
    denoise: bool = False

    def __post_init__(self) -> None:
        checked = {
            "core": check_choice("core", self.core, get_args(Core)),
            "stages": _auto_or_whole("stages", self.stages, least=0, most=MOST_STAGES),
            "core_sample": _auto_or_whole("core_sample", self.core_sample, least=1),
            "scale": check_choice("scale", self.scale, get_args(Scale)),
            "tails": check_choice("tails", self.tails, get_args(Tails)),
            "outliers": check_share("outliers", self.outliers, below=MOST_OUTLIERS),
            "window": check_window("window", self.window),
            "failure_probability": check_failure(self.failure_probability),
            "denoise": check_flag("denoise", self.denoise),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.core in UNTESTED and (self.scale == "learn" or self.stages not in (0, AUTO)):
            raise InvalidParameter(
                f"core={self.core!r} stands alone: leave stages='auto' and scale='known', or use 'stable'."
            )


def _auto_or_whole(name: str, value: object, **limits: int) -> int | str:
    return AUTO if is_word(value, AUTO) else check_whole(name, value, **limits)
