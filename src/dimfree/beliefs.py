"""What a request states about the records before any is read, and the run that follows from it: public."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dimfree._types import Floats
from dimfree._validate import check_columns, check_magnitude
from dimfree.bases import as_basis
from dimfree.errors import InstallationError
from dimfree.kernel import Basis, PrivateTable
from dimfree.programs.choose.core import HonestModel
from dimfree.programs.run import CAUTION, Run
from dimfree.request import Request
from dimfree.shapes import Diagonal, Shape, as_shape

_LOADED_LATE = ("scipy.fft", "scipy.linalg")  # when coordinates are chosen: by then the budget is charged


@dataclass(frozen=True, repr=False)
class Beliefs:
    """What a request states about the records before any is read: public."""

    shape: Shape  # what records are rescaled by, and then rotated by
    basis: Basis | None
    model: HonestModel  # of honest records in those coordinates, and their standard deviations
    spectrum: Floats

    @classmethod
    def of(cls, request: Request, dimension: int, columns: tuple[str, ...] | None) -> "Beliefs":
        """Check covariance, shape and basis against the columns, and load what a run may need of SciPy."""
        options = request.options
        for name in _LOADED_LATE if request.chooses_basis else ():
            try:
                importlib.import_module(name)
            except Exception as error:  # noqa: BLE001 - missing, or whatever a broken library raises
                raise InstallationError(
                    f"{name} cannot be loaded ({type(error).__name__}): reinstall scipy. No budget was charged."
                ) from None
        check_columns(dimension, request.budget.epsilon)
        if request.learned:
            left_open = request.basis is None or request.chooses_basis
            axes = None if left_open else as_basis(request.basis, dimension, columns)
            flat = np.ones(dimension if axes is None else axes.width)
            return cls(Diagonal(flat), axes, HonestModel.unknown(options.outliers), flat)
        known = as_shape(request.covariance, request.shape, dimension)
        spectrum = check_magnitude("covariance", known.spectrum(dimension))
        return cls(known, None, HonestModel.of(spectrum, options.outliers, options.tails), spectrum)

    def run(
        self, request: Request, table: PrivateTable, columns: tuple[str, ...] | None, bounds: Mapping[str, Any]
    ) -> Run:
        """The run that a request asks for; `bounds`: public bounds of the columns, as parameters."""
        options = request.options
        return Run(
            table=table,
            columns=columns,
            bounds=bounds,
            model=self.model,
            spectrum=self.spectrum,
            failure=CAUTION * options.failure_probability,
            learn_scale=request.options.scale == "learn",
            core_sample=options.core_sample if isinstance(options.core_sample, int) else None,
            window=options.window,
            chooses_basis=request.chooses_basis,
            on_missing=request.on_missing,
            totals=request.unit_rows is not None,
            norm=request.norm,
            by_columns=request.by_columns(named=columns is not None),
        )
