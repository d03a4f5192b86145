"""The prior knowledge that a request states, and the run that follows from it: public."""

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
from dimfree.programs.choose.core import DataModel
from dimfree.programs.run import CAUTION, Run
from dimfree.request import Request
from dimfree.shapes import Covariance, DiagonalCovariance, as_covariance

_LOADED_LATE = ("scipy.fft", "scipy.linalg")  # used when coordinates are chosen: loaded before the budget is charged


@dataclass(frozen=True, repr=False)
class Beliefs:
    """The prior knowledge that a request states about the records: public."""

    shape: Covariance  # rescales the records; `basis` then rotates them
    basis: Basis | None
    model: DataModel  # of the records in these coordinates
    spectrum: Floats

    @classmethod
    def of(cls, request: Request, dimension: int, columns: tuple[str, ...] | None) -> "Beliefs":
        """Check covariance and basis against the columns, and load the parts of SciPy that a run may need."""
        options = request.options
        for name in _LOADED_LATE if request.chooses_basis else ():
            try:
                importlib.import_module(name)
            except Exception as error:  # noqa: BLE001 - a broken library may raise anything
                raise InstallationError(
                    f"{name} cannot be loaded ({type(error).__name__}): reinstall scipy. No budget was charged."
                ) from None
        check_columns(dimension, request.budget.epsilon)
        if request.covariance is None:
            left_open = request.basis is None or request.chooses_basis
            axes = None if left_open else as_basis(request.basis, dimension, columns)
            flat = np.ones(dimension if axes is None else axes.width)
            return cls(DiagonalCovariance(flat), axes, DataModel.unknown(options.outliers), flat)
        known = as_covariance(request.covariance, dimension)
        spectrum = check_magnitude("covariance", known.spectrum(dimension))
        return cls(known, None, DataModel.of(spectrum, options.outliers, options.tails), spectrum)

    def run(
        self, request: Request, table: PrivateTable, columns: tuple[str, ...] | None, bounds: Mapping[str, Any]
    ) -> Run:
        """Make the run of a request; `bounds`: public bounds of the columns, as parameters."""
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
            missing=request.missing,
            totals=request.max_contributions is not None,
            norm=request.norm,
            by_columns=request.by_columns(named=columns is not None),
        )
