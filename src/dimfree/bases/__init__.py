"""Public coordinates in which the noise may be shaped: rotations of each record by itself, undone in the release."""

from dimfree.bases.basis import Basis
from dimfree.bases.cosine import Cosine
from dimfree.bases.given import Given
from dimfree.bases.haar import Haar
from dimfree.bases.hadamard import Hadamard
from dimfree.bases.naming import as_basis, check_basis

__all__ = ["Basis", "Cosine", "Hadamard", "Haar", "Given", "as_basis", "check_basis"]
