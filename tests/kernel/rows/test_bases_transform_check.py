"""Somebody else's transform is known by its bits on public vectors: one that is uneven or another's is not used."""

import logging
import pickle

import numpy as np
import pytest
from scipy import fft
from streams import needs

from dimfree.data.records import as_records
from dimfree.errors import ClusterError, InvalidParameterError
from dimfree.kernel.rows import cosine
from dimfree.kernel.rows.cosine import Cosine, witness
from dimfree.kernel.rows.space import Space
from dimfree.shapes import IsotropicCovariance

SECRET = 123456.78125


def even(batch):
    return np.cumsum(batch, axis=1)


def by_place(batch):
    """A broken twin: the last row is done in another way."""
    found = even(batch)
    found[-1] = np.nextafter(found[-1], 1)
    return found


def by_neighbours(batch):
    """A broken twin: a huge or tiny neighbor moves the last bit."""
    large = np.abs(batch).max(axis=1)
    moved = (np.roll(large, 1) > 1e100) | (np.roll(large, -1) < 1e-200)
    return np.where(moved[:, None], np.nextafter(even(batch), 1), even(batch))


def flushing(batch):
    """Another processor's mode: what is subnormal is zero."""
    return even(np.where(np.abs(batch) < 1e-300, 0.0, batch))


def otherwise_rounded(batch):
    """Another build: one number of one row has another last bit."""
    found = even(batch)
    found[:, 2] = np.nextafter(found[:, 2], 1)
    return found


@pytest.mark.parametrize("rows", [8, 16, 1024])
def test_rows_that_are_not_treated_alike_are_noticed(rows):
    assert witness(even, rows, 9) == witness(lambda batch: even(batch.copy()), rows, 9)
    assert len(witness(even, rows, 9)) == 64
    assert witness(by_place, rows, 9) is None
    assert witness(by_neighbours, rows, 9) is None


def test_other_bits_have_another_digest():
    found = {witness(transform, 8, 9) for transform in (even, flushing, otherwise_rounded, lambda batch: batch + 0.0)}
    assert len(found) == 4
    assert None not in found


@pytest.mark.parametrize("dimension", [1, 3, 784, 1000, 1021, 20_000])
def test_batches_have_one_form_that_the_width_alone_decides(monkeypatch, rng, dimension):
    basis, forms, plain = Cosine(dimension), set(), cosine._transform
    monkeypatch.setattr(cosine, "_transform", lambda batch: forms.add((batch.shape, batch.strides)) or plain(batch))
    for count in (1, 7, 8, 9, 40, 1100 if dimension < 10 else 41):
        basis.rotate(rng.normal(size=(count, dimension)))
    [(shape, strides)] = forms
    assert shape[0] >= 8
    assert shape[0] & (shape[0] - 1) == 0
    assert strides == (8 * dimension, 8)


@pytest.fixture
def forgetful():
    """Witnesses are remembered by the process; these tests pretend to be several processes."""
    cosine._witness.cache_clear()
    yield
    cosine._witness.cache_clear()


def test_an_uneven_transform_is_not_used_at_all(monkeypatch, forgetful):
    monkeypatch.setattr(cosine, "_transform", by_place)
    with pytest.raises(InvalidParameterError, match=r"basis='dct' is not private on this machine"):
        Cosine(40)


def elsewhere(monkeypatch):
    """From here on this is a machine whose SciPy rounds otherwise."""
    plain = cosine._transform
    monkeypatch.setattr(cosine, "_transform", lambda batch: np.nextafter(plain(batch), 1))
    cosine._witness.cache_clear()


def test_a_basis_that_travelled_to_another_scipy_does_not_rotate(monkeypatch, forgetful, rng):
    sent, rows = pickle.dumps(Cosine(40)), rng.normal(size=(3, 40))
    assert pickle.loads(sent).rotate(rows) == pytest.approx(fft.dct(rows, norm="ortho"))
    elsewhere(monkeypatch)
    arrived = pickle.loads(sent)  # must not raise: a scheduler would tell its logs what it cannot unpack
    with pytest.raises(ClusterError, match=r"other last bits.*nothing was released.*same SciPy"):
        arrived.rotate(rows)
    Cosine(40).rotate(rows)  # one that is made there is fine


def test_a_worker_that_rounds_otherwise_is_one_sentence_without_records(monkeypatch, forgetful, caplog):
    dask, da = needs("dask"), needs("dask.array")
    X = da.full((50, 40), SECRET, chunks=(20, 40))
    space = Space(as_records(X), IsotropicCovariance(1.0), Cosine(40))
    with dask.config.set(scheduler="threads"), caplog.at_level(logging.DEBUG):
        assert space.sum_over(_count, 1).tolist() == [50]
        elsewhere(monkeypatch)
        with pytest.raises(ClusterError, match="other last bits") as error:
            space.sum_over(_count, 1)
    assert "123456" not in caplog.text + str(error.value)
    assert error.value.__cause__ is None


def _count(rows):
    return np.array([len(rows)])


class Foreign:
    """A backend that a process may have told SciPy to use."""

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method, args, kwargs):
        return np.zeros(1)


def test_a_backend_that_somebody_chose_for_scipy_is_not_asked(rng):
    basis, rows = Cosine(30), rng.normal(size=(2, 30))
    before = basis.rotate(rows), basis.restore_answer(rows[0]), basis.diagonal(np.arange(1.0, 31))
    with fft.set_backend(Foreign):
        assert fft.dct(rows).tolist() == [0]  # it is in force
        after = basis.rotate(rows), basis.restore_answer(rows[0]), basis.diagonal(np.arange(1.0, 31))
    for found, expected in zip(after, before, strict=True):
        assert found.tobytes() == expected.tobytes()
