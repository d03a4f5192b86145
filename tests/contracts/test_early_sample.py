"""Where records are many, all but the last look and the last stage see a sample of them, wherever the records lie."""

import json
import math
from contextlib import nullcontext

import numpy as np
import pytest
from routes import early_samples, through_the_core, with_options
from scipy import sparse
from states import standing_view
from streams import RecordedStream, needs

from dimfree import release_mean
from dimfree.accounting.budget import Neighbors
from dimfree.data.gpu.device import Place
from dimfree.data.records import Records, as_records
from dimfree.programs.choose import constants
from dimfree.programs.choose.core import Size, choose_pilot_rate, compute_snr
from dimfree.programs.learn.state import StepSetting
from dimfree.testing import SeededNoise

ROWS, EARLY = 1500, 700
VARIANCES = np.array([1.0, 4.0, 0.25, 1.0])
WAYS = {
    "columns": {},
    "relative": {"objective": "relative"},
    "core": {},
    "turned": {"basis": "dct"},
    "known": {"covariance": VARIANCES},
    "mixed": {"covariance": np.diag(VARIANCES) + 0.1},
    "replace-one": {"neighbors": "replace-one"},
    "complete-case": {"missing": "complete-case"},
    "available-case": {"missing": "available-case"},
}
BY_CORE = ("core", "replace-one")


@pytest.fixture(scope="module")
def tables():
    """For each way; entries are missing only where they are read one by one."""
    drawn = np.random.default_rng(3).standard_normal((ROWS, 4)) * np.sqrt(VARIANCES) + [3, -1, 0, 7]
    table = drawn.astype(np.float32)
    return {way: np.where(table > 8, np.float32(np.nan), table) if way == "available-case" else table for way in WAYS}


@pytest.fixture
def table(tables, request):
    chosen = getattr(request.node, "callspec", None)
    return tables["columns" if chosen is None else chosen.params.get("way", "columns")]


def released(X, way: str, early: int = EARLY) -> dict:
    given = {"epsilon": 6.0, "delta": 1e-6, "core_sample": 500, "noise": SeededNoise(5), **WAYS[way]}
    with early_samples(early), through_the_core() if way in BY_CORE else nullcontext():
        release = release_mean(X, **with_options(**given))
    assert not release.refused
    return json.loads(release.to_json())


@pytest.fixture(scope="module")
def in_memory(tables):
    return {way: released(tables[way], way) for way in WAYS}


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_gives_the_same_release_in_four_passes(table, in_memory, way):
    stream = RecordedStream(table, most=97)
    assert released(Records(stream, None), way) == in_memory[way]
    assert stream.passes <= 4 + (
        way == "available-case"
    )  # validity (or valid records, or two counts), sample, lengths, mean


@pytest.mark.parametrize("way", WAYS)
def test_sparse_rows_and_partitions_give_the_same_release(table, in_memory, way):
    assert released(sparse.csr_array(table), way) == in_memory[way]
    assert released(needs("dask.array").from_array(table, chunks=(350, 3)), way) == in_memory[way]


@pytest.mark.parametrize("way", WAYS)
def test_a_device_gives_the_same_release(table, in_memory, way):
    torch, place = needs("torch"), Place("cpu")
    from dimfree.data.gpu.rows import DeviceRows

    for records in (as_records(table), Records(DeviceRows(torch.tensor(table)), None)):
        assert released(records.on(place), way) == in_memory[way]


@pytest.mark.parametrize("way", WAYS)
def test_the_answer_is_the_mean_of_all_records_and_the_table_is_left_as_it_is(table, in_memory, way):
    """Up to the stated noise, beside which the mean of half of the records lies far away (P21).

    Distances overwrite the rows that they were computed from: never those of the caller.
    """
    noise = np.array(in_memory[way]["noise_stddev"])
    off = (in_memory[way]["mean"] - np.nanmean(table, axis=0, dtype=np.float64)) / noise
    half = np.sqrt(VARIANCES * (1 / EARLY - 1 / ROWS)) / noise
    assert np.sqrt(np.mean(off**2)) < 2
    assert np.sqrt(np.mean(half**2)) > 4
    given = table.astype(np.float64)
    with_sample, without = (released(given, way, early) for early in (EARLY, 10 * ROWS))
    np.testing.assert_array_equal(given, table)
    if "covariance" not in WAYS[way]:  # with a known covariance one stage, which sees all, may do
        assert with_sample["mean"] != without["mean"]  # otherwise nothing here would be about a sample


@pytest.mark.parametrize("way", ["complete-case", "available-case"])
def test_a_sample_without_enough_entries_is_not_drawn(table, way):
    """Of a column that few records have, a sample of as many records as usual would have next to nothing."""
    holes = table.astype(np.float64)
    holes[np.arange(ROWS) % 4 > 0, 2] = np.nan
    assert released(holes, way) == released(holes, way, early=10 * ROWS)


@pytest.mark.parametrize("capacity", [0, 10, ROWS])
def test_more_records_than_expected_are_all_held(table, capacity):
    """A buffer that is too small grows: no record is left out for another one."""
    chosen = np.arange(ROWS) % 3 == 1
    for source in (as_records(table), Records(RecordedStream(table, 97), None)):
        held = source.load_rows(chosen, capacity)
        assert not held.streams
        np.testing.assert_array_equal(np.concatenate([block for block, _ in held.blocks()]), table[chosen])
    (block, _), *_ = as_records(table).load_rows(chosen, capacity).blocks()
    with pytest.raises(ValueError, match="read-only"):
        block[0] = 1.0


def test_a_sample_is_strong_enough_not_larger_and_not_drawn_without_memory():
    size, precision = Size(1e8, 30.0, 4096), 1e-4
    found = compute_snr(choose_pilot_rate(size, precision, 10) * size.count, Neighbors.ADD_REMOVE, precision, 10)
    assert 0.9999 * constants.PILOT_SAMPLE_SNR <= found < 1.001 * constants.PILOT_SAMPLE_SNR
    columns = constants.MAX_PILOT_SAMPLE_BYTES // 8 // constants.MIN_PILOT_SAMPLE
    assert choose_pilot_rate(Size(1e9, 30.0, 4096), 1e6, columns) < 1
    assert choose_pilot_rate(Size(1e9, 30.0, 4096), 1e6, columns + 1) == 1


def test_the_number_of_a_sample_is_as_uncertain_as_its_coins():
    everyone, some = (standing_view(np.zeros((rows, 2)), noise=SeededNoise(0)) for rows in (4, 1))
    setting = StepSetting(everyone, 1000.0, 30.0).on_sample(some, 0.25)
    assert (setting.count, setting.final_count) == (250.0, 1000.0)
    assert setting.count_stddev == pytest.approx(math.sqrt((0.25 * 30) ** 2 + 1000 * 0.25 * 0.75))
    assert (setting.of_all().count, setting.of_all().whole) == (1000.0, None)
    assert StepSetting(everyone, 1000.0).on_sample(some, 0.25).count_stddev == 0
