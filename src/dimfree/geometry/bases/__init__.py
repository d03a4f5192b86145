"""Public coordinates in which the noise may be shaped: rotations of each record by itself, undone in the release."""

from dimfree.geometry.bases.basis import Basis
from dimfree.geometry.bases.by_name import as_basis, check_basis
from dimfree.geometry.bases.cosine import Cosine
from dimfree.geometry.bases.given import Given

__all__ = ["Basis", "Cosine", "Given", "as_basis", "check_basis"]
