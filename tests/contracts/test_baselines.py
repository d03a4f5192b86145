"""What every private baseline promises: the signature and conduct of release_mean, whatever it was told beforehand."""

import logging
import math
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import pytest
from dimfree.comparison.baselines.ball import ball
from dimfree.comparison.baselines.clipped import clipped
from dimfree.comparison.baselines.coinpress import coinpress
from dimfree.comparison.baselines.friendly_core import friendly_core
from dimfree.comparison.baselines.huang_liang_yi import huang_liang_yi
from dimfree.comparison.baselines.karwa_vadhan import SHARES, karwa_vadhan
from dimfree.comparison.baselines.not_private import empirical_mean, oracle_floor
from dimfree.comparison.baselines.plan import plan
from recording import RecordingNoise
from scipy import sparse
from stats import sampling

from dimfree.data import records
from dimfree.errors import DimfreeError, InvalidParameter, InvalidRecords, OutOfMemory, RefusedRelease
from dimfree.kernel.rows.grid import RADIUS
from dimfree.noise import SeededNoise, SystemNoise
from dimfree.results.release import Release
from dimfree.results.release_checks import BASELINES

ADD, REPLACE = "add-remove", "replace-one"
COUNT, DIMENSION, CENTRE = 467, 3, 2.0  # a prime that no public parameter comes near
EPSILON, DELTA = 8.0, 1e-6
SECRET = 918273645.125
SINGS = ("918273645", "9.18273645", "9182736")


@dataclass(frozen=True)
class Baseline:
    """One private baseline, and what it is told of standard normal records about CENTRE in every coordinate."""

    method: str
    estimate: Callable[..., Release]
    scalars: dict[str, float] = field(default_factory=dict)
    needs_stddevs: bool = False

    def priors(self, dimension: int) -> dict[str, Any]:
        return {**self.scalars, **({"stddevs": np.ones(dimension)} if self.needs_stddevs else {})}

    def release(self, X: Any, dimension: int = DIMENSION, **changes: Any) -> Release:
        promise = {"epsilon": EPSILON, "delta": DELTA, "noise": SeededNoise(7)}
        return self.estimate(X, **{**promise, **self.priors(dimension), **changes})

    def released(self, X: Any, dimension: int = DIMENSION, **changes: Any) -> Release:
        found = self.release(X, dimension, **changes)
        assert not found.refused, found.refusal
        return found


ALL = {
    one.method: one
    for one in (
        Baseline("clipped", clipped, {"radius": 20.0}),
        Baseline("karwa-vadhan", karwa_vadhan, needs_stddevs=True),
        Baseline("ball", ball, needs_stddevs=True),
        Baseline("plan", plan, {"radius": 20.0}, needs_stddevs=True),
        Baseline("coinpress", coinpress, {"radius": 20.0, "stddev": 1.0}),
        Baseline("huang-liang-yi", huang_liang_yi, {"radius": 20.0}),
        Baseline("friendly-core", friendly_core, {"radius": 6.0}),
    )
}


def parametrised(methods):
    return pytest.mark.parametrize("baseline", [ALL[method] for method in methods], ids=methods)


# Every record gets noise or a coin of its own: the law does not depend on the order, the seeded draws do.
COINS = ("ball", "friendly-core")
ORDER_FREE = tuple(method for method in ALL if method not in COINS)
# Distances between records alone, or cells of width σ everywhere: no point of space is special.
ANYWHERE = ("karwa-vadhan", "ball", "friendly-core")
# Something is looked for, or clipped, within a public radius about the origin: no equivariance.
ABOUT_THE_ORIGIN = tuple(method for method in ALL if method not in ANYWHERE)

relations = pytest.mark.parametrize("relation", [ADD, REPLACE])
every = parametrised(tuple(ALL))
counting = parametrised(tuple(method for method in ALL if method != "ball"))  # which releases no count


class NoDraws:
    """Noise that may not be drawn."""

    private = False

    def __getattr__(self, name):
        raise AssertionError("noise was drawn for a call that is an error")


def test_every_baseline_is_here():
    assert tuple(ALL) == BASELINES


class TestSignature:
    @every
    def test_it_is_that_of_release_mean(self, baseline):
        parameters = signature(baseline.estimate).parameters
        first, *others = parameters.values()
        assert (first.name, first.kind) == ("X", Parameter.POSITIONAL_OR_KEYWORD)
        assert all(one.kind is Parameter.KEYWORD_ONLY for one in others)
        required = {one.name for one in others if one.default is Parameter.empty}
        assert required == {"epsilon", "delta", *baseline.priors(1)}  # budgets and priors have no default
        defaults = {name: parameters[name].default for name in ("neighbours", "on_missing", "noise")}
        assert defaults == {"neighbours": ADD, "on_missing": "raise", "noise": None}
        assert get_type_hints(baseline.estimate)["return"] is Release


class TestRelease:
    @every
    @relations
    def test_a_mean_near_the_truth_under_the_promise_asked_for(self, table, baseline, relation):
        found = baseline.released(table, neighbours=relation)
        assert type(found) is Release
        assert found.method == baseline.method
        assert found.mean.shape == found.noise_stddev.shape == (DIMENSION,)
        assert np.all(np.abs(found.mean - CENTRE) < 8 * np.hypot(found.noise_stddev, 1 / math.sqrt(COUNT)))
        assert np.all(found.noise_stddev < 1.0)
        promise = found.guarantee
        assert (promise.epsilon, promise.delta, promise.neighbours) == (EPSILON, DELTA, relation)

    @pytest.mark.system_noise
    @every
    def test_the_default_noise_is_private_and_fresh(self, table, baseline):
        one, two = baseline.released(table, noise=None), baseline.released(table, noise=SystemNoise())
        assert one.guarantee.private
        assert two.guarantee.private
        assert not np.array_equal(one.mean, two.mean)

    @every
    @relations
    def test_a_seed_reproduces_it_and_json_keeps_it(self, table, baseline, relation):
        found = baseline.released(table, neighbours=relation)
        assert not found.guarantee.private
        assert found == baseline.released(table, neighbours=relation)
        assert found != baseline.released(table, neighbours=relation, noise=SeededNoise(8))
        assert Release.from_json(found.to_json()) == found


class TestLedger:
    @every
    @relations
    @pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (8.0, 1e-9), (4.0, 1e-3)])
    def test_it_fits_the_total_and_is_nearly_used_up(self, rng, baseline, relation, epsilon, delta):
        X = rng.normal(CENTRE, 1.0, size=(4000, 2))
        found = baseline.released(X, 2, epsilon=epsilon, delta=delta, neighbours=relation)
        assert 0.9 * delta <= found.ledger.delta() <= delta
        assert (found.ledger.budget.epsilon, found.ledger.budget.delta) == (epsilon, delta)
        assert found.ledger.neighbours == relation

    @every
    def test_replacing_costs_more_than_adding_or_removing(self, rng, baseline):
        """Two balls instead of one; but two records that most others befriend have a friend in common, old or new."""
        least = 1.0 if baseline.method == "friendly-core" else 1.2
        X = rng.normal(CENTRE, 1.0, size=(4000, 2))
        add, replace = (baseline.released(X, 2, neighbours=relation).noise_stddev[0] for relation in (ADD, REPLACE))
        assert least < replace / add < 4

    @every
    @relations
    def test_a_refusal_fits_it_too(self, baseline, relation):
        """Two records: whoever answers has a ledger, whoever refuses as well."""
        found = baseline.release(np.zeros((2, DIMENSION)), epsilon=0.1, neighbours=relation)
        assert found.ledger.delta() <= DELTA
        if found.refused:
            with pytest.raises(RefusedRelease):
                _ = found.mean


class TestInput:
    @every
    @relations
    def test_it_is_left_alone(self, table, baseline, relation):
        before, stddevs = table.copy(), np.ones(DIMENSION)
        given = {"stddevs": stddevs} if baseline.needs_stddevs else {}
        baseline.released(table, neighbours=relation, **given)
        assert np.array_equal(table, before)
        assert np.array_equal(stddevs, np.ones(DIMENSION))
        assert table.flags.writeable
        assert stddevs.flags.writeable

    @every
    def test_the_kind_of_table_does_not_matter(self, table, baseline):
        dense, frozen = baseline.released(table), table.copy()
        frozen.setflags(write=False)
        for twin in (frozen, sparse.csr_array(table), np.asfortranarray(table)):
            assert baseline.released(twin) == dense
        frame = baseline.released(pd.DataFrame(table, columns=["a", "b", "c"]))
        assert frame.columns == ("a", "b", "c")
        assert np.array_equal(frame.mean, dense.mean)

    @every
    @relations
    def test_how_the_table_is_cut_into_blocks_does_not_matter(self, monkeypatch, table, baseline, relation):
        whole = baseline.released(table, neighbours=relation)
        monkeypatch.setattr(records, "_BLOCK_ENTRIES", 100)
        assert baseline.released(table, neighbours=relation) == whole


class TestOrder:
    @parametrised(ORDER_FREE)
    @relations
    def test_the_order_of_the_rows_does_not_matter(self, table, baseline, relation, rng):
        shuffled = table[rng.permutation(COUNT)]
        assert baseline.released(shuffled, neighbours=relation) == baseline.released(table, neighbours=relation)

    @parametrised(COINS)
    @relations
    def test_it_matters_only_through_the_coins_of_each_record(self, table, baseline, relation, rng):
        """With the same coin for everybody nothing is left of it."""
        shuffled = table[rng.permutation(COUNT)]
        one, two = (baseline.released(X, neighbours=relation, noise=RecordingNoise()) for X in (table, shuffled))
        assert one == two


class TestPlace:
    @parametrised(ANYWHERE)
    @relations
    @pytest.mark.parametrize("steps", [1, 2**20])
    def test_moving_every_record_moves_the_mean(self, rng, baseline, relation, steps):
        """By whole steps of the grid or cells of the histogram, so that rounding has no say."""
        step = 1.0 if baseline.method == "karwa-vadhan" else self._step(baseline, rng)
        whole = np.rint(rng.normal(0.0, 1.0, size=(COUNT, DIMENSION)) * 2**10) / 2**10
        X = whole if step == 1.0 else np.rint(whole / step) * step
        here, there = (baseline.released(Y, neighbours=relation) for Y in (X, X + steps * step))
        assert np.allclose(there.mean, here.mean + steps * step, rtol=1e-14, atol=1e-9 * here.noise_stddev.max())
        assert np.array_equal(here.noise_stddev, there.noise_stddev)
        assert here.parameters == there.parameters

    @staticmethod
    def _step(baseline, rng):
        found = baseline.released(rng.normal(size=(COUNT, DIMENSION)))
        return found.parameters["radius"] / RADIUS

    @parametrised(ABOUT_THE_ORIGIN)
    def test_the_others_look_about_the_origin_only(self, table, baseline):
        """Far beyond the radius they were told nothing is found: no equivariance is claimed."""
        found = baseline.release(table + 1e6)
        assert np.linalg.norm(found.mean) < 10 * math.sqrt(DIMENSION) * baseline.scalars["radius"]

    def test_a_public_centre_moves_with_the_records(self, table):
        """The clipped mean can be told another origin; then it is equivariant."""
        here = ALL["clipped"].released(table - CENTRE)
        there = ALL["clipped"].released(table - CENTRE + 2.0**20, centre=np.full(DIMENSION, 2.0**20))
        assert there.mean - 2.0**20 == pytest.approx(here.mean, abs=1e-6)
        assert np.array_equal(here.noise_stddev, there.noise_stddev)

    @every
    @relations
    def test_other_units_change_nothing_but_the_units(self, table, baseline, relation):
        """By a power of four, whose square root is exact: then bit for bit."""
        factor = 4.0**-20
        priors = {name: value * factor for name, value in baseline.priors(DIMENSION).items()}
        here = baseline.released(table, neighbours=relation)
        there = baseline.released(table * factor, neighbours=relation, **priors)
        assert np.array_equal(there.mean, here.mean * factor)
        assert np.array_equal(there.noise_stddev, here.noise_stddev * factor)


class TestOddTables:
    @every
    @relations
    @pytest.mark.parametrize("count", [0, 1, 2])
    def test_a_tiny_table_is_a_value_or_a_clear_error(self, baseline, relation, count):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                found = baseline.release(np.ones((count, DIMENSION)), neighbours=relation)
            except DimfreeError as error:
                assert str(error).startswith(("Expected", "The"))  # noqa: PT017 - one or the other may happen
                return
        assert found.refused or np.isfinite(found.mean).all()
        assert found.ledger.delta() <= DELTA

    @every
    @relations
    def test_one_column(self, rng, baseline, relation):
        found = baseline.released(rng.normal(5.0, 1.0, size=(COUNT, 1)), 1, neighbours=relation)
        assert abs(found.mean[0] - 5.0) < 8 * np.hypot(found.noise_stddev[0], 0.05)

    @every
    @pytest.mark.parametrize("value", [0.0, 3.0])
    def test_equal_records(self, baseline, value):
        found = baseline.released(np.full((COUNT, DIMENSION), value))
        assert np.all(np.abs(found.mean - value) < 8 * found.noise_stddev + 0.02 * value)  # a count is noisy

    @every
    @pytest.mark.parametrize("share", [0.01, 1.0], ids=["a few", "all"])
    def test_enormous_values(self, table, baseline, share):
        table[: math.ceil(share * COUNT)] = [1e300, -1.7e308, 1e-300]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = baseline.release(table)
        assert found.refused or np.isfinite(found.mean).all()


class TestInvalidRows:
    ROWS = ([np.nan] * 3, [np.inf, 0.0, 5.0], [1e9, 0.0, np.nan])

    @every
    @relations
    def test_they_are_all_the_same_kind_of_record(self, table, baseline, relation):
        given = {"on_missing": "drop", "neighbours": relation}
        found = [baseline.released(np.vstack([table, row]), **given) for row in self.ROWS]
        assert all(one == found[0] for one in found)

    @every
    @relations
    def test_they_pull_the_mean_nowhere(self, table, baseline, relation):
        """They count for a record, at most; those that add up offsets from a centre stay there for it."""
        many = np.vstack([table, np.full((5, DIMENSION), np.nan)])
        found = baseline.released(many, on_missing="drop", neighbours=relation)
        assert np.all(np.abs(found.mean - CENTRE) < 8 * np.hypot(found.noise_stddev, 0.06))

    @every
    def test_they_are_an_error_otherwise(self, table, baseline):
        table[3, 1] = np.inf
        with pytest.raises(InvalidRecords, match="on_missing"):
            baseline.release(table, noise=NoDraws())


class TestErrors:
    BAD = (
        ("epsilon", (0.0, -1.0, math.nan, math.inf, "1", 1e-9)),
        ("delta", (0.0, 1.0, -1e-6, math.nan, "1", 1e-15)),
        ("neighbours", ("cousins",)),
        ("on_missing", ("neutral",)),
    )

    @every
    @pytest.mark.parametrize(("name", "values"), BAD)
    def test_a_bad_promise_or_rule_is_named_before_noise_is_drawn(self, table, baseline, name, values):
        for value in values:
            with pytest.raises(InvalidParameter, match=name):
                baseline.release(table, **{name: value}, noise=NoDraws())

    @every
    def test_a_bad_prior_is_named(self, table, baseline):
        bad = {
            "radius": (0.0, -1.0, math.nan, math.inf, "1", None, 1e80),
            "stddev": (0.0, -1.0, math.nan, math.inf, "1", None, 1e80),
            "stddevs": ([1.0], [1.0, 0.0, 1.0], [1.0, -1.0, 1.0], [1.0, math.nan, 1.0], [1e80] * 3, "111", None),
        }
        for name in baseline.priors(DIMENSION):
            for value in bad[name]:
                with pytest.raises(InvalidParameter, match=name):
                    baseline.release(table, **{name: value}, noise=NoDraws())

    @every
    def test_a_prior_that_is_missing_is_an_error(self, table, baseline):
        for name in baseline.priors(DIMENSION):
            priors = {key: value for key, value in baseline.priors(DIMENSION).items() if key != name}
            with pytest.raises(TypeError, match=name):
                baseline.estimate(table, epsilon=1.0, delta=1e-6, **priors)

    @every
    @pytest.mark.parametrize(
        "X", [np.zeros(5), np.zeros((5, 0)), [["a"]], None], ids=["vector", "bare", "text", "none"]
    )
    def test_something_that_is_no_table(self, baseline, X):
        with pytest.raises(InvalidRecords):
            baseline.release(X, noise=NoDraws())


class TestCanary:
    """A secret number in a record, and under add/remove the number of records, show nowhere."""

    @staticmethod
    def talk(caplog, action):
        caplog.set_level(logging.DEBUG)
        said, found = [], None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = action()
            except DimfreeError as error:
                said += [repr(error), "".join(traceback.format_exception(error))]
        return found, [*said, *(str(one.message) for one in caught), *(one.getMessage() for one in caplog.records)]

    @staticmethod
    def silent(texts):
        return not [song for song in SINGS for text in texts if song in text]

    def test_the_ear_hears_it(self):
        assert not self.silent([f"row 11 holds {SECRET}"])
        assert not self.silent([np.array2string(np.array([SECRET, 1e-9]))])

    @every
    @relations
    def test_it_does_not_sing(self, table, baseline, relation, caplog):
        table[11] = SECRET
        found, said = self.talk(caplog, lambda: baseline.released(table, neighbours=relation))
        rows = str(found.ledger.summary_rows()) + repr(found.ledger)
        assert self.silent([*said, repr(found), str(found), found.to_json(), rows, str(found.parameters)])
        if relation == ADD:
            assert all(value != COUNT for value in found.parameters.values())

    @every
    def test_it_does_not_sing_in_errors(self, table, baseline, caplog):
        table[11] = SECRET
        table[3, 1] = np.nan
        for X in (table, table.astype(object), table[:, 0]):
            found, said = self.talk(caplog, lambda X=X: baseline.release(X))
            assert found is None
            assert self.silent(said)
            assert str(COUNT) not in " ".join(said)


class TestNumberOfRecords:
    """Under add/remove the released number alone is used: two tables for which it is the same are treated alike."""

    COUNTS, RELEASED = (380, 420), 400
    WIDE = 50  # columns: enough that finding them all takes more than the least share

    @dataclass
    class Fixed(RecordingNoise):
        """The first Gaussian, that of the count, is `off` records; all others are zero, but for one that is `push`."""

        off: int = 0
        pushed: int = -1
        push: int = 2**20

        def gaussian(self, stddev: float, size: int) -> np.ndarray:
            index = len(self.asked)
            given = self.off * 2**14 if index == 0 else self.push * (index == self.pushed)
            return super().gaussian(stddev, size) + given

    def seen(self, baseline, count, released):
        """All that depends on the number of records, and on it alone where the records are equal."""
        noise = self.Fixed(off=released - count)
        found = baseline.released(np.zeros((count, self.WIDE)), self.WIDE, noise=noise)
        assert found.parameters["count"] == released
        asked, public, spread = list(noise.asked), dict(found.parameters), found.noise_stddev.tolist()
        if baseline.method == "friendly-core":  # a coin for every record; the number kept is released on its own
            _, of_filter, _, of_mean = noise.asked
            asked[1], asked[3], spread = of_filter[:2], of_mean[::2], None
            del public["kept_lower_bound"]
        return asked, public, spread

    @counting
    def test_only_the_released_one_is_used(self, baseline):
        few, many = (self.seen(baseline, count, self.RELEASED) for count in self.COUNTS)
        assert few == many

    @counting
    def test_another_one_would_be_noticed(self, baseline):
        few, many = (self.seen(baseline, count, count) for count in self.COUNTS)
        assert few != many

    def pushed(self, baseline, count, released):
        """How far the last noise, that of the mean, moves it: the same way, whatever the true number."""
        quiet, table = self.Fixed(off=released - count), np.zeros((count, self.WIDE))
        still = baseline.released(table, self.WIDE, noise=quiet)
        noise = self.Fixed(off=released - count, pushed=len(quiet.asked) - 1)
        return baseline.released(table, self.WIDE, noise=noise).mean - still.mean

    @parametrised(ORDER_FREE)  # the others average what was kept
    def test_no_sum_is_divided_by_the_true_one(self, baseline):
        few, many = (self.pushed(baseline, count, self.RELEASED) for count in self.COUNTS)
        assert np.abs(few).max() > 0
        assert many == pytest.approx(few, rel=1e-3, abs=1e-3 * np.abs(few).max())

    @parametrised(ORDER_FREE)
    def test_a_division_by_it_would_be_noticed(self, baseline):
        few, many = (self.pushed(baseline, count, count) for count in self.COUNTS)
        assert np.abs(many - few).max() > 0.05 * np.abs(few).max()

    def test_no_clamp_hides_the_number(self):
        """The share of the histograms of Karwa and Vadhan is a function of n̂ strictly inside its bounds."""
        found = ALL["karwa-vadhan"].released(np.zeros((self.RELEASED, self.WIDE)), self.WIDE, noise=self.Fixed())
        _, _, cells, mean = found.ledger.events
        share = cells.mu**2 / (cells.mu**2 + mean.mu**2)
        assert 1.5 * SHARES[0] < share < SHARES[1] / 1.5


def by_yardsticks(method, X, **given):
    if method == "empirical-mean":
        return empirical_mean(X)
    priors = {"mean": np.full(DIMENSION, CENTRE), "stddevs": np.ones(DIMENSION)}
    return oracle_floor(X, **{"epsilon": EPSILON, "delta": DELTA, "noise": SeededNoise(7), **priors, **given})


class TestUnspoken:
    """The machine's own errors do not speak of the records, whatever the caller has set."""

    EVERYBODY = pytest.mark.parametrize("method", [*ALL, "oracle-floor", "empirical-mean"])
    WILD = ([1e300, -1.7e308, 1e-300], [5e-324, 1.7e308, 1.7e308], [-1e-160, 1e160, 0.0])

    class Full:
        """A table and a source of noise in one, for which there is no memory."""

        private = False

        def no_memory(self, *_, **__):
            raise MemoryError(f"Unable to allocate 11. KiB for an array with shape ({COUNT}, {DIMENSION})")

        __array__ = gaussian = laplace = coin = below = no_memory

    class Strict(SeededNoise):
        """Noise at which something overflows, as a step between two draws may."""

        def gaussian(self, stddev, size):
            assert np.isinf(np.float64(1e308) * np.float64(1e308))
            return super().gaussian(stddev, size)

    @staticmethod
    def answer(method, X, **given):
        return by_yardsticks(method, X, **given) if method not in ALL else ALL[method].release(X, **given)

    def silent(self, action):
        with pytest.raises(OutOfMemory) as error:
            action()
        assert error.value.__cause__ is None
        said = [str(error.value), repr(error.value), "".join(traceback.format_exception(error.value))]
        assert not [text for text in said if str(COUNT) in text or "shape" in text]

    @EVERYBODY
    def test_no_memory_for_the_table(self, method):
        self.silent(lambda: self.answer(method, self.Full()))

    @EVERYBODY
    def test_no_memory_for_a_block(self, method, monkeypatch, table):
        monkeypatch.setattr(records, "_dense", self.Full().no_memory)
        self.silent(lambda: self.answer(method, table))

    @every
    @relations
    def test_no_memory_for_the_noise(self, table, baseline, relation):
        self.silent(lambda: baseline.release(table, neighbours=relation, noise=self.Full()))

    def test_no_memory_for_the_noise_of_a_yardstick(self, table):
        self.silent(lambda: by_yardsticks("oracle-floor", table, noise=self.Full()))

    @EVERYBODY
    @pytest.mark.parametrize("share", [0.01, 1.0], ids=["a few", "all"])
    def test_wild_values_under_strict_settings(self, table, method, share):
        wild = math.ceil(share * COUNT)
        table[:wild] = np.resize(self.WILD, (wild, DIMENSION))
        with np.errstate(all="raise"):
            strict = self.answer(method, table, noise=self.Strict(7))
            assert set(np.geterr().values()) == {"raise"}  # the caller's again
        if method in ALL:
            assert strict == self.answer(method, table)


class TestAccuracy:
    """That the noise stated is the noise drawn: distances from the sample mean in units of `noise_stddev`."""

    @staticmethod
    def units(baseline, seed, relation, noise):
        X = np.random.default_rng(seed).normal(0.0, 1.0, size=(4000, 300))
        wide = {"radius": 40.0} if baseline.method == "friendly-core" else {}
        found = baseline.released(X, 300, neighbours=relation, noise=noise(seed), **wide)
        return float(np.mean(((found.mean - X.mean(axis=0)) / found.noise_stddev) ** 2))

    class Weak(SeededNoise):
        def gaussian(self, stddev, size):
            return super().gaussian(stddev * (0.5 if size > 200 else 1.0), size)

    @sampling(1e-6)
    @every
    @relations
    def test_the_noise_is_what_is_stated(self, baseline, relation, seed):
        assert 0.6 < self.units(baseline, seed, relation, SeededNoise) < 1.6

    @sampling(1e-6)
    @every
    def test_half_of_it_would_be_noticed(self, baseline, seed):
        assert not 0.6 < self.units(baseline, seed, ADD, self.Weak) < 1.6
