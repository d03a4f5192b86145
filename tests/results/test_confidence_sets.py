"""Balls, boxes and their quantiles against hand-made laws; each part separately; what a set states of itself."""

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from pages import common
from scipy.integrate import quad
from scipy.stats import chi2, ncx2, norm

from dimfree import InvalidParameterError, RefusedReleaseError, Release
from dimfree.results.confidence_sets import NO_POPULATION, OUT_OF_RANGE, UNMEASURED, describe_intervals
from dimfree.results.error_model import Clipping, ErrorModel, EstimatedVariances
from dimfree.results.quantiles import coordinate_quantile, length_quantile, uncertain_quantile

WIDE = 4
CENTRE = np.array([1.0, -2.0, 3.0, 0.0])
COMMON = common(WIDE, method="auto")


def released(noise=0.3, learned=None, **model):
    stddev = np.full(WIDE, noise)
    return Release.released(
        mean=CENTRE, noise_stddev=stddev, error_model=ErrorModel(**model), estimated_variances=learned, **COMMON
    )


def sampled(**more):
    """Noise 0.3 and sampling 0.4 in every coordinate: 0.5 together."""
    return released(record_stddev=np.full(WIDE, 4.0), records=100.0, **more)


def test_a_coordinate_with_an_uncertain_spread_against_an_integral():
    noise, sampling, log_stddev = 0.3, 1.0, 0.4
    for confidence in (0.5, 0.95, 0.9995):
        clipping = uncertain_quantile(*(np.array([part]) for part in (noise, sampling, log_stddev)), confidence)[0]

        def outside(z, clipping=clipping):
            stddev = np.hypot(noise, sampling * np.exp(log_stddev * z))
            return norm.pdf(z) * 2 * norm.cdf(-clipping / stddev)

        assert quad(outside, -9, 9)[0] == pytest.approx(1 - confidence, rel=1e-3)


def test_the_default_interval_holds_sampling_error_and_widening_multiplies_it():
    for release, clipping in ((sampled(), 0.5), (sampled(widening=4.0), np.hypot(0.3, 0.8))):
        low, high = release.confidence_interval()
        assert np.allclose(high - low, 2 * norm.ppf(0.975) * clipping)
        low, high = release.confidence_interval(target="sample")
        assert np.allclose(high - low, 2 * norm.ppf(0.975) * 0.3)
    plain, wide = sampled(), sampled(widening=4.0)
    assert wide.confidence_box().parts.sampling == pytest.approx(2 * plain.confidence_box().parts.sampling)
    assert wide.confidence_ball().parts.sampling == pytest.approx(2 * plain.confidence_ball().parts.sampling)


def test_the_ball_of_a_known_model_is_a_chi_square_about_the_mean():
    ball = sampled().confidence_ball(0.9)
    assert ball.radius == pytest.approx(0.5 * np.sqrt(chi2.ppf(0.9, WIDE)), rel=1e-6)
    assert ball.parts.noise == pytest.approx(0.6 * ball.radius)
    assert ball.parts.sampling == pytest.approx(0.8 * ball.radius)
    assert (ball.parts.noise_share, ball.parts.sampling_share) == pytest.approx((0.36, 0.64))
    assert ball.covers == "the population mean"
    assert np.array_equal(ball.center, CENTRE)
    assert ball.radius == sampled().error_radius(0.9)


def test_the_box_of_a_known_model_is_sidak():
    each, at_once = sampled().confidence_box(0.9, simultaneous=False), sampled().confidence_box(0.9)
    assert each.high - CENTRE == pytest.approx(0.5 * norm.ppf(0.95))
    assert at_once.high - CENTRE == pytest.approx(0.5 * norm.ppf(0.5 + 0.5 * 0.9 ** (1 / WIDE)))
    assert at_once.high + at_once.low == pytest.approx(2 * CENTRE)
    assert each.parts.noise == pytest.approx(0.3)
    assert each.parts.sampling == pytest.approx(0.4)
    assert np.array_equal((at_once.low, at_once.high), sampled().confidence_interval(0.9, simultaneous=True))


@pytest.mark.parametrize("clipping", [None, Clipping(2.5, np.zeros(WIDE), np.ones(WIDE))])
def test_a_set_of_the_sample_mean_names_which_records_it_covers(clipping):
    release = Release.released(mean=CENTRE, noise_stddev=np.full(WIDE, 0.3), clipping=clipping, **COMMON)
    ball, box = release.confidence_ball(target="sample"), release.confidence_box(target="sample")
    assert ball.radius == pytest.approx(0.3 * np.sqrt(chi2.ppf(0.95, WIDE)), rel=1e-6)
    assert ball.parts.sampling is box.parts.sampling is None
    for region in (ball, box):
        assert region.covers.startswith("the mean of these records")
        assert ("radius 2.5" in region.covers) == (clipping is not None)
        assert region.covers in region.statement()
        assert "Sampling error is not covered" in region.statement()


def test_learned_variances_widen_a_box_more_where_more_is_asked_of_it():
    learned = EstimatedVariances(np.full(WIDE, 16.0), np.array([0.0, 0.1, 0.3, 0.6]))
    release = sampled(learned=learned)
    for confidence, simultaneous in ((0.5, False), (0.999, True)):
        plain, wide = (r.confidence_box(confidence, simultaneous=simultaneous) for r in (sampled(), release))
        ratio = (wide.high - CENTRE) / (plain.high - CENTRE)
        assert ratio[0] == pytest.approx(1.0)
        assert (np.diff(ratio) > (0 if simultaneous else -0.1)).all()
    assert ratio[-1] > 1.5
    assert release.confidence_ball().learned
    assert not sampled().confidence_ball().learned


@pytest.mark.parametrize("correlation", [0.3, 1.0])
def test_a_correlation_moves_sampling_into_one_direction(correlation, seed):
    """The ball covers what equally correlated columns do; a box takes any correlation as it is (Šidák)."""
    release = sampled(correlation=correlation)
    shares = np.full(WIDE, 1 - correlation) + np.append(WIDE * correlation, np.zeros(WIDE - 1))
    assert release.confidence_ball(0.9).radius == pytest.approx(length_quantile(0.09 + 0.16 * shares, 0.9))
    assert np.array_equal(release.confidence_box().low, sampled().confidence_box().low)
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(size=(20_000, 1)), rng.normal(size=(20_000, WIDE))
    sampling = 0.4 * (np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)
    lengths = np.linalg.norm(0.3 * rng.normal(size=sampling.shape) + sampling, axis=1)
    assert abs((lengths <= release.confidence_ball(0.9).radius).mean() - 0.9) < 5 * np.sqrt(0.09 / 20_000)


def test_a_point_is_in_or_out_and_must_fit():
    ball, box = sampled().confidence_ball(), sampled().confidence_box()
    step = np.array([1.0, 0.0, 0.0, 0.0])
    assert ball.contains(CENTRE + 0.999 * ball.radius * step)
    assert not ball.contains(CENTRE + 1.001 * ball.radius * step)
    assert box.contains(box.high)
    assert not box.contains(box.high + 0.001 * step)
    for region in (ball, box):
        with pytest.raises(InvalidParameterError, match="point"):
            region.contains([1.0, 2.0])
        with pytest.raises(InvalidParameterError, match="point"):
            region.contains([np.nan] * WIDE)


def test_sets_can_be_written_down_and_not_changed():
    release = sampled()
    for region in (release.confidence_ball(), release.confidence_box()):
        shown = json.loads(json.dumps(region.to_dict()))
        assert shown["covers"] == region.covers
        assert shown["statement"] == region.statement()
        assert set(shown["parts"]) >= {"noise", "sampling"}
        with pytest.raises(FrozenInstanceError):
            region.confidence = 0.5
    with pytest.raises(ValueError, match="read-only"):
        release.confidence_ball().center[0] = 0.0


def test_what_an_earlier_run_says_of_the_population_holds_for_a_release_in_its_shape():
    shape = EstimatedVariances(np.full(WIDE, 9.0), np.full(WIDE, 0.2))
    earlier = sampled(learned=shape, widening=3.0, correlation=0.5)
    later = sampled().with_estimated_variances(earlier)
    assert (later.error_model.widening, later.error_model.correlation, later.error_model.records) == (3.0, 0.5, 100.0)
    assert np.array_equal(later.estimated_variances.variances, np.full(WIDE, 16.0))
    silent = released(learned=shape, record_stddev=np.full(WIDE, 3.0))
    assert not sampled().with_estimated_variances(silent).error_model.covers_population
    unmeasured = sampled(learned=shape, unmeasured=True)
    assert sampled().with_estimated_variances(unmeasured).error_model.unmeasured
    assert sampled().with_estimated_variances(sampled()) == sampled()


def test_sets_say_which_columns_they_do_not_cover():
    flags = np.arange(WIDE) == 1
    release = sampled(without_interval=flags)
    box, ball = release.confidence_box(), release.confidence_ball()
    assert np.array_equal(np.isinf(box.low), flags)
    assert np.array_equal(np.isinf(box.high), flags)
    assert not box.high.flags.writeable
    assert box.contains(CENTRE + 1e300 * flags)
    assert box.to_dict()["low"][1] is box.to_dict()["high"][1] is None
    json.dumps(box.to_dict(), allow_nan=False)
    assert ball.uncovered == ball.to_dict()["uncovered"] == 1
    for region in (box, ball):
        assert "Columns without an interval are not covered (1)." in region.statement()
    bare = sampled()
    assert "without an interval" not in bare.confidence_ball().statement() + bare.confidence_box().statement()


def test_clipping_widens_the_noise_alone():
    wider = np.hypot(1, 0.5)
    low, high = released(clipping_bias=0.5).confidence_interval(0.9, target="sample")
    assert np.allclose(high - low, wider * np.subtract(*released().confidence_interval(0.9, target="sample")[::-1]))
    assert released(clipping_bias=0.5).error_radius(0.9, target="sample") == pytest.approx(
        wider * released().error_radius(0.9, target="sample")
    )
    low, high = sampled(clipping_bias=0.5).confidence_interval(0.9)
    assert np.allclose(high - low, 2 * norm.ppf(0.95) * np.hypot(0.3 * wider, 0.4))
    assert np.array_equal(sampled(clipping_bias=0.5).noise_stddev, sampled().noise_stddev)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"clipping_bias": 0.5}, "allowed for as 0.5 additional noise SDs"),
        ({"unmeasured": True}, UNMEASURED),
        ({"learned": EstimatedVariances(np.full(WIDE, 16.0), np.full(WIDE, 0.1))}, "privately estimated"),
    ],
)
def test_a_statement_names_every_part_and_comes_back(model, words):
    release = Release.from_json(sampled(**model).to_json())
    for region in (release.confidence_ball(), release.confidence_box()):
        text = region.statement()
        assert text.index("population mean") < text.index("Privacy noise (") < text.index("Sampling error (")
        assert words in text
    plain = sampled()
    assert words not in plain.confidence_ball().statement() + plain.confidence_box().statement()
    assert describe_intervals(release.error_model).endswith(UNMEASURED) == release.error_model.unmeasured
    assert ("unmeasured" in release.error_model.to_dict()) == release.error_model.unmeasured


WRONG = [{"clipping_bias": -0.1}, {"clipping_bias": np.inf}, {"unmeasured": 1}, {"widening": 0.9}, {"widening": np.inf}]


@pytest.mark.parametrize("wrong", [*WRONG, {"correlation": -0.1}, {"correlation": 1.1}])
def test_a_wrong_model_is_named(wrong):
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        released(**wrong)


@pytest.mark.parametrize("method", ["confidence_interval", "error_radius", "confidence_ball", "confidence_box"])
def test_wrong_levels_and_targets_are_named_and_a_refusal_has_no_set(method):
    make = getattr(sampled(), method)
    for level in (0.0, 1.0, "high", float("nan")):
        with pytest.raises(InvalidParameterError, match="level"):
            make(level)
    for target in ("people", None, True, "Sample"):
        with pytest.raises(InvalidParameterError, match="target"):
            make(target=target)
    with pytest.raises(RefusedReleaseError):
        getattr(Release.from_refusal("Too few.", **COMMON), method)()


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("shift", [0.1, 0.3, 0.5, 1.0, 2.0])
def test_bars_are_wide_enough_for_the_shift_that_they_allow_for(confidence, shift):
    release = released(clipping_bias=shift)
    clipping = (release.confidence_interval(confidence, target="sample")[1] - release.mean)[0] / 0.3
    assert norm.cdf(clipping - shift) - norm.cdf(-clipping - shift) >= confidence - 1e-4
    alone = (released().confidence_interval(confidence, target="sample")[1] - release.mean)[0] / 0.3
    assert norm.cdf(alone - shift) - norm.cdf(-alone - shift) < confidence  # the partner: not so without
    every = ncx2.cdf((release.error_radius(confidence, target="sample") / 0.3) ** 2, WIDE, WIDE * shift**2)
    assert every >= confidence - 0.02  # of a shift as long as so many noises, at worst


def test_the_population_has_no_interval_if_the_release_does_not_model_it():
    release = Release.from_json(released().to_json())
    assert np.isinf(release.confidence_interval(0.9)).all()
    assert np.isinf(release.confidence_interval(0.9, simultaneous=True)).all()
    assert np.isinf(release.error_radius(0.9))
    for found in (release.confidence_ball(), release.confidence_box()):
        assert found.statement() == NO_POPULATION == describe_intervals(release.error_model)
        json.dumps(found.to_dict(), allow_nan=False)
    assert np.isfinite(release.confidence_interval(0.9, target="sample")).all()


@pytest.mark.parametrize(("noise", "sd"), [(0.3, 1e160), (1e160, 4.0), (1e160, 1e160), (1e-170, 1e-170)])
def test_squares_beyond_the_range_of_floats_leave_no_ball_but_a_box(noise, sd):
    release = released(noise, record_stddev=np.full(WIDE, sd), records=100.0)
    for target in ("population", "sample"):
        ball = release.confidence_ball(target=target)
        if target == "population" or noise != 0.3:
            assert release.error_radius(target=target) == ball.radius == np.inf
            assert ball.statement() == OUT_OF_RANGE
        assert json.loads(json.dumps(ball.to_dict(), allow_nan=False))["parts"]["noise"] != 0
        low, high = release.confidence_interval(target=target)
        assert np.isfinite([low, high]).all()
        assert noise < 0.3 or (high - low >= 3.9 * noise).all()


@pytest.mark.parametrize("dimension", [1, 2, 10, 20_000])
@pytest.mark.parametrize("confidence", [0.01, 0.95, 1 - 1e-6])
def test_equal_variances_are_a_chi_square(dimension, confidence):
    found = length_quantile(np.full(dimension, 3.0), confidence)
    assert found**2 == pytest.approx(3 * chi2.ppf(confidence, dimension), rel=1e-6)


@pytest.mark.parametrize("confidence", [0.1, 0.9, 0.999])
def test_two_pairs_of_variances_are_a_sum_of_exponentials(confidence):
    """Q = a·χ²_2 + b·χ²_2 has P(Q > x) = (a e^{-x/2a} - b e^{-x/2b})/(a - b)."""
    a, b = 2.0, 0.3
    x = length_quantile(np.array([a, a, b, b]), confidence) ** 2
    assert (a * np.exp(-x / (2 * a)) - b * np.exp(-x / (2 * b))) / (a - b) == pytest.approx(1 - confidence, rel=1e-6)


def test_a_steep_spectrum_against_simulation(seed):
    variances = 1 / np.arange(1, 301) ** 2.0
    lengths = np.sqrt((np.random.default_rng(seed).normal(size=(20_000, 300)) ** 2) @ variances)
    inside = (lengths <= length_quantile(variances, 0.9)).mean()
    assert abs(inside - 0.9) < 5 * np.sqrt(0.09 / 20_000)
    assert not abs((lengths <= 0.9 * length_quantile(variances, 0.9)).mean() - 0.9) < 5 * np.sqrt(0.09 / 20_000)


def test_negligible_variances_change_nothing_and_scale_is_equivariant():
    base = length_quantile(np.array([1.0, 0.5]), 0.95)
    assert length_quantile(np.array([1.0, 0.5, 1e-18, 0.0]), 0.95) == pytest.approx(base, rel=1e-7)
    assert length_quantile(np.array([4.0, 2.0]) * 1e-12, 0.95) == pytest.approx(2e-6 * base, rel=1e-7)


def test_many_coordinates_at_once():
    assert coordinate_quantile(0.95) == pytest.approx(norm.ppf(0.975))
    clipping = coordinate_quantile(0.95, 1000)
    assert (2 * norm.cdf(clipping) - 1) ** 1000 == pytest.approx(0.95)
