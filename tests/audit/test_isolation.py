"""Noise that two processes or threads share is caught by the audit; times are measured, and only reported."""

import multiprocessing
import os
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from dimfree.audit.noise_doubles import PooledNoise, ZeroNoise
from dimfree.audit.numerics import isolation, timing
from dimfree.audit.numerics.calls import table
from dimfree.errors import NoiseMisuse
from dimfree.noise import SeededNoise, SystemNoise


class SameSeed(SeededNoise):
    """Reproducible noise where private noise should be."""

    def __init__(self):
        super().__init__(7)


_GENERATOR = SeededNoise(7)


class OneGenerator:
    """All sources use one generator, whose state a fork copies."""

    private = True

    def __getattr__(self, name):
        return getattr(_GENERATOR, name)


class OnePerThread:
    """Every thread has a generator of its own, all of them seeded alike."""

    private = True

    def __init__(self):
        self.own = threading.local()

    def __getattr__(self, name):
        if not hasattr(self.own, "noise"):
            self.own.noise = SeededNoise(7)
        return getattr(self.own.noise, name)


class SharedPool(PooledNoise):
    """A pool that does not look who is asking."""

    def _take(self, key, size):
        self._owner = (os.getpid(), threading.get_ident())
        return super()._take(key, size)


@pytest.fixture
def no_interpreter(monkeypatch):
    """A new interpreter takes seconds; one test starts it."""
    monkeypatch.setattr(isolation, "_in_new_interpreter", lambda open_noise: [""] * len(isolation._KINDS))


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@forks
def test_shared_generators_are_caught(no_interpreter):
    assert "noise repeats itself after a fork" in isolation.isolation(SameSeed)
    assert "noise repeats itself after a fork of opened noise" in isolation.isolation(OneGenerator)
    assert "noise repeats itself after the start of threads" in isolation.isolation(OnePerThread)


@forks
def test_a_shared_pool_is_caught(no_interpreter):
    assert isolation.isolation(pool=SharedPool) == ["noise repeats itself after a fork of a pool"]


def test_a_noise_that_repeats_itself_in_a_new_interpreter_is_caught():
    """`ZeroNoise` draws zeros, wherever it is opened."""
    assert isolation.repeats(isolation._in_new_interpreter(ZeroNoise), isolation.drawn(ZeroNoise()))


@forks
def test_a_child_that_dies_is_a_complaint(no_interpreter):
    parent = os.getpid()

    class Dying(SystemNoise):
        def gaussian(self, stddev, size):
            if os.getpid() != parent:
                os._exit(3)
            return super().gaussian(stddev, size)

    assert "noise could not be compared after a fork: RuntimeError" in isolation.isolation(Dying)


def test_a_pool_belongs_to_its_thread():
    noise, met = PooledNoise(SystemNoise()), []
    noise.gaussian(3.0, 1)

    def draw():
        try:
            noise.gaussian(3.0, 1)
        except NoiseMisuse:
            met.append("misuse")

    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    assert met == ["misuse"]


@pytest.mark.parametrize("noise", [SystemNoise, lambda: PooledNoise(SystemNoise())], ids=["system", "pool"])
def test_a_noise_cannot_be_sent_to_a_worker(noise):
    worker = multiprocessing.get_context("spawn").Process(target=isolation.drawn, args=(noise(),))
    with pytest.raises(NoiseMisuse):
        worker.start()


# ---- time


def test_the_area_of_times():
    rising = np.arange(10.0)
    assert timing.area(rising, rising) == 0.5
    assert timing.area(rising, rising + 20) == timing.area(rising + 20, rising) == 1.0
    assert timing.area(rising, rising + 5) == pytest.approx(1 - 0.5 * 0.25, abs=0.06)


def test_a_slow_outlier_is_told_apart():
    clock = SimpleNamespace(now=0.0)

    def call(rows):
        clock.now += 1.0 if np.abs(rows).max() < 10 else 1.1

    there = np.append(table(), np.full((1, 4), 99.0), axis=0)
    found = timing.timed("slow", call, table(), there, 30.0, lambda: clock.now)
    assert found.area == 1.0
    assert found.here == pytest.approx(1.0)
    assert found.there == pytest.approx(1.1)
    assert "told apart" in str(found)
    assert "not told apart" in str(timing.timed("same", call, table(), table(), 30.0, lambda: clock.now))


def test_timings_are_a_text(monkeypatch):
    monkeypatch.setattr(timing, "_LEAST", 1)
    started = time.monotonic()
    text = timing.timing(0.01)
    assert text.count("AUC") == len(timing.cases())
    assert text.endswith("Reported, not promised.")
    assert time.monotonic() - started < 60
