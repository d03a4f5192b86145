"""The release as an OpenDP measurement: the map for one and for many, Contexts, odometers, filters, and what is asked
of the data, which OpenDP itself does not look at."""

from collections import Counter
from decimal import Decimal, localcontext
from itertools import pairwise, product

import numpy as np
import opendp.prelude as dp
import pytest
from routes import with_options
from stats import sampling

import dimfree
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.errors import InvalidParameterError, RefusedReleaseError
from dimfree.interop.opendp import _shuffle, group_loss, make_private_mean
from dimfree.options import Options
from dimfree.results.release import Release

dp.enable_features("contrib", "honest-but-curious")
dp.register(make_private_mean)

COLUMNS = 3
DOMAIN = dp.numpy.array2_domain(T=float, num_columns=COLUMNS)
MEASURE = dp.approximate(dp.max_divergence())
CANARY = 918273.25
RELIABLE = Options(failure_probability=1e-9)  # the noise is real, so good data may be refused
KNOWN = {"covariance": np.ones(COLUMNS), "options": RELIABLE}

pytestmark = sampling(false_alarm=1e-8)


def made(epsilon=1.0, delta=1e-6, domain=DOMAIN, metric=None, **changes):
    metric = dp.symmetric_distance() if metric is None else metric
    return make_private_mean(domain, metric, epsilon, delta, **{**KNOWN, **with_options(**changes)})


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(42).normal([1.0, 2.0, 3.0], 1.0, (3000, COLUMNS))


def context(table, epsilon, delta, privacy_unit=None, over=1):
    privacy_unit = dp.unit_of(contributions=1) if privacy_unit is None else privacy_unit
    loss = dp.loss_of(epsilon=epsilon, delta=delta)
    return dp.Context.compositor(
        data=table, privacy_unit=privacy_unit, privacy_loss=loss, split_evenly_over=over, domain=DOMAIN
    )


# The objective


@pytest.mark.parametrize("metric", [dp.symmetric_distance(), dp.change_one_distance()])
def test_the_objective_reaches_the_release(table, metric):
    found = make_private_mean(DOMAIN, metric, 4.0, 1e-6, objective="relative")(table)
    assert (found.method, found.parameters["objective"]) == ("columns", "relative")
    assert np.abs(found.mean - [1.0, 2.0, 3.0]).max() < 0.5
    with pytest.raises(InvalidParameterError, match="objective"):
        make_private_mean(DOMAIN, metric, 4.0, 1e-6, objective="relative", covariance=np.ones(COLUMNS))


# The map


def test_the_map_for_nobody_and_for_one_and_for_all():
    measurement = made(0.7, 1e-7)
    assert measurement.map(0) == (0.0, 0.0)
    assert measurement.map(1) == (0.7, 1e-7)  # to the bit, or a Context would find its allowance exceeded
    assert measurement.output_measure == MEASURE
    assert made().map(2)[0] == 2 * made(metric=dp.change_one_distance()).map(1)[0]
    assert dimfree.opendp.make_private_mean is make_private_mean
    losses = [group_loss(Budget(0.5, 1e-8), steps) for steps in range(200)]
    assert losses == sorted(losses)
    assert all(left[1] <= right[1] for left, right in pairwise(losses))
    assert group_loss(Budget(0.5, 1e-8), 2**32 - 1) == (0.5 * (2**32 - 1), 1.0)


@pytest.mark.parametrize("epsilon", [1e-3, 0.7, 30.0])
@pytest.mark.parametrize("steps", [2, 7, 50])
def test_the_map_for_groups_step_by_step(epsilon, steps):
    """From the first array to the last, D(e^{kε}) ≤ δ + e^ε D(e^{(k-1)ε}): followed with sixty digits."""
    delta = 1e-9
    with localcontext(prec=60):
        exact = Decimal(0)
        for _ in range(steps):
            exact = Decimal(delta) + Decimal(epsilon).exp() * exact
        found_epsilon, found_delta = map(Decimal, group_loss(Budget(epsilon, delta), steps))
        assert Decimal(epsilon) * steps <= found_epsilon <= Decimal(epsilon) * steps * Decimal(1 + 2**-52)
        assert min(1, exact) <= found_delta <= min(1, exact * Decimal(1 + 1e-11))


# Metrics: what one step is


@pytest.mark.parametrize(
    ("metric", "relation"),
    [
        (dp.symmetric_distance(), Neighbors.ADD_REMOVE),
        (dp.insert_delete_distance(), Neighbors.ADD_REMOVE),
        (dp.change_one_distance(), Neighbors.REPLACE_ONE),
        (dp.hamming_distance(), Neighbors.REPLACE_ONE),
    ],
)
def test_the_metric_decides_what_a_neighbour_is(table, metric, relation):
    release = made(metric=metric)(table)
    assert isinstance(release, Release)
    assert release.guarantee.neighbors is relation
    assert release.guarantee.private
    assert (release.guarantee.epsilon, release.guarantee.delta) == (1.0, 1e-6)
    assert np.all(np.abs(release.mean - [1.0, 2.0, 3.0]) < 1.0)


class Keys:
    """Noise that gives these keys, one list after another."""

    def __init__(self, *lists):
        self.lists = list(lists)

    def below(self, bound, size):
        assert bound == 2**62
        return np.array(self.lists.pop(0))[:size]


def test_between_multisets_the_order_is_exactly_uniform():
    """Every list of four keys from four: those without a tie give each order once, the others are drawn again."""
    rows, last = np.arange(4.0)[:, None], [0, 1, 2, 3]
    orders = Counter()
    for keys in product(range(4), repeat=4):
        noise = Keys(list(keys), last)
        order = tuple(_shuffle(rows, noise).ravel())
        assert (len(noise.lists) == 0) == (len(set(keys)) < 4)
        if noise.lists:
            orders[order] += 1
    assert len(orders) == 24
    assert set(orders.values()) == {1}


def test_rows_are_shuffled_only_where_the_metric_does_not_see_their_order(table, monkeypatch):
    given = []
    monkeypatch.setattr("dimfree.interop.opendp.release_mean", lambda X, **options: given.append(X))
    for metric in (
        dp.symmetric_distance(),
        dp.change_one_distance(),
        dp.insert_delete_distance(),
        dp.hamming_distance(),
    ):
        made(metric=metric)(table)
    told = [X for X in given if len(X)]  # the others are rehearsals
    assert [bool(np.array_equal(X, table)) for X in told] == [False, False, True, True]
    assert all(np.array_equal(np.sort(X, axis=0), np.sort(table, axis=0)) for X in told)


# Schema: OpenDP lets everything in


WRONG_DOMAINS = (
    dp.numpy.array2_domain(T=float),
    dp.numpy.array2_domain(T=str, num_columns=COLUMNS),
    dp.vector_domain(dp.atom_domain(T=float)),
    None,
)


@pytest.mark.parametrize(
    "wrong",
    [
        np.full((50, COLUMNS + 1), CANARY),
        np.full(COLUMNS, CANARY),
        np.full((50, COLUMNS), f"{CANARY}"),
        np.full((50, COLUMNS), CANARY, dtype=object),
        np.full((50, COLUMNS), CANARY + 1j),
        np.ma.masked_equal(np.full((50, COLUMNS), CANARY), 0.0),
    ],
    ids=["width", "rank", "text", "object", "complex", "masked"],
)
def test_arrays_outside_the_schema_are_errors_that_tell_no_value(wrong):
    with pytest.raises(Exception, match="as in the domain") as caught:
        made()(wrong)
    assert "918273" not in str(caught.value)
    assert "50" not in str(caught.value).rpartition("InvalidDataError")[2]


@pytest.mark.parametrize("kind", [float, np.float32, np.int32, np.int64])
def test_arrays_of_all_numbers_and_rows_that_are_not_finite_count_for_nothing(table, kind):
    X = table.astype(kind)
    if kind is float:
        X[:5], X[7, 1] = np.nan, np.inf
    release = made()(X)
    assert np.isfinite(release.mean).all()
    assert np.all(np.abs(release.mean - [1.0, 2.0, 3.0]) < 1.5)


def test_a_refusal_is_an_answer_whatever_the_number_of_rows(table):
    for rows in (0, 1, 7):
        release = made()(table[:rows])
        assert release.refused
        with pytest.raises(RefusedReleaseError):
            release.mean  # noqa: B018


def test_a_public_number_of_rows_is_looked_at_a_private_one_is_not(table):
    sized = dp.numpy.array2_domain(T=float, num_columns=COLUMNS, size=3000)
    with pytest.raises(Exception, match="3000 rows, as in the domain"):
        made(domain=sized, metric=dp.change_one_distance())(table[:2900])
    assert not made(domain=sized)(table[:2900]).refused


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        *(({"metric": metric}, "input_metric") for metric in (dp.discrete_distance(), dp.l2_distance(T=float), "x")),
        *(({"domain": domain}, r"input_domain.*array2_domain") for domain in WRONG_DOMAINS),
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": 0.0}, "delta"),
        ({"covariance": np.ones(2)}, "covariance"),
        ({"covariance": "round"}, "covariance"),
        ({"outliers": 0.9}, "outliers"),
        ({"tails": "long"}, "tails"),
        ({"window": (2.0, 1.0)}, "window"),
        ({"failure_probability": 0}, "failure_probability"),
    ],
)
def test_parameters_fail_when_made_not_when_charged(changes, word):
    with pytest.raises(InvalidParameterError, match=word):
        made(**changes)


# In OpenDP's own contexts


def test_in_a_context(table):
    opendp_context = context(table, 2.0, 2e-6, over=2)
    assert not opendp_context.query().private_mean(1.0, 1e-6, **KNOWN).release().refused
    assert opendp_context.current_privacy_loss() == [(1.0, 1e-6)]
    found = opendp_context.query().private_mean(delta=1e-6, **KNOWN)  # OpenDP looks for the epsilon that is left
    assert found.param() == 1.0
    assert found.release().guarantee.epsilon == 1.0
    with pytest.raises(ValueError, match="exhausted"):
        opendp_context.query().private_mean(1.0, 1e-6, **KNOWN).release()


@pytest.mark.parametrize("privacy_unit", [dp.unit_of(contributions=3), dp.unit_of(changes=3)])
def test_in_a_context_whose_unit_is_a_group(table, privacy_unit):
    query = context(table, 3.0, 1e-6, privacy_unit).query().private_mean(delta=1e-8, **KNOWN)
    epsilon = query.param()
    assert epsilon == pytest.approx(1.0, rel=1e-9)
    spent = group_loss(Budget(epsilon, 1e-8), 3)
    assert spent[0] <= 3.0
    assert spent[1] <= 1e-6
    assert query.release().guarantee.epsilon == epsilon


def test_a_group_that_needs_more_delta_than_there_is(table):
    with pytest.raises(dp.OpenDPException, match="insufficient budget"):
        context(table, 3.0, 1e-6, dp.unit_of(contributions=3)).query().private_mean(1.0, 5e-7, **KNOWN).release()


def test_under_an_odometer_and_a_filter(table):
    odometer = dp.c.make_fully_adaptive_composition(DOMAIN, dp.symmetric_distance(), MEASURE)
    ask = odometer(table)
    for times in (1, 2):
        ask(made())
        assert ask.privacy_loss(1) == (1.0 * times, 1e-6 * times)
    assert ask.privacy_loss(2)[1] >= 2 * group_loss(Budget(1.0, 1e-6), 2)[1]
    ask = dp.c.make_privacy_filter(odometer, d_in=1, d_out=(1.5, 1.5e-6))(table)
    assert not ask(made()).refused
    with pytest.raises(dp.OpenDPException, match="exhausted"):
        ask(made())


def test_no_answer_carries_the_data(table):
    """OpenDP hangs its arguments on every answer that takes an attribute; a Release has none."""
    for answer in (made()(table), context(table, 1.0, 1e-6).query().private_mean(1.0, 1e-6, **KNOWN).release()):
        assert not hasattr(answer, "__opendp_dict__")
        with pytest.raises(AttributeError):
            answer.anything = table


def test_consent_is_asked_for():
    dp.disable_features("honest-but-curious")
    try:
        with pytest.raises(InvalidParameterError, match=r'enable_features\("contrib", "honest-but-curious"\)'):
            made()
    finally:
        dp.enable_features("honest-but-curious")
