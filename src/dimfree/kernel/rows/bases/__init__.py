"""Public coordinates in which the noise may be shaped: rotations of each record by itself, undone in the release."""

from dimfree.kernel.rows.bases.basis import Basis
from dimfree.kernel.rows.bases.by_name import as_basis, check_basis
from dimfree.kernel.rows.bases.cosine import Cosine
from dimfree.kernel.rows.bases.given import Given

__all__ = ["Basis", "Cosine", "Given", "as_basis", "check_basis"]
