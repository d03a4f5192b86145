"""The holder of records, secret coins and noise: opened once, with branches that fit the budget."""

from collections.abc import Callable
from copy import copy

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.discrete import idealize
from dimfree.accounting.events import Costs, ideal_delta
from dimfree.accounting.precision import compose
from dimfree.data.records import Records, require_valid
from dimfree.kernel import parameters as public
from dimfree.kernel.parameters import KernelError
from dimfree.kernel.rows.bases import Basis
from dimfree.kernel.rows.space import Space
from dimfree.kernel.session import Sealed, Session, check_noise
from dimfree.noise import Noise
from dimfree.shapes import Covariance


class PrivateTable(Sealed):
    """A table of records under one budget. Public are its width, shape and basis; under replace-one its length."""

    __slots__ = ("_budget", "_charge", "_costs", "_expected", "_looked", "_noise", "_opened", "_relation", "_space")

    def __init__(
        self, space: Space, budget: Budget, relation: Neighbors, noise: Noise, *, expected: Costs | None = None
    ) -> None:
        """Allow the table to be opened with the costs `expected` only."""
        self._space, self._noise, self._opened, self._looked = space, noise, False, False
        self._budget, self._relation, self._expected = budget, relation, expected
        self._charge: Callable[[Costs], None] | None = None
        self._costs: Costs | None = None

    @classmethod
    def from_records(
        cls,
        records: Records,
        shape: Covariance,
        basis: Basis | None,
        budget: Budget,
        relation: Neighbors,
        noise: Noise,
        *,
        by_entry: bool,
        expected: Costs | None = None,
    ) -> "PrivateTable":
        """Return the table of these records, rotated into a public basis and rescaled by a public covariance.
        `by_entry`: only an entry that is not finite is missing; its row stays valid."""
        public.check_classes(shape, basis)
        return cls(Space(records, shape, basis, by_entry), budget, relation, noise, expected=expected)

    @property
    def budget(self) -> Budget:
        return self._budget

    @property
    def relation(self) -> Neighbors:
        return self._relation

    @property
    def dimension(self) -> int:
        return self._space.dimension

    @property
    def shape(self) -> Covariance:
        """The public covariance that records are rescaled by."""
        return self._space.shape

    @property
    def basis(self) -> Basis | None:
        """The public coordinates that records are rotated into; None: their own."""
        return copy(self._space.basis)

    @property
    def is_private(self) -> bool:
        """Whether the noise is that of the operating system, not a seeded one."""
        return self._noise.private

    @property
    def public_count(self) -> int:
        """The number of records under replace-one, where it is public."""
        if self.relation is not Neighbors.REPLACE_ONE:
            raise KernelError("The number of records is private.")
        return self._space.count

    @property
    def columns(self) -> int:
        return self._space.records.dimension

    @property
    def costs(self) -> Costs | None:
        """The charges of opening the table; None before it is opened."""
        return self._costs

    def require_valid(self, missing: str) -> None:
        """Raise InvalidDataError under "raise" if a row is invalid: for the owner of the data alone, once, before any
        program gets the table."""
        if self._looked or self._opened:
            raise KernelError("Validity is checked once, before a program gets the table.")
        self._looked = True
        require_valid(self._space.records, missing)

    def charge_with(self, charge: Callable[[Costs], None]) -> None:
        """Call `charge` with the costs of all branches when the table is opened, before anything is drawn."""
        if self._charge is not None or self._opened:
            raise KernelError("A table has one charge, which is set before it is opened.")
        self._charge = charge

    def open(self, calibration: Calibration) -> Session:
        """Accept branches that fit the budget, charge them, and release the count (P5', P9, P18); once."""
        if self._opened:
            raise KernelError("A private table is opened once.")
        calibration = public.branches(calibration)
        check_fits(calibration, self.budget, self.relation)
        costs = Costs(self.budget, self.relation, calibration.before, calibration.branches)
        if self._expected not in (None, costs):
            raise KernelError("This table was charged for other branches.")
        self._opened = True
        if self._charge is not None:
            self._charge(costs)
        self._costs = costs
        return self._session(calibration)

    def _session(self, calibration: Calibration) -> Session:
        return Session(self._space, self._noise, self.budget, self.relation, calibration)


def check_fits(calibration: Calibration, budget: Budget, relation: Neighbors) -> None:
    """Refuse branches that exceed the budget (P9): together under add-remove, where the released count chooses among
    them; each separately under replace-one, where the public number of records chooses."""
    if (calibration.count_stddev is None) != (relation is Neighbors.REPLACE_ONE):
        raise KernelError("The count is released under add-remove, and only there.")
    check_noise(calibration.before, budget)
    epsilon, delta = idealize(budget.usable_epsilon, budget.delta)
    before = compose(event.mu for event in calibration.before)
    branches = calibration.branches
    choices = [branches] if relation is Neighbors.ADD_REMOVE else [(branch,) for branch in branches]
    if not all(ideal_delta(epsilon, before, choice) <= delta for choice in choices):
        raise KernelError("The branches exceed the budget.")
