"""Whole runs with one transcript on neighbouring tables: every statistic moves by at most its charge, exactly.

What leaves is the same, the draws are the same in number, kind and scale, and so are the ledgers.
"""

import numpy as np
import pytest
from replay.neighbours import QUICK, emptied, neighbours, scattered
from replay.transcript import FirstRun, SecondRun
from replay.ways import BOTH, WAYS, Way, kinds, ordinary, replayed

from dimfree.accounting.events import COUNT_STEPS

CASES = [(name, relation) for name, way in WAYS.items() for relation in way.relations]
PLACES = {"paper": (17, 18, 19, 20, 21)}  # some in either half
FEWER = ("groups", "menu", "paper, many", "auto, ", "ring, ", "persons", "sparse")  # these take longer
FIXED = 3  # the seed of tests about the tables and the courses themselves
COURSES = {"correlated": "learned", "smooth": "dct", "spherical": "spherical", "uneven": "own axes"}
SHARP = {  # how near to their charge the extreme neighbours bring the statistics of a run
    "number of records": 0.9999,
    "friend radius": 0.9,
    "unit of the scores": 0.9999,
    "variances": 0.99,
    "lengths of the records": 0.9999,
    "stage 1": 0.9999,
}
BY_COLUMNS = {  # likewise, where every column is read by itself
    "number of records": 0.9999,
    "magnitudes of the columns": 0.999,
    "places of the columns": 0.999,
    "centre": 0.999,
    "variances": 0.7,
    "lengths of the records": 0.9999,
    "mean": 0.9999,
}


def shares_of(way: Way, relation: str, pairs, seed: int, **first) -> dict[str, float]:
    """The largest move of each kind over its charge; fails where one exceeds it."""
    largest: dict[str, float] = {}
    for pair in pairs:
        moves = way.replayed(pair, relation, seed, **first)
        assert not moves.complaints, f"{pair.name}: {moves.complaints}"
        for purpose, share in moves.shares.items():
            largest[purpose] = max(largest.get(purpose, 0.0), share)
    return largest


@pytest.mark.parametrize(("name", "relation"), CASES)
def test_nothing_moves_by_more_than_its_charge(name, relation, seed):
    way = WAYS[name]
    table = way.table(np.random.default_rng(1))
    names = ("all NaN", "1e308", "4.0 spreads aside") if name.startswith(FEWER) else QUICK
    for place in PLACES.get(name, (17,)):
        assert shares_of(way, relation, neighbours(table, relation, place, names), seed)


@pytest.mark.slow
@pytest.mark.parametrize("draw", range(2))
@pytest.mark.parametrize(("name", "relation"), CASES)
def test_nothing_moves_by_more_than_its_charge_on_more_tables(name, relation, draw, seed):
    way = WAYS[name]
    rng = np.random.default_rng((seed, draw))
    table = way.table(rng) * rng.choice([1e-3, 1.0, 50.0] if name.startswith(("auto", "menu")) else [1.0])
    place = int(rng.choice([0, rng.integers(len(table)), len(table) - 1]))
    assert shares_of(way, relation, neighbours(table, relation, place), int(rng.integers(100)))


def test_the_neighbours_are_extreme():
    """The comparison could not fail if the statistics hardly moved."""
    table = ordinary(np.random.default_rng(1))
    largest = shares_of(WAYS["auto"], "add-remove", neighbours(table, "add-remove", 17), FIXED)
    assert [purpose for purpose, share in SHARP.items() if largest.get(purpose, 0.0) < share] == []


@pytest.mark.parametrize("relation", BOTH)
def test_the_neighbours_are_extreme_for_columns_too(relation):
    """Of every release of the route; exchanges move each of them by more than an arrival could."""
    way = WAYS["columns, scarce"]
    table = way.table(np.random.default_rng(1))
    largest = shares_of(way, relation, neighbours(table, relation, 17), FIXED)
    asked = {purpose: share for purpose, share in BY_COLUMNS.items() if purpose in largest}
    assert len(asked) == len(BY_COLUMNS) - (relation == "replace-one")
    assert [purpose for purpose, share in asked.items() if largest[purpose] < share] == []


@pytest.mark.parametrize(("name", "basis"), COURSES.items())
def test_the_menu_takes_every_course(name, basis):
    """Otherwise the replays above would pass some of the mechanisms by."""
    way = WAYS[f"menu, {name}"]
    found = way.call(way.table(np.random.default_rng(1)), noise=FirstRun(seed=FIXED))
    assert found.parameters["basis"] == basis


def test_algorithm_2_learns_variances_of_their_own():
    way = WAYS["paper, many groups"]
    assert way.call(way.table(np.random.default_rng(1)), noise=FirstRun(seed=FIXED)).parameters["top"] > 0


@pytest.mark.parametrize("name", ["stable, diagonal", "auto", "soft", "basic", "sparse, auto", "variance profile"])
def test_one_record_or_none(name, seed):
    way = WAYS[name]
    assert shares_of(way, "add-remove", emptied(way.table(np.random.default_rng(1))), seed)


@pytest.mark.parametrize("name", ["stable, diagonal", "auto", "sparse, auto", "stable, learned scale"])
def test_one_record_or_none_where_the_count_seems_large(name, seed):
    """With luck that nobody has, the noisy count is that of a large table, and the run goes on."""
    way = WAYS[name]
    pairs = emptied(way.table(np.random.default_rng(1)))
    assert "stability" in shares_of(way, "add-remove", pairs, seed, first=300 * COUNT_STEPS)


@pytest.mark.parametrize("name", ["columns, relative", "columns, total", "sparse, relative"])
def test_one_record_or_none_by_columns(name, seed, monkeypatch):
    """The whole route on a table of one record, and on an empty one, whatever the number of valid records seems."""
    monkeypatch.setattr("dimfree.programs.columns.run.LEAST_STRENGTH", 0.0)
    way = WAYS[name]
    found = shares_of(way, "add-remove", emptied(way.table(np.random.default_rng(1))), seed, first=300 * COUNT_STEPS)
    assert {"number of valid records", "magnitudes of the columns", "lengths of the records", "mean"} <= set(found)


@pytest.mark.parametrize("heads", [True, False])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", ["stable, diagonal", "auto"])
def test_the_stability_statistic_moves_by_one(name, relation, heads, seed):
    """So many far records that the statistic lies on every step of the ladder, down to where it is surely refused."""
    way, table, largest = WAYS[name], ordinary(np.random.default_rng(1)), 0.0
    for far in range(1, 40, 1 if heads and name != "auto" else 3):
        pairs = [pair for pair in scattered(table, far) if (pair.removed is None) == (relation == "replace-one")]
        largest = max(largest, shares_of(way, relation, pairs, seed, heads=heads)["stability"])
    assert largest == 1.0


def test_one_coin_of_the_filter_moves_no_more_than_a_record(seed):
    """The lifting of P1 goes from table to table coin by coin; each step is a pair of kept sets."""
    way, table = WAYS["basic"], ordinary(np.random.default_rng(1))
    (pair, *_) = neighbours(table, "add-remove", 17, ("4.0 spreads aside",))
    first = FirstRun(seed=seed)
    way.call(pair.here, noise=first)
    keepable = np.flatnonzero(np.array(first.filters[0].thresholds) > 0)
    for flipped in keepable[:40]:
        again = FirstRun(seed=seed)
        same = type(pair)("one coin", pair.here, pair.here, None)
        moves = replayed(way.call, same, again, SecondRun(first=again, flipped=int(flipped), **kinds(pair.here)))
        assert not moves.complaints, moves.complaints


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_look_at_a_sample_of_the_directions(relation, seed, monkeypatch):
    """Large tables are looked at through secret coins of their own, which belong to records as well."""
    monkeypatch.setattr("dimfree.programs.learn.forecasts.FORECAST_RECORDS", 200)
    way, table = WAYS["menu, correlated"], WAYS["menu, correlated"].table(np.random.default_rng(1))
    found = shares_of(way, relation, neighbours(table, relation, 17, ("all NaN", "far")), seed)
    assert "unevenness of the coordinates" in found


def test_groups_that_a_record_is_not_in_do_not_move(seed):
    """One record is seen by the run over all groups and by that of its own group (G1)."""
    way = WAYS["groups"]
    table = way.table(np.random.default_rng(1))
    for pair in neighbours(table, "add-remove", 17, ("all NaN",)):
        assert len(set(way.replayed(pair, "add-remove", seed).moved_runs)) == 2
