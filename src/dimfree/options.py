"""`Options`: the expert options of a release. All of them are public."""

from dataclasses import dataclass
from typing import Literal, get_args

from dimfree._validate import Need, check_choice, check_count, check_failure, check_window, is_word

Scale = Literal["auto", "known", "learn"]
Tails = Literal["heavy", "gaussian"]

AUTO = "auto"
MAX_OUTLIERS = 0.3

_CHECK_OUTLIERS = Need(f"a number in [0, {MAX_OUTLIERS})", lambda number: 0 <= number < MAX_OUTLIERS)


@dataclass(frozen=True)
class Options:
    """Expert options of `release_mean` and `release_group_means`. The defaults suit almost every table.

    Options are public: choose them without the private records.

    Parameters
    ----------
    core_sample : int or "auto"
        Number of records that the stable core compares with each other, in quadratic time. All other steps use all
        records.
    scale : {"auto", "known", "learn"}
        "learn" takes a known covariance as correct up to one unknown factor, which is privately estimated. "auto" is
        "known", except if `release_group_means` estimates the variances that groups share: then it is "learn", and
        each group has its own factor.
    tails : {"heavy", "gaussian"}
        With a known covariance: "heavy" uses 1.5 times the friend radius that is best for Gaussian records, "gaussian"
        uses that radius.
    outliers : float
        Tolerated share of arbitrary records, in [0, 0.3). A larger share costs accuracy.
    window : (float, float)
        Search range of an unknown scale, in the units of the records: the distance of two typical records must lie
        between the two numbers.
    failure_probability : float
        Accepted probability of a refusal of data that fit the model, in (0, 1).

    Raises
    ------
    InvalidParameterError
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
