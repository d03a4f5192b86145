"""A table in dask partitions: the release of the table in memory to the last bit, and not a word about its records."""

import json
import logging
import pickle
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sparse
from routes import with_options
from streams import needs, rows_of

import dimfree
from dimfree.data import partitions
from dimfree.data.gpu import device
from dimfree.data.partitions import DaskTable, Failure, Form, Part, pack_mask
from dimfree.data.records import Records, as_records, open_records
from dimfree.errors import ClusterError, InvalidDataError, InvalidParameterError, OutOfMemoryError
from dimfree.kernel.rows.space import Space
from dimfree.noise import SeededNoise
from dimfree.progress import report_to
from dimfree.shapes import IsotropicCovariance

dask, da, dd, pd = needs("dask"), needs("dask.array"), needs("dask.dataframe"), needs("pandas")

ROWS = 1500
NAMES = ["first", "second", "third", "fourth"]
BUDGET = {"epsilon": 4.0, "delta": 1e-6}
OPTIONS = {
    "auto": {"core_sample": 600},
    "all in the core": {},
    "known": {"covariance": np.array([1.0, 4.0, 0.25, 1.0]), "core_sample": 500},
    "mixed": {"covariance": np.diag([1.0, 4.0, 0.25, 1.0]) + 0.1, "core_sample": 500},
    "replace-one": {"neighbors": "replace-one", "core_sample": 600},
}
CHUNKS = [(1500, 4), (350, 4), (131, 3), ((1, 0, 1498, 1), (1, 2, 1))]
SECRET = 123456.78125


@pytest.fixture(scope="module")
def releases(table):
    """Of the table in memory."""
    return {name: released(table, **options) for name, options in OPTIONS.items()}


@pytest.fixture(params=["synchronous", "threads"])
def scheduler(request):
    with dask.config.set(scheduler=request.param):
        yield request.param


def released(X, **options) -> dict:
    release = dimfree.release_mean(X, **with_options(**BUDGET, **options, noise=SeededNoise(5)))
    assert not release.refused
    return json.loads(release.to_json())


def frame(table, npartitions=7):
    return dd.from_pandas(pd.DataFrame(table, columns=NAMES[: table.shape[1]]), npartitions=npartitions, sort=False)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_array_gives_the_release_of_the_table_in_memory(table, releases, scheduler, name):
    assert released(da.from_array(table, chunks=(350, 3)), **OPTIONS[name]) == releases[name]


@pytest.mark.parametrize("chunks", CHUNKS, ids=["one", "rows", "both", "odd"])
def test_chunks_do_not_show(table, releases, chunks):
    assert released(da.from_array(table, chunks=chunks), **OPTIONS["known"]) == releases["known"]


@pytest.mark.parametrize("name", ["auto", "known"])
def test_a_frame_gives_the_release_of_the_frame_in_memory(table, scheduler, name):
    inside = pd.DataFrame(table, columns=NAMES)
    found = released(frame(table), **OPTIONS[name])
    assert found == released(inside, **OPTIONS[name])
    assert found["columns"] == NAMES


def test_rows_that_are_not_finite_count_for_nothing(table, scheduler):
    holes = table.copy()
    holes[::91, 1], holes[5], holes[131:134, 0] = np.nan, np.inf, -np.inf
    expected = released(holes, missing="complete-case", **OPTIONS["known"])
    assert released(da.from_array(holes, chunks=(131, 2)), missing="complete-case", **OPTIONS["known"]) == expected
    with pytest.raises(InvalidDataError, match="missing='raise'"):
        released(da.from_array(holes, chunks=(131, 2)), **OPTIONS["known"])


def test_stored_types_become_the_same_numbers(table):
    whole = np.rint(table * 100).astype(np.int32)
    gaps = pd.DataFrame({"a": pd.array([1, None, 3] * 9, dtype="Int64"), "b": [True, False, True] * 9})
    hidden = np.ma.masked_less(table, 0)
    thin = sparse.csr_array(np.where(table > 1, table, 0.0))
    blocks = da.from_array(thin.toarray(), chunks=(400, 4)).map_blocks(sparse.csr_array)
    pairs = [
        (da.from_array(whole, chunks=(300, 2)), whole),
        (da.from_array(table.astype(np.float32), chunks=(300, 4)), table.astype(np.float32)),
        (dd.from_pandas(gaps, npartitions=3), gaps),
        (da.from_array(hidden, chunks=(300, 4), asarray=False), hidden),
        (blocks, thin),
    ]
    for apart, together in pairs:
        assert rows_of(as_records(apart)).tobytes() == rows_of(as_records(together)).tobytes()


def test_lengths_that_are_not_known_are_counted(table, releases):
    X = da.from_array(np.vstack([table, table + np.nan]), chunks=(230, 4))
    few = X[~da.isnan(X).any(axis=1)]
    assert np.isnan(few.shape[0])
    assert released(few, **OPTIONS["known"]) == releases["known"]


def test_some_of_some_rows_stay_where_they_are(table):
    records = as_records(da.from_array(table, chunks=(131, 4)))
    odd = np.arange(ROWS) % 2 == 1
    third = np.arange(odd.sum()) % 3 == 0
    third[:150] = False  # the first partitions have none
    some = records.select_rows(odd).select_rows(third)
    expected = table[odd][third]
    assert some.streams
    assert rows_of(some).tobytes() == expected.tobytes()
    among = np.arange(some.count) % 5 == 2
    found = Space(some, IsotropicCovariance(1.0)).map_records(_first_entries, among)
    assert found.tobytes() == expected[among, 0].tobytes()
    assert Space(some, IsotropicCovariance(1.0)).sum_over(_count, 1) == len(expected)
    nobody = records.select_rows(np.zeros(ROWS, dtype=bool))
    assert (nobody.count, len(rows_of(nobody))) == (0, 0)


def test_an_invalid_row_that_is_not_chosen_is_nobodys_business(table):
    holes = table.copy()
    holes[7] = np.nan
    some = as_records(da.from_array(holes, chunks=(131, 4))).select_rows(np.arange(ROWS) != 7)
    open_records(some)  # does not raise
    with pytest.raises(InvalidDataError):
        open_records(as_records(da.from_array(holes, chunks=(131, 4))))


def _first_entries(rows):
    return rows[:, 0].copy()


def _count(rows):
    return np.array([len(rows)])


def test_persons_and_groups(table):
    X, whose = da.from_array(table, chunks=(350, 4)), np.arange(ROWS) // 2
    assert released(X, privacy_unit=whose, **OPTIONS["known"]) == released(
        table, privacy_unit=whose, **OPTIONS["known"]
    )
    groups = np.where(np.arange(ROWS) % 3 == 0, "north", "south")
    options = {"by": groups, "groups": ["north", "south"], **BUDGET, "covariance": OPTIONS["known"]["covariance"]}
    apart = dimfree.release_group_means(X, **options, noise=SeededNoise(1))
    together = dimfree.release_group_means(table, **options, noise=SeededNoise(1))
    assert not together.refused
    assert apart.to_json() == together.to_json()


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (lambda: da.zeros((4, 2), dtype=complex), "got complex"),
        (lambda: da.zeros(4), "got 1"),
        (lambda: da.zeros((4, 0)), "no columns"),
        (lambda: da.zeros((4, 2))[:, da.zeros(2) == 0], "known number of columns"),
        (lambda: dd.from_pandas(pd.DataFrame({"a": [1.0], "b": ["x"]}), npartitions=1), "Column 'b' has type"),
        (lambda: frame(np.zeros((4, 2)))["first"], "A dask Series is not a table"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused_by_its_schema(X, words):
    with pytest.raises(InvalidDataError, match=words):
        as_records(X())


def test_a_name_of_a_column_is_not_looked_for_in_a_dask_frame(table):
    with pytest.raises(InvalidParameterError, match=r"got the name 'first'.*compute\(\)"):
        released(frame(table), privacy_unit="first")


BROKEN = {
    "dtype": lambda rows: rows.astype(np.float32),
    "width": lambda rows: rows[:, :3],
    "length": lambda rows: rows[1:],
    "rank": lambda rows: rows[:, :, None],
    "text": lambda rows: rows.astype(str),
    "list": lambda rows: rows.tolist(),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_partition_that_is_not_what_it_was_is_one_sentence(scheduler, caplog, how):
    def spoilt(rows, block_info=None):
        broken = block_info and block_info[0]["chunk-location"][0] == 2
        return BROKEN[how](rows) if broken else rows

    X = da.full((ROWS, 4), SECRET, chunks=(300, 4)).map_blocks(spoilt, dtype=float, meta=np.zeros((0, 0)))
    with caplog.at_level(logging.DEBUG), pytest.raises(InvalidDataError, match="has changed") as error:
        released(X, **OPTIONS["known"])
    assert error.value.__context__ is None or error.value.__suppress_context__
    assert "123456" not in caplog.text + str(error.value)


def test_a_partition_of_a_frame_that_changes_is_noticed(table):
    visits = []

    def later(part):
        visits.append(1)
        return part if len(visits) <= 6 else part.iloc[1:]

    X = frame(table, 3).map_partitions(later, meta=pd.DataFrame(columns=NAMES, dtype=float))
    with dask.config.set(scheduler="synchronous"), pytest.raises(InvalidDataError, match="has changed"):
        released(X, **OPTIONS["known"])


def test_a_work_that_fails_tells_its_kind_only(table):
    records = as_records(da.from_array(table, chunks=(300, 4)))
    with pytest.raises(ClusterError, match="ZeroDivisionError") as error:
        list(records.map_blocks(_fails, 10, None, 1, all))
    assert str(table[0, 0]) not in str(error.value)


def test_passes_stay_with_the_partitions_whatever_the_device(table, monkeypatch):
    records = as_records(da.from_array(table, chunks=(300, 4))).on(device.Place("cuda:0"))
    monkeypatch.setattr(partitions.DaskTable, "row_blocks", _fails)
    assert sum(records.map_blocks(_counted, 100, None, 1, sum)) == len(table)


def _counted(rows, among):
    return len(rows)


def _fails(rows, among):
    raise ZeroDivisionError(str(rows[0, 0]))


def test_lack_of_memory_on_a_worker_is_lack_of_memory(table, monkeypatch):
    assert isinstance(Failure.of(_no_memory).error(), OutOfMemoryError)
    monkeypatch.setattr(partitions, "_block", _no_memory)
    with pytest.raises(OutOfMemoryError):
        released(da.from_array(table, chunks=(300, 4)), **OPTIONS["known"])


def _no_memory(*_):
    raise MemoryError


def test_progress_is_told_in_rows(table):
    told = []
    records = as_records(da.from_array(table, chunks=(350, 4)))
    with report_to(lambda *word: told.append(word)):
        open_records(records)
    assert sorted(done for _, done, _ in told)[-1] == ROWS
    assert {stage for stage, _, total in told if total == ROWS} == {"checking the rows"}
    assert len(told) == 5
    assert all(0 < later - sooner <= 350 for (_, sooner, _), (_, later, _) in pairwise(told))


def test_names_of_tasks_tell_nothing(table):
    tasks = [partitions.make_task(_fails, part, 5, pack_mask(None), None) for part in ("first", "first")]
    assert tasks[0].key != tasks[1].key  # random, not of the arguments


def test_few_rows_are_fetched_for_a_look_at_the_first(table, monkeypatch):
    asked = []
    whole = partitions.compute_tasks
    monkeypatch.setattr(
        partitions, "compute_tasks", lambda tasks, sizes: asked.append(sum(sizes)) or whole(tasks, sizes)
    )
    blocks = as_records(da.from_array(table, chunks=(100, 4))).blocks(50)
    assert len(next(blocks)[0]) == 50
    assert asked == [0, 100]  # no length was to be counted
    rest = sum(len(rows) for rows, _ in blocks)
    assert (rest, asked) == (ROWS - 50, [0, 100, ROWS - 100])


def test_another_cluster_needs_tasks_and_their_results(monkeypatch, table, releases):
    monkeypatch.setattr(partitions, "make_task", lambda function, *call: pickle.dumps(partial(function, *call)))
    monkeypatch.setattr(partitions, "compute_tasks", lambda tasks, sizes: [pickle.loads(task)() for task in tasks])
    parts = np.array_split(table, [131, 131, 700])
    X = DaskTable([Part(part, len(part)) for part in parts], Form(4, table.dtype))
    for name in ("auto", "known"):
        assert released(Records(X, None), **OPTIONS[name]) == releases[name]
    odd = np.arange(ROWS) % 2 == 1
    assert rows_of(Records(X.select_rows(odd), None)).tobytes() == table[odd].tobytes()
    with pytest.raises(InvalidDataError, match="has changed"):
        rows_of(Records(DaskTable([Part(table, ROWS + 1)], Form(4, table.dtype)), None))
