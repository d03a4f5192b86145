"""Sources of noise: who may use them, what they pass on, and coins that are exact to the last integer."""

import copy
import os
import pickle
import random

import numpy as np
import opendp.prelude as dp
import pytest
from recording import RecordingNoise

import dimfree.noise
from dimfree.errors import NoiseMisuseError
from dimfree.noise import SeededNoise, SystemNoise

DRAWS = [
    pytest.param(lambda noise: noise.gaussian(3.0, 2), id="gaussian"),
    pytest.param(lambda noise: noise.laplace(3.0, 2), id="laplace"),
    pytest.param(lambda noise: noise.coin(1, 2), id="coin"),
    pytest.param(lambda noise: noise.below(5, 2), id="below"),
]


def in_child(action) -> str:
    """What a forked child saw: the name of the error it met, or 'nothing'."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        seen = "nothing"
        try:
            action()
        except Exception as error:  # noqa: BLE001 - reported to the parent
            seen = type(error).__name__
        os.write(writer, seen.encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        return pipe.read()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("draw", DRAWS)
def test_a_forked_copy_of_system_noise_is_refused(draw):
    noise = SystemNoise()
    assert in_child(lambda: draw(noise)) == "NoiseMisuseError"
    assert in_child(lambda: draw(SystemNoise())) == "nothing"  # a child may make its own
    draw(noise)  # the owner's is still open


@pytest.mark.parametrize("leave", [pickle.dumps, copy.copy, copy.deepcopy])
def test_system_noise_cannot_be_copied(leave):
    with pytest.raises(NoiseMisuseError, match="SystemNoise"):
        leave(SystemNoise())


def test_only_system_noise_is_private():
    assert SystemNoise().private is True
    assert SeededNoise(1).private is False
    assert RecordingNoise().private is False


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 7), (1, 7), (3, 7), (7, 7), (255, 256)])
def test_system_coin_is_exact(monkeypatch, numerator, denominator):
    """Over every value that the entropy can give, heads come up exactly `numerator` times."""
    heads = 0
    for value in range(denominator):
        monkeypatch.setattr(dimfree.noise.secrets, "randbelow", lambda bound, value=value: value if bound else None)
        heads += SystemNoise().coin(numerator, denominator)
    assert heads == numerator


def test_system_coin_and_uniform_ask_for_the_whole_range(monkeypatch):
    asked = []
    monkeypatch.setattr(dimfree.noise.secrets, "randbelow", lambda bound: asked.append(bound) or 0)
    SystemNoise().coin(1, 2**64)
    SystemNoise().below(13, 3)
    assert asked == [2**64, 13, 13, 13]


def test_powers_of_two_take_the_last_bits_of_random_words(monkeypatch):
    """Uniform words have uniform last bits."""
    monkeypatch.setattr(dimfree.noise.secrets, "token_bytes", lambda size: bytes(range(256)) * (size // 256))
    words = np.frombuffer(bytes(range(256)), dtype=np.uint64).tolist()
    for bits in (0, 1, 32, 62):
        assert SystemNoise().below(2**bits, 32).tolist() == [word % 2**bits for word in words]
    monkeypatch.undo()
    assert SystemNoise().below(2**32, 0).shape == (0,)
    assert set(SystemNoise().below(4, 400).tolist()) == {0, 1, 2, 3}


def test_coins_compare_integers_beyond_floats(monkeypatch):
    """p = 1 - 2^-64 is not a float; the coin still falls on tails for exactly one value."""
    for value, head in ((2**64 - 1, False), (2**64 - 2, True)):
        monkeypatch.setattr(dimfree.noise.secrets, "randbelow", lambda _, value=value: value)
        assert SystemNoise().coin(2**64 - 1, 2**64) is head


class Bytes:
    """A generator whose next 256 bits are known."""

    def __init__(self, value: int) -> None:
        self.value = value

    def bytes(self, length: int) -> bytes:
        return self.value.to_bytes(length, "little")


def test_seeded_coin_is_exact_to_256_bits():
    noise = SeededNoise(0)
    for value, head in ((2**255 - 1, True), (2**255, False)):
        noise._generator = Bytes(value)
        assert noise.coin(1, 2) is head
        assert noise.coin(2**63, 2**64) is head
    noise._generator = Bytes(0)
    assert noise.coin(0, 2**64) is False
    noise._generator = Bytes(2**256 - 1)
    assert noise.coin(2**64, 2**64) is True


@pytest.mark.parametrize("threads", ["1", "3", "8"])
def test_draws_of_several_threads_are_as_many_and_all_different(monkeypatch, threads):
    """Two alike with probability below 5000² / 2^50 if all are independent; copies of one stream would be all alike."""
    monkeypatch.setenv("DIMFREE_THREADS", threads)
    drawn = SystemNoise().gaussian(2.0**50, 5000)
    assert drawn.shape == (5000,)
    assert drawn.dtype == np.int64
    assert len(np.unique(drawn)) == 5000


@pytest.mark.parametrize(("size", "threads"), [(0, 4), (1, 4), (2047, 4), (2048, 4), (5001, 3), (10**6, 8)])
def test_draws_are_shared_out_whole(monkeypatch, size, threads):
    monkeypatch.setenv("DIMFREE_THREADS", str(threads))
    shares = dimfree.noise._shares(size)
    assert sum(shares) == size
    assert 1 <= len(shares) <= threads
    assert max(shares) - min(shares) <= 1


def test_system_noise_does_not_listen_to_seeds():
    """Equal with probability below 2^-500 if the entropy is the system's."""
    drawn = []
    for _ in range(2):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002 - the global state that must not matter
        drawn.append(SystemNoise().gaussian(2.0**40, 20).tolist())
    assert drawn[0] != drawn[1]


def test_seeded_noise_repeats_itself_and_nothing_else(seed):
    def draws(noise):
        coins = [noise.coin(1, 2) for _ in range(64)]
        whole = [noise.gaussian(1e6, 8), noise.laplace(1e6, 8), noise.below(10**9, 8)]
        return coins, *(drawn.tolist() for drawn in whole)

    assert draws(SeededNoise(seed)) == draws(SeededNoise(seed))
    assert draws(SeededNoise(seed)) != draws(SeededNoise(seed + 1))


@pytest.mark.parametrize(("method", "scale"), [("gaussian", 2.0**24 * (1 + 2.0**-50)), ("laplace", 2.0**20 * 1.25)])
def test_system_noise_hands_the_scale_on_unchanged(monkeypatch, method, scale):
    """To OpenDP, on 64-bit integers."""
    asked, make = [], getattr(dp.m, f"make_{method}")

    def recording(domain, metric, scale, **rest):
        asked.append((scale, str(domain)))
        return make(domain, metric, scale=scale, **rest)

    monkeypatch.setattr(dp.m, f"make_{method}", recording)
    drawn = getattr(SystemNoise(), method)(np.float64(scale), 4)
    [(found, domain)] = asked
    assert found == scale
    assert "i64" in domain
    assert (drawn.dtype, drawn.shape) == (np.int64, (4,))


@pytest.mark.parametrize("make_noise", [SystemNoise, lambda: SeededNoise(0)])
@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), 2.0**53])
def test_a_scale_that_gives_no_noise_or_too_much_is_refused(make_noise, scale):
    with pytest.raises(NoiseMisuseError, match="scale"):
        make_noise().laplace(scale, 2)
