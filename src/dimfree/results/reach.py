"""Reach: how far from a released centre the records counted in full. Public values only."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dimfree._validate import check_count, check_kind, check_positive
from dimfree.errors import InvalidParameter
from dimfree.results.error_model import frozen_numbers

NOT_EXCLUDED = "no private method can exclude such records"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reach:
    """What a release averages: these records, each farther than `radius` from `centre` drawn in to it.

    Distances are Euclidean, in columns divided by `scale`; a column in which a record lies farther than `cap` from the
    centre is first held there. No private method can average records without any limit, nor tell that none lie beyond
    this one. All of it was released or follows from what was.

    Attributes
    ----------
    radius : float
        How far a record may lie from the centre and count in full, in columns divided by `scale`.
    centre : ndarray of shape (d,)
        In the units of the records.
    scale : ndarray of shape (d,)
        What each column is divided by.
    beyond : float or None
        So many records may lie farther than `radius`, as far as the released histogram of lengths tells (about 97.5 %
        confidence). With few records it is a large share of them: then the mean of these records may well lie outside
        the intervals, which are about the mean of the records drawn in. Records that lie farther than `cap` in one
        column are counted, too. None: not known.
    cap : float or None
        How far from the centre a record counts in any one column, divided by its `scale`. None: four radii.
    """

    radius: float
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    beyond: float | None = None
    cap: float | None = None

    @property
    def columns(self) -> NDArray[np.float64]:
        """How far from the centre a record may lie in one column alone and count in full, in the column's units."""
        return (self.radius if self.cap is None else min(self.radius, self.cap)) * self.scale

    def statement(self) -> str:
        """Which mean was estimated, as a phrase.

        Returns
        -------
        str
        """
        drawn_in = f"each farther than {self.radius:.3g} from the centre drawn in to {self.radius:.3g}"
        drawn_in += "" if self.cap is None else f", after every column by itself was held within {self.cap:.3g}"
        many = "" if self.beyond is None else f"these may be up to about {self.beyond:.2g}; "
        return f"the mean of these records, {drawn_in} ({many}{NOT_EXCLUDED})"

    def frozen(self, dimension: int) -> "Reach":
        """A checked, read-only copy.

        Parameters
        ----------
        dimension : int
            Number of columns of the records.

        Returns
        -------
        Reach
        """
        dimension = check_count("dimension", dimension)
        scale = frozen_numbers("the scale of the reach", self.scale, dimension)
        if not (scale > 0).all():
            raise InvalidParameter("Expected the scale of the reach to be above 0.")
        centre = frozen_numbers("the centre of the reach", self.centre, dimension)
        beyond = None if self.beyond is None else check_positive("beyond", self.beyond)
        cap = None if self.cap is None else check_positive("cap", self.cap)
        return Reach(check_positive("radius", self.radius), centre, scale, beyond, cap)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON.

        Returns
        -------
        dict
        """
        places = {"centre": self.centre.tolist(), "scale": self.scale.tolist()}
        cap = {} if self.cap is None else {"cap": self.cap}
        return {"radius": self.radius, **places, "beyond": self.beyond, **cap}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Reach":
        """The reach that `to_dict` wrote.

        Parameters
        ----------
        data : dict
            As from `to_dict`.

        Returns
        -------
        Reach

        Raises
        ------
        InvalidParameter
            If an entry is missing or unknown.
        """
        names = {field.name for field in fields(cls)}
        if not names - {"cap"} <= set(check_kind("data", data, dict)) <= names:
            raise InvalidParameter("Expected exactly the entries of a reach.")
        return cls(**data)

    def __repr__(self) -> str:
        return f"<Reach: radius {self.radius:.4g} in {len(self.scale)} scaled columns>"


def what_is_averaged(reach: Reach | None) -> str:
    """What error bars without sampling cover, as a phrase; None: the release does not state its reach."""
    if reach is None:
        return f"the mean of these records, far ones drawn in or weighing less ({NOT_EXCLUDED})"
    return reach.statement()
