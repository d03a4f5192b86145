"""Mutants, made by name: the replay of whole runs on neighboring tables must catch each of them."""

import numpy as np
import pytest
from dimfree.mechanisms import (
    clipped_sum,
    directions,
    gaussian_histogram,
    length_histogram,
    outer_sum,
    scores,
    search,
    soft_histogram,
)
from replay.neighbours import neighbours
from replay.ways import ADDED, BOTH, WAYS

from dimfree.programs import opening

CHARGED = {  # module whose sensitivity is understated, and a way of release that uses it
    "clipped sum": (clipped_sum, "stable, diagonal"),
    "search": (search, "auto"),
    "scores": (scores, "auto"),
    "directions": (directions, "menu, smooth"),
    "outer products": (outer_sum, "menu, correlated"),
    "soft histogram": (soft_histogram, "columns, relative"),
    "lengths": (length_histogram, "columns, relative"),
    "group keys": (gaussian_histogram, "groups, private"),
}
EXCHANGED = {  # constant that is read as under add-remove
    "clipped sum": (clipped_sum, "CHANGED_RECORDS", "stable, diagonal"),
    "soft histogram": (soft_histogram, "CHANGED_RECORDS", "columns, relative"),
    "lengths": (length_histogram, "CHANGED_RECORDS", "columns, relative"),
    "scores": (scores, "MOVES", "menu, uneven"),
}


def is_caught(way: str, relation: str) -> bool:
    table = WAYS[way].table(np.random.default_rng(1))
    return any(WAYS[way].replayed(pair, relation, 3).complaints for pair in neighbours(table, relation, 17))


@pytest.mark.parametrize("name", CHARGED)
def test_seven_tenths_of_a_sensitivity_are_caught(monkeypatch, name):
    module, way = CHARGED[name]
    right = module.charged_gaussian
    monkeypatch.setattr(module, "charged_gaussian", lambda moves, *rest: right(0.7 * moves, *rest))
    assert is_caught(way, ADDED[0])


@pytest.mark.parametrize("name", EXCHANGED)
def test_an_exchange_charged_as_an_arrival_is_caught(monkeypatch, name):
    module, constant, way = EXCHANGED[name]
    known = getattr(module, constant)
    monkeypatch.setattr(module, constant, dict.fromkeys(known, min(known.values())))
    assert is_caught(way, BOTH[1])


def test_offsets_from_the_mean_of_the_batch_are_caught(monkeypatch):
    right = clipped_sum._clipped_total

    def about_the_batch(ball, rows):
        return right(ball, rows - np.nanmean(np.where(np.isfinite(rows), rows, np.nan), axis=0))

    monkeypatch.setattr(clipped_sum, "_clipped_total", about_the_batch)
    assert is_caught("stable, isotropic", ADDED[0])


def test_a_count_that_counts_a_record_twice_is_caught(monkeypatch):
    right = opening.noisy_count
    monkeypatch.setattr(opening, "noisy_count", lambda count, *rest, **given: right(2 * count, *rest, **given))
    assert is_caught("stable, diagonal", ADDED[0])
