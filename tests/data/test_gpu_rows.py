"""Rows on a device: the kernels of a GPU, run on PyTorch's CPU tensors, give the bits of NumPy.

With DIMFREE_TEST_DEVICE=cuda:0 they run on a GPU. Whole releases there: `python -m benchmarks.speed.gpu`.
"""

import json
import os
import pickle
import sys
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sparse
from routes import with_options

import dimfree
from dimfree.data import tables
from dimfree.data.blocks import to_dense
from dimfree.data.gpu import device
from dimfree.data.gpu import rows as gpu_rows
from dimfree.data.gpu.device import Place, select_device
from dimfree.data.gpu.rows import DeviceRows
from dimfree.data.records import Records, are_finite, as_records
from dimfree.data.source import Source
from dimfree.errors import InvalidDataError, InvalidParameterError, OutOfMemoryError
from dimfree.kernel.rows import clip
from dimfree.kernel.rows import space as space_module
from dimfree.kernel.rows.space import Space
from dimfree.kernel.statistics import distances
from dimfree.kernel.statistics.clipped_sum import Ball
from dimfree.kernel.statistics.distances import PairDistances, pair_distances
from dimfree.kernel.statistics.friends import RADIUS, rows_to_steps, within_radius
from dimfree.kernel.statistics.scores import Scoring
from dimfree.kernel.statistics.stable import round_mean
from dimfree.noise import SeededNoise
from dimfree.shapes import DenseCovariance, DiagonalCovariance, IsotropicCovariance

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

HERE = Place(os.environ.get("DIMFREE_TEST_DEVICE", "cpu"))


class Blocks(Source):
    """A table in memory that is handed out in blocks of so many rows at most."""

    def __init__(self, table, most):
        self._table, self._most, self.shape = table, most, table.shape

    def row_blocks(self, rows):
        step = min(rows, self._most)
        return (self._table[start : start + step].copy() for start in range(0, len(self._table), step))


def there(array) -> DeviceRows:
    return HERE.table(np.asarray(array))


def wild_table(rng) -> np.ndarray:
    """Ordinary rows, rows at both ends of the floats, halves that round to even, rows on the sphere."""
    table = rng.standard_normal((60, 7)) * 10.0 ** rng.integers(-3, 4, size=(60, 1))
    table[0], table[1, 2], table[2], table[3, 0] = 1e300, -1.7e308, 5e-324, -1e155
    table[4] = np.arange(7) + 0.5
    table[5] = [3.0, 4.0, 0, 0, 0, 0, 0]
    table[6] = 0.0
    table[7], table[8, ::2] = 4.0, -4.0 - 2.0**-40
    return table


@pytest.mark.parametrize("radius", [5.0, 1e-3, 1e160, 1e-300, 2.0**20, 3e307])
def test_clipped_sums_and_squares(rng, radius):
    table = wild_table(rng)
    for one in (table, *(table[k : k + 1] for k in range(len(table)))):
        for inner in (0, 2**10, clip.BALL // 3, clip.BALL - 2**10):  # a ball, and shells of it
            total = clip.total_clipped(there(one), radius, inner=inner)
            assert total.dtype == np.int64
            assert total.tobytes() == clip.total_clipped(one, radius, inner=inner).tobytes()
    assert clip.squares(there(table), radius).tobytes() == clip.squares(table, radius).tobytes()
    assert clip.norms(there(table), radius).tobytes() == clip.norms(table, radius).tobytes()


@pytest.mark.parametrize("scale", [1.0, 1e-200, np.geomspace(1e-3, 1e3, 7), np.geomspace(1e-320, 1e300, 7)])
@pytest.mark.parametrize("block", [None, np.array([1, 4, 5])])
@pytest.mark.parametrize("cap", [np.inf, 48.0, 1e-3])
def test_offsets_of_a_ball(rng, scale, block, cap):
    table, center = wild_table(rng), rng.standard_normal(7) * np.geomspace(1e-2, 1e305, 7)
    ball = Ball(center, scale, 2.0, block, cap)
    for step in (1.0, 1e-6, 3e-320):
        mapped = ball.offsets(ball.seen(there(table)).tensor, slice(None), step)
        assert mapped.cpu().numpy().tobytes() == ball.offsets(ball.seen(table), slice(None), step).tobytes()
    table[::5, 1] = np.nan  # a missing entry
    total = clip.total_clipped(ball.seen(there(table)), 2.0, ball.offsets)
    assert total.tobytes() == clip.total_clipped(ball.seen(table), 2.0, ball.offsets).tobytes()


@pytest.mark.parametrize("guess", [1.0, np.geomspace(1e-3, 1e3, 7), np.geomspace(1e-160, 1e160, 7)])
@pytest.mark.parametrize("privacy_unit", [1.0, 1e-3, 1e300])
def test_scores(rng, guess, privacy_unit):
    table = wild_table(rng)
    scoring = Scoring(rng.standard_normal(7), guess, 2.0)
    of_unit = partial(scoring.scores, privacy_unit)
    with np.errstate(all="ignore"):
        plain = of_unit(table, slice(None), 1e-6)
    np.testing.assert_array_equal(of_unit(there(table).tensor, slice(None), 1e-6).cpu().numpy(), plain)
    assert clip.total_clipped(there(table), 2.0, of_unit).tobytes() == clip.total_clipped(table, 2.0, of_unit).tobytes()
    assert clip.squares(there(table), 1e-6, of_unit).tobytes() == clip.squares(table, 1e-6, of_unit).tobytes()


def test_wide_rows_whose_squares_no_float_holds(rng, monkeypatch):
    table = np.full((3, 5000), 2.0**22) - rng.integers(0, 2, size=(3, 5000))
    monkeypatch.setattr(gpu_rows, "_CELLS", 7)
    assert clip.squares(table, 1.0).max() > 2.0**53
    assert clip.squares(there(table), 1.0).tobytes() == clip.squares(table, 1.0).tobytes()
    assert clip.total_clipped(there(table), 1.0).tobytes() == clip.total_clipped(table, 1.0).tobytes()


def test_a_map_that_makes_no_number_is_zero(rng):
    def broken(values, columns, step):
        return values * float("nan")

    assert not clip.total_clipped(there(np.ones((4, 3))), 1.0, broken).any()


def test_steps_of_the_grid(rng):
    table = wild_table(rng)
    for step in (1 / 3, 1e-300, 7e250):
        steps = rows_to_steps(there(table), step)
        np.testing.assert_array_equal(steps.toarray(), rows_to_steps(table, step))
    assert rows_to_steps(there([[np.nan]]), 1.0).toarray() == 0


def test_a_division_by_reciprocals_would_be_another():
    """The broken twin: what PyTorch makes of a plain number on a GPU."""
    numbers = np.arange(1.0, 200.0)[:, None]
    assert (numbers * (1 / 49.0) != numbers / 49.0).any()
    np.testing.assert_array_equal(there(numbers).divide_columns(np.array([49.0]), 1e300).toarray(), numbers / 49.0)


def test_which_rows_are_valid():
    table = np.array([[1.0, 2], [np.nan, 0], [np.inf, -np.inf], [1.7e308, 1.7e308], [0, np.inf]])
    np.testing.assert_array_equal(are_finite(there(table)), [True, False, False, True, False])
    np.testing.assert_array_equal(are_finite(there(table[3:4])), [True])
    assert are_finite(there(table[:0])).shape == (0,)


def there_whole(integers) -> DeviceRows:
    return DeviceRows(torch.tensor(integers, device=HERE.name))


def test_the_predicate_on_the_sphere():
    offsets = np.array([[RADIUS, 0], [RADIUS, 1], [2**62, -(2**62)], [0, -RADIUS], [3, 4]])
    np.testing.assert_array_equal(within_radius(there_whole(offsets)), within_radius(offsets))
    np.testing.assert_array_equal(within_radius(offsets), [True, False, False, True, True])


def test_weighted_means(rng, monkeypatch):
    monkeypatch.setattr(gpu_rows, "_CELLS", 30)
    records = rng.integers(-RADIUS, RADIUS, size=(50, 5)) + 2**59
    weights = rng.integers(0, 2**30, size=50)
    assert (round_mean(there_whole(records), weights, 9) == round_mean(records, weights, 9)).all()


@pytest.mark.parametrize("wild", [False, True])
def test_pairs_at_any_radius(rng, monkeypatch, wild):
    monkeypatch.setattr(distances, "_DEVICE_ROWS", 16)
    rows = rng.standard_normal((50, 4))
    if wild:
        rows[3], rows[4], rows[:2] = 1e300, 1e160, 1e17
    here, gpu = PairDistances.of(rows, 2), PairDistances.of(there(rows), 2)
    for radius in (1e-3, 1.0, 2.5, float(np.linalg.norm(rows[10] - rows[11])), 1e18, 1e120):
        assert gpu.friend_pairs(radius) == here.friend_pairs(radius)
        np.testing.assert_array_equal(gpu.friend_counts(radius), here.friend_counts(radius))
        whole, known = gpu.in_steps(radius), PairDistances.of(rows.copy(), 2).in_steps(radius)
        np.testing.assert_array_equal(whole.toarray(), known)


def test_doubtful_pairs_are_decided_in_integers(rng):
    rows = np.zeros((30, 3))
    rows[:, 0] = np.arange(30) % 2  # distances of exactly one
    here, gpu = PairDistances.of(rows, 0), PairDistances.of(there(rows), 0)
    for radius in np.nextafter(1.0, 2.0), 1.0, np.nextafter(1.0, 0.0), 1 - 1e-7:
        assert gpu.friend_pairs(radius) == here.friend_pairs(radius)
    assert gpu.friend_pairs(1.0) == 900


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(device, "BLOCK_ENTRIES", 50)
    monkeypatch.setattr(device, "COPIED_ENTRIES", 30)
    monkeypatch.setattr(space_module, "_BLOCK_ENTRIES", 20)


SHAPES = [
    IsotropicCovariance(3.0),
    IsotropicCovariance(1.0),
    DiagonalCovariance(np.geomspace(1e-3, 1e3, 4)),
    DenseCovariance(np.eye(4) + 0.5),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("streams", [False, True])
def test_the_verbs_of_a_space(rng, small_blocks, shape, streams):
    table = rng.standard_normal((83, 4))
    table[7, 1], table[20], table[30] = np.nan, np.inf, 1e307
    source = Blocks(table, 11) if streams else table
    here, gpu = Space(as_records(table), shape), Space(Records(source, None, HERE), shape)
    sampled = rng.random(83) < 0.4
    total, norms = partial(clip.total_clipped, radius=2.0), partial(clip.norms, largest=8.0)
    np.testing.assert_array_equal(gpu.sum_over(total, 4), here.sum_over(total, 4))
    np.testing.assert_array_equal(gpu.map_records(norms), here.map_records(norms))
    np.testing.assert_array_equal(gpu.map_records(norms, sampled), here.map_records(norms, sampled))
    for chosen in (None, sampled):
        parts, plain = list(gpu.valid_blocks(chosen)), np.concatenate(list(here.valid_blocks(chosen)))
        assert all(isinstance(part, DeviceRows) for part in parts)
        np.testing.assert_array_equal(np.concatenate([to_dense(part) for part in parts]), plain)
        integers, expected = (pair_distances(space, chosen).in_steps(2.0) for space in (gpu, here))
        assert (integers.toarray() == expected).all()
        assert pair_distances(gpu, chosen).friend_pairs(2.0) == pair_distances(here, chosen).friend_pairs(2.0)


def test_records_off_the_grid_are_only_counted(rng):
    table = rng.standard_normal((40, 3))
    table[4], table[9, 1], table[20, 2] = 1e300, 2.0**41, -(2.0**42)
    spaces = (Space(as_records(table).on(place), IsotropicCovariance(1.0)) for place in (None, HERE))
    here, gpu = (pair_distances(space).in_steps(1.0) for space in spaces)
    assert (len(here), len(gpu)) == (37, 37)
    np.testing.assert_array_equal(gpu.toarray(), here)


def test_an_array_is_copied_once_and_streams_every_time(rng, monkeypatch):
    tables, blocks = [], []
    monkeypatch.setattr(Place, "table", _counting(Place.table, tables))
    monkeypatch.setattr(Place, "_copied", _counting(Place._copy_rows, blocks))
    table = rng.standard_normal((40, 3))
    records = as_records(table).on(HERE)
    for _ in range(3):
        list(records.read_placed_blocks(HERE, 10))
    assert len(tables) == 1
    blocks.clear()
    monkeypatch.setattr(Place, "has_room", lambda self, array: False)
    monkeypatch.setattr(device, "COPIED_ENTRIES", 30)
    for source in (as_records(table), Records(Blocks(table, 10), None)):
        for _ in range(2):
            parts = [rows.toarray() for rows in source.on(HERE).read_placed_blocks(HERE, 1)]
            np.testing.assert_array_equal(np.concatenate(parts), table)
    assert (len(tables), len(blocks)) == (1, 16)


def _counting(function, calls):
    def counted(*arguments):
        calls.append(1)
        return function(*arguments)

    return counted


def test_sparse_tables_stay_where_they_are():
    records = as_records(sparse.csr_matrix(np.eye(3))).on(HERE)
    assert records.place is None
    assert not any(isinstance(rows, DeviceRows) for rows in Space(records, IsotropicCovariance(2.0)).valid_blocks())


def released(X, **options) -> dict:
    return json.loads(dimfree.release_mean(X, **with_options(delta=1e-6, **options, noise=SeededNoise(5))).to_json())


VARIANCES = np.array([1.0, 4.0, 0.25, 1.0, 9.0])
RELEASES = {
    "auto": {"epsilon": 4.0},
    "known": {"epsilon": 4.0, "covariance": VARIANCES},
    "mixed": {"epsilon": 4.0, "covariance": np.diag(VARIANCES) + 0.1},
    "learned scale": {"epsilon": 4.0, "covariance": 100 * VARIANCES, "scale": "learn"},
    "replace-one": {"epsilon": 4.0, "neighbors": "replace-one"},
    "complete-case": {"epsilon": 4.0, "missing": "complete-case"},
    "sampled": {"epsilon": 8.0, "covariance": VARIANCES, "core_sample": 700},
    "person": {"epsilon": 8.0, "privacy_unit": np.arange(1500) // 2, "covariance": VARIANCES},
}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(7)
    return (rng.standard_normal((1500, 5)) * np.sqrt(VARIANCES) + [3, -1, 0, 100, 7]).astype(np.float32)


@pytest.mark.parametrize("options", RELEASES.values(), ids=RELEASES.keys())
def test_whole_releases(people, monkeypatch, options):
    monkeypatch.setattr(device, "BLOCK_ENTRIES", 3001)
    monkeypatch.setattr(device, "COPIED_ENTRIES", 2002)
    monkeypatch.setattr(space_module, "_BLOCK_ENTRIES", 1003)
    table = people.copy()
    if options.get("missing") == "complete-case":
        table[5, 2], table[1000], table[77] = np.nan, np.inf, 3e38
    if "privacy_unit" in options:
        assert released(as_records(table).on(HERE), **options) == released(table, **options)
        return
    plain = released(table, **options)
    assert plain["refusal"] is None or options["epsilon"] == 8.0
    for records in (as_records(table), Records(DeviceRows(torch.tensor(table, device=HERE.name)), None)):
        assert released(records.on(HERE), **options) == plain
    assert released(Records(Blocks(table, 611), None, HERE), **options) == plain


def test_a_device_that_adds_wrongly_would_be_noticed(people, monkeypatch):
    plain = released(people, **RELEASES["known"])
    monkeypatch.setattr("dimfree.data.gpu.rows._shorten", lambda steps, *_: steps + 1)
    assert released(as_records(people).on(HERE), **RELEASES["known"]) != plain


def test_the_callers_tensor_is_left_alone(people):
    tensor = torch.tensor(people, dtype=torch.float64, device=HERE.name)
    before = tensor.clone()
    released(Records(DeviceRows(tensor), None, HERE), **RELEASES["auto"])
    assert torch.equal(tensor, before)


@pytest.mark.parametrize("kind", ["float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8", "bool"])
def test_tensors_in_memory(people, kind):
    tensor = torch.tensor(people[:50]).to(getattr(torch, kind))
    values = next(as_records(tensor).blocks())[0]
    np.testing.assert_array_equal(values, tensor.to(torch.float64).numpy())


def test_a_tensor_gives_the_release_of_its_array(people):
    tensor = torch.tensor(people).requires_grad_()
    assert released(tensor, **RELEASES["known"]) == released(people, **RELEASES["known"])
    assert released(tensor.T.contiguous().T, **RELEASES["known"]) == released(people, **RELEASES["known"])
    assert tensor.grad is None


def test_without_a_copy_where_possible():
    tensor = torch.zeros((4, 3), dtype=torch.float64)
    source = as_records(tensor)._source.table
    assert np.shares_memory(source, tensor.numpy())
    assert not source.flags.writeable


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (lambda: torch.zeros(3), "2 dimensions, got 1"),
        (lambda: torch.zeros((2, 2, 2)), "2 dimensions, got 3"),
        (lambda: torch.zeros((2, 2), dtype=torch.complex64), "complex"),
        (lambda: torch.zeros((2, 2)).to_sparse(), "to_dense"),
        (lambda: torch.zeros((2, 2), device="meta"), "X.cpu"),
        (lambda: torch.zeros((2, 0)), "no columns"),
    ],
)
def test_tensors_that_are_no_table(tensor, words):
    with pytest.raises(InvalidDataError, match=words):
        as_records(tensor())


def test_tensors_on_a_gpu_that_are_no_table():
    for tensor, words in [
        (torch.zeros(3), "2 dimensions, got 1"),
        (torch.zeros((1, 1), dtype=torch.cfloat), "complex"),
    ]:
        with pytest.raises(InvalidDataError, match=words):
            tables._from_array(DeviceRows(tensor))


needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no CUDA device")


@needs_cuda
@pytest.mark.parametrize(
    "options", [RELEASES["auto"], RELEASES["known"], RELEASES["mixed"]], ids=["auto", "known", "mixed"]
)
def test_cuda_tensors(people, options):
    plain, tensor = released(people, **options), torch.tensor(people, device="cuda").requires_grad_()
    assert released(tensor, **options) == plain
    assert released(tensor, **options, device="cuda") == plain
    assert released(tensor, **options, device="cpu") == plain
    assert released(people, **options, device="cuda:0") == plain
    half = tensor.to(torch.bfloat16)
    assert released(half, **options) == released(half.cpu().float().detach().numpy(), **options)


@needs_cuda
def test_a_cuda_device_that_is_full(people):
    _, whole = torch.cuda.mem_get_info()
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 2**20) / whole)
    try:
        with pytest.raises(OutOfMemoryError, match="not enough memory on the GPU"):
            released(np.tile(people, (400, 4)), epsilon=4.0, device="cuda")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "cuda:-1", "mps", "", 3, "cuda0"])
def test_unknown_devices(name):
    with pytest.raises(InvalidParameterError, match="must be 'cpu', 'cuda'"):
        select_device(name)


def test_no_cuda_device(people, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InvalidParameterError, match=r"device='cuda' cannot be used: PyTorch finds no CUDA device"):
        released(people, **RELEASES["known"], device="cuda")


def test_no_such_cuda_device(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(device, "require_same_bits", lambda place: None)
    assert select_device("cuda") == select_device(torch.device("cuda:1")) == Place("cuda:1")
    with pytest.raises(InvalidParameterError, match="2 CUDA device"):
        select_device("cuda:2")


def test_no_pytorch(people, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InvalidParameterError, match="PyTorch is not installed"):
        released(people, **RELEASES["known"], device="cuda")
    assert not released(people, **RELEASES["known"], device="cpu")["refusal"]


def test_emulated_products_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv("CUBLAS_EMULATE_DOUBLE_PRECISION", "1")
    with pytest.raises(InvalidParameterError, match="unset it"):
        select_device("cuda:0")


def test_a_device_with_other_roots_is_refused(monkeypatch):
    device._has_same_bits.cache_clear()
    device.require_same_bits(HERE)
    device._has_same_bits.cache_clear()
    monkeypatch.setattr(device, "rooted", lambda values: torch.nextafter(values.sqrt(), values))
    with pytest.raises(InvalidParameterError, match="differs from NumPy's in the last bit"):
        device.require_same_bits(HERE)
    device._has_same_bits.cache_clear()


def test_a_full_gpu_says_nothing_of_the_table(people, monkeypatch):
    def full(*arguments):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 12345 bytes")

    monkeypatch.setattr(clip.device_clip, "total", full)
    with pytest.raises(OutOfMemoryError, match="not enough memory on the GPU") as caught:
        released(as_records(people).on(HERE), **RELEASES["known"])
    assert "12345" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_other_errors_pass():
    with pytest.raises(RuntimeError, match="else"), device.redact_device_memory_errors():
        raise RuntimeError("something else")


def test_rows_there_do_not_show(rng):
    rows = there([[1234.5, 1.0]])
    assert "1234" not in repr(rows)
    assert pickle.loads(pickle.dumps(HERE)) == HERE
