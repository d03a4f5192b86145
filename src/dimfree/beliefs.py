"""What a release lets its reader believe beyond the mean: the model behind error bars, and a learned shape. Public."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_positive
from dimfree.errors import InvalidParameter
from dimfree.shape import Diagonal


def frozen_numbers(name: str, value: object, dimension: int) -> NDArray[np.float64]:
    """A copy over immutable bytes: not even setflags makes it writable."""
    array = np.asarray(value)
    if array.shape != (dimension,) or array.dtype.kind not in "iuf":
        raise InvalidParameter(f"Expected {name} to hold {dimension} numbers, one for each coordinate.")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise InvalidParameter(f"Expected {name} to be finite.")
    return np.frombuffer(array.tobytes(), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ErrorModel:
    """What error bars need beyond noise_stddev; public. Principal variances share one (unstated) set of directions.

    `records` says how many records there are at least, with the release's confidence; None: sampling is not modelled.
    """

    noise_principal: NDArray[np.float64] | None = None  # None: the coordinates are principal
    record_stddev: NDArray[np.float64] | None = None
    record_principal: NDArray[np.float64] | None = None
    records: float | None = None
    clipping: NDArray[np.float64] | None = None  # shift that clipping may leave, per coordinate; None: not modelled

    def frozen(self, dimension: int) -> "ErrorModel":
        def checked(array: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
            return None if array is None else frozen_numbers("the error model", array, dimension)

        return ErrorModel(
            noise_principal=checked(self.noise_principal),
            record_stddev=checked(self.record_stddev),
            record_principal=checked(self.record_principal),
            records=None if self.records is None else check_positive("records", self.records),
            clipping=checked(self.clipping),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "noise_principal": None if self.noise_principal is None else self.noise_principal.tolist(),
            "record_stddev": None if self.record_stddev is None else self.record_stddev.tolist(),
            "record_principal": None if self.record_principal is None else self.record_principal.tolist(),
            "records": self.records,
            "clipping": None if self.clipping is None else self.clipping.tolist(),
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnedShape:
    """Variances learned privately on the way to a mean, and how sure they are. Already paid for: a public value.

    `log_stddev` is the standard deviation, under the fitted prior, of the natural logarithm of each coordinate's
    standard deviation: 0.1 means about 10 %.
    """

    variances: NDArray[np.float64]
    log_stddev: NDArray[np.float64]

    def diagonal(self) -> Diagonal:
        """As a `shape=` for a later release about other records."""
        return Diagonal(self.variances)

    def frozen(self, dimension: int) -> "LearnedShape":
        variances = frozen_numbers("learned variances", self.variances, dimension)
        log_stddev = frozen_numbers("log_stddev", self.log_stddev, dimension)
        if not (variances > 0).all() or not (log_stddev >= 0).all():
            raise InvalidParameter("Expected learned variances above 0 and log_stddev of at least 0.")
        return LearnedShape(variances, log_stddev)

    def to_dict(self) -> dict[str, Any]:
        return {"variances": self.variances.tolist(), "log_stddev": self.log_stddev.tolist()}

    def __repr__(self) -> str:
        return f"<LearnedShape: variances and log_stddev of {len(self.variances)} coordinates>"
