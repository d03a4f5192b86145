"""Facts about every public call: extreme magnitudes raise nothing, and all invalid rows are alike."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from dimfree.audit.calls import Call, calls
from dimfree.interop.mean import RefusalWarning
from dimfree.noise import SeededNoise

EPSILON = 2.0
CALLS = {str(call): call for call in calls(EPSILON)}
every_call = pytest.mark.parametrize("name", CALLS)


def text(call, table, store=np.asarray):
    return call.release(table, EPSILON, SeededNoise(3), store).to_json()


@every_call
def test_extreme_magnitudes_raise_nothing_even_if_every_warning_is_an_error(name):
    call = CALLS[name]
    table = call.table()
    table[:6, :-1] = np.array([1.7e308, -1.7e308, 5e-324, -0.0, 1e-300, 1e200])[:, None]
    expected = text(call, table)
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RefusalWarning)
        assert text(call, table) == expected


INVALID = ([np.nan, np.nan], [np.inf, 0.0], [-np.inf, 1e308], [3.0, np.nan])
DROPPING = [name for name, call in CALLS.items() if call.columns == 2 and call.given.get("on_missing") != "column"]


@pytest.mark.parametrize("name", DROPPING)
def test_dropped_rows_are_alike_whatever_else_they_hold(name):
    call = CALLS[name]
    dropping = Call(call.name, call.size, {**call.given, "on_missing": "drop"}, call.relation, door=call.door)
    table, found = call.table(), set()
    for row in INVALID:
        table[7, :-1] = row
        found |= {text(dropping, table), text(dropping, table, sparse.csr_array)}
    assert len(found) == 1
    table[7, :-1] = 100.0, 0.0
    assert text(dropping, table) not in found
