"""Work handed to threads: order, error state and errors are as if there were one."""

import gc
import time
import warnings
import weakref

import numpy as np
import pytest

from dimfree.threads import cores, in_order


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_items(threads):
    def late_if_early(item):
        time.sleep(0.002 * (item % 3 == 0))
        return item * item

    assert list(in_order(late_if_early, range(40), threads)) == [k * k for k in range(40)]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_few_items_are_held_at_a_time(threads):
    taken = []
    results = in_order(lambda item: item, (taken.append(k) or k for k in range(1000)), threads)
    next(results)
    assert len(taken) <= 2 * threads + 1
    results.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_what_goes_wrong_in_a_thread_goes_wrong_outside(threads):
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda item: 1 // item, range(-3, 3), threads))


@pytest.mark.parametrize("threads", [1, 3])
def test_a_thread_keeps_the_callers_silence(threads):
    """NumPy's default is a warning, which would speak of records."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        found = list(in_order(lambda item: np.divide(1.0, item), np.zeros((4, 3)), threads))
    assert np.isinf(found).all()


def test_the_environment_says_how_many(monkeypatch):
    monkeypatch.setenv("DIMFREE_THREADS", "3")
    assert cores() == 3
    for nonsense in ("", "0", "-1", "many", "²", "٣", "1e3", " 3", "9" * 5000):
        monkeypatch.setenv("DIMFREE_THREADS", nonsense)
        assert 1 <= cores() <= 8


def test_nobody_asks_for_more_threads_than_memory_allows(monkeypatch):
    monkeypatch.setenv("DIMFREE_THREADS", "100000000")
    assert cores() == 256


@pytest.mark.parametrize("threads", [1, 3])
def test_no_item_is_held_to_the_end(threads):
    held = []

    def item():
        held.append(weakref.ref(new := np.zeros(1)))
        return new

    results = in_order(lambda one: len(one), (item() for _ in range(60)), threads)
    for _ in range(40):
        next(results)
    gc.collect()
    assert [one() for one in held[:20]] == [None] * 20


@pytest.mark.parametrize("how", ["error", "enough"])
def test_what_waits_is_not_begun_when_nobody_wants_it(how):
    begun = []

    def work(item):
        begun.append(item)
        time.sleep(0.4 if item > 1 else 0.0)
        return 1 // (item - 1) if how == "error" else item

    results = in_order(work, range(100), 2)
    if how == "enough":
        next(results)
        results.close()
    else:
        with pytest.raises(ZeroDivisionError):
            list(results)
    ended = len(begun)
    assert ended < 5  # of the five that were handed over
    time.sleep(0.15)
    assert len(begun) == ended
