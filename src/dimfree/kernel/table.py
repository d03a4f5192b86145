"""The holder of records, secret coins and noise: opened once, with branches that fit the budget."""

from collections.abc import Callable
from copy import copy

from dimfree.accounting.budget import Budget, Neighbours
from dimfree.accounting.calibrate import Calibration
from dimfree.accounting.discrete import idealised
from dimfree.accounting.events import Costs, ideal_delta
from dimfree.accounting.precision import compose
from dimfree.data.records import Records, require_valid
from dimfree.kernel import parameters as public
from dimfree.kernel.parameters import KernelError
from dimfree.kernel.rows.bases import Basis
from dimfree.kernel.rows.space import Space
from dimfree.kernel.session import Sealed, Session, check_noise
from dimfree.noise import Noise
from dimfree.shapes import Shape


class PrivateTable(Sealed):
    """A table of records under one budget. Public are its width, shape and basis; under replace-one its length."""

    __slots__ = ("_budget", "_charge", "_costs", "_expected", "_looked", "_noise", "_opened", "_relation", "_space")

    def __init__(
        self, space: Space, budget: Budget, relation: Neighbours, noise: Noise, *, expected: Costs | None = None
    ) -> None:
        """`expected`: the only costs that the table may be opened with."""
        self._space, self._noise, self._opened, self._looked = space, noise, False, False
        self._budget, self._relation, self._expected = budget, relation, expected
        self._charge: Callable[[Costs], None] | None = None
        self._costs: Costs | None = None

    @classmethod
    def holding(
        cls,
        records: Records,
        shape: Shape,
        basis: Basis | None,
        budget: Budget,
        relation: Neighbours,
        noise: Noise,
        *,
        by_entry: bool,
        expected: Costs | None = None,
    ) -> "PrivateTable":
        """Return the table of these records, rotated into a public basis and rescaled by a public shape. `by_entry`: an
        entry that is not finite is missing alone, rather than its row invalid."""
        public.check_classes(shape, basis)
        return cls(Space(records, shape, basis, by_entry), budget, relation, noise, expected=expected)

    @property
    def budget(self) -> Budget:
        return self._budget

    @property
    def relation(self) -> Neighbours:
        return self._relation

    @property
    def dimension(self) -> int:
        return self._space.dimension

    @property
    def shape(self) -> Shape:
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
        if self.relation is not Neighbours.REPLACE_ONE:
            raise KernelError("The number of records is private.")
        return self._space.count

    @property
    def columns(self) -> int:
        return self._space.records.dimension

    @property
    def costs(self) -> Costs | None:
        """What opening the table was charged; None before it is opened."""
        return self._costs

    def require_valid(self, on_missing: str) -> None:
        """Raise InvalidRecords under "raise" if any row is invalid: for the owner of the data alone, once, before the
        table is handed to a program."""
        if self._looked or self._opened:
            raise KernelError("Validity is decided once, before a table is handed to a program.")
        self._looked = True
        require_valid(self._space.records, on_missing)

    def charge_with(self, charge: Callable[[Costs], None]) -> None:
        """Call `charge` with the costs of all branches when the table is opened, before anything is drawn."""
        if self._charge is not None or self._opened:
            raise KernelError("A table has one ledger, which is set before it is opened.")
        self._charge = charge

    def open(self, branches: Calibration) -> Session:
        """Accept branches that fit the budget, charge them, and release the count (P5', P9, P18); once."""
        if self._opened:
            raise KernelError("A private table is opened once.")
        branches = public.branches(branches)
        check_fits(branches, self.budget, self.relation)
        costs = Costs(self.budget, self.relation, branches.before, branches.menu)
        if self._expected not in (None, costs):
            raise KernelError("This table is charged for other branches.")
        self._opened = True
        if self._charge is not None:
            self._charge(costs)
        self._costs = costs
        return self._session(branches)

    def _session(self, branches: Calibration) -> Session:
        return Session(self._space, self._noise, self.budget, self.relation, branches)


def check_fits(branches: Calibration, budget: Budget, relation: Neighbours) -> None:
    """Refuse branches that exceed the budget (P9): together under add/remove, where the released count chooses among
    them; each alone under replace-one, where the public number of records chooses."""
    if (branches.count_stddev is None) != (relation is Neighbours.REPLACE_ONE):
        raise KernelError("The count is released under add-remove, and only there.")
    check_noise(branches.before, budget)
    epsilon, delta = idealised(budget.usable_epsilon, budget.delta)
    before = compose(event.mu for event in branches.before)
    menus = [branches.menu] if relation is Neighbours.ADD_REMOVE else [(branch,) for branch in branches.menu]
    if not all(ideal_delta(epsilon, before, menu) <= delta for menu in menus):
        raise KernelError("The branches exceed the budget.")
