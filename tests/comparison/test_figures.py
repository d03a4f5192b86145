"""The paper's claims as figures: searches find known answers, slopes are right, what is drawn is written down."""

import math
import zlib
from pathlib import Path

import numpy as np
import pytest
from benchmarks.accuracy.running import Way
from benchmarks.figures import a_dimension, b_example, c_lower_bound, d_unknown, e_decay, f_free
from benchmarks.figures.__main__ import main
from benchmarks.figures.drawing import GUIDE, MEASURED, MORE, chart, row
from benchmarks.figures.fitting import fitted
from benchmarks.figures.making import FIGURES, complete, figures, measured, measurements
from benchmarks.figures.needing import needed_row
from benchmarks.figures.searching import LEAST, STEPS, Search, grid, records_needed
from benchmarks.figures.spots import Spot, sampling_error
from benchmarks.figures.writing import page, write_figure, write_page
from benchmarks.record import provenance, read_numbers

from dimfree.noise import SeededNoise
from dimfree.release import release_mean

# The search for n


@pytest.mark.parametrize("guess", [1.0, 500.0, 1e9])
@pytest.mark.parametrize("truth", [33.0, 777.0, 12_345.0])
def test_a_power_law_is_crossed_exactly(truth, guess):
    found = records_needed(lambda n: 0.2 * math.sqrt(truth / n), 0.2, guess, 60_000)
    assert found.records == pytest.approx(truth, rel=1e-9)


def test_two_terms_are_crossed_within_a_step():
    found = records_needed(lambda n: math.hypot(3 / math.sqrt(n), 100 / n), 0.3, 400, 10_000)
    truth = (9 + math.sqrt(81 + 4 * 0.09 * 10_000)) / (2 * 0.09)  # 0.09·n² = 9n + 10 000
    assert found.records == pytest.approx(truth, rel=0.005)


def test_a_cliff_is_found_at_the_first_number_that_suffices():
    counts = grid(10_000)
    found = records_needed(lambda n: None if n < 1000 else 0.01, 0.1, 100, 10_000)
    assert found.records == min(n for n in counts if n >= 1000)
    assert found.records / 1000 < 2 ** (1 / STEPS)


def test_the_end_of_the_search_is_said():
    never = records_needed(lambda n: 1.0, 0.1, 100, 5000)
    assert never.records is None
    assert never.most == grid(5000)[-1] == max(never.looked)
    assert needed_row("s", 7, never.as_dict()) == row("s", MORE, 7, never.most)
    assert records_needed(lambda n: 0.0, 0.1, 100, 5000).records == LEAST


def test_nothing_is_looked_at_twice_and_little_at_all():
    looked = []
    records_needed(lambda n: looked.append(n) or 100 / n, 0.1, 2000, 64_000)
    assert len(looked) == len(set(looked)) <= 5


def test_the_grid_is_geometric_and_within_the_most():
    counts = grid(64_000)
    assert counts[0] == LEAST
    assert counts[-1] <= 64_000 < counts[-1] * 2 ** (1 / STEPS) * 1.01
    assert np.diff(np.log2(counts)) == pytest.approx(1 / STEPS, abs=0.03)


def test_a_search_keeps_to_its_largest_table():
    search = Search("S1", 100, 1.0, "dimfree known", 0.5, 30_000, 10_000, 1)
    assert (search.most, search.entries) == (300, 30_000)
    assert search.sampling == pytest.approx((10 + 90 / 100**2) / 0.25)
    assert search.reach == pytest.approx(10.9 / 0.5)


# Errors


def test_the_error_is_sampling_in_closed_form_and_the_private_part():
    spot = Spot("S4", 9, 100, 1.0, ("dimfree known",), 3)
    assert sampling_error("S4", 9, 100) == pytest.approx(0.3)
    assert spot.error([0.4, 9.0, 0.1]) == pytest.approx(0.5)
    assert spot.error([None, 0.4, 0.4]) == pytest.approx(0.5)
    assert spot.error([None, None, 0.4]) is None


def test_the_private_part_is_the_larger_of_noise_and_distance():
    spot = Spot("S5", 5, 600, 2.0, ("dimfree known", "empirical mean"), 2)
    found = spot.measure(3)
    for draw, part in enumerate(found["private"]["dimfree known"]):
        X, known = spot._drawn(spot._coins(3, draw), Path())
        noise_source = SeededNoise(zlib.crc32(f"{3 + draw} dimfree known".encode()))
        release = release_mean(X, epsilon=2.0, delta=1e-6, covariance=known.stddevs**2, noise=noise_source)
        noise, distance = np.linalg.norm(release.noise_stddev), np.linalg.norm(release.mean - X.mean(axis=0))
        assert part == max(noise, distance)
    assert found["private"]["empirical mean"] == pytest.approx([0, 0], abs=1e-9)
    assert found["errors"]["empirical mean"] == pytest.approx(sampling_error("S5", 5, 600))


def test_a_table_in_a_file_is_the_same_table(tmp_path, monkeypatch):
    spot = Spot("S3", 7, 50, 1.0, ("dimfree known",), 1)
    X, known = spot._drawn(spot._coins(5, 0), tmp_path)
    monkeypatch.setattr("benchmarks.figures.spots._IN_MEMORY", 10)
    monkeypatch.setattr("benchmarks.figures.spots._BLOCK", 30)
    filed, same = spot._drawn(spot._coins(5, 0), tmp_path)
    assert isinstance(filed, np.memmap)
    assert not filed.flags.writeable
    assert np.array_equal(filed, X)
    assert np.array_equal(same.mean, known.mean)


# Slopes


def test_an_exact_power_has_its_slope_and_no_error():
    line = fitted([10, 100, 1000], [3 * x**0.25 for x in (10, 100, 1000)])
    assert (line.slope, line.scale) == (pytest.approx(0.25), pytest.approx(3.0))
    assert line.error == pytest.approx(0, abs=1e-9)
    assert line.at(50) == pytest.approx(3 * 50**0.25)


def test_the_standard_error_is_that_of_least_squares():
    x = np.array([1.0, 2.0, 4.0, 8.0])
    y = np.array([1.0, 3.0, 3.0, 9.0])
    design = np.stack([np.log(x), np.ones(4)], axis=1)
    solution, rest, *_ = np.linalg.lstsq(design, np.log(y), rcond=None)
    covariance = np.linalg.inv(design.T @ design) * rest[0] / 2
    line = fitted(x, y)
    assert line.slope == pytest.approx(solution[0])
    assert line.error == pytest.approx(math.sqrt(covariance[0, 0]))


def test_a_slope_is_judged_two_standard_errors_apart():
    def judged(slope, wobble):
        x = np.array([1, 10, 100, 1000.0])
        return fitted(x, x**slope * np.exp(wobble * np.array([1, -1, -1, 1]))).verdict(0.25)

    assert judged(0.1, 0.01) == "met"
    assert judged(0.5, 0.01) == "not met"
    assert judged(0.24, 0.5).startswith("within")
    assert fitted([1, 2], [1, 2]).verdict(0.25).startswith("too few")
    assert fitted([2, 2], [1, 2]) is None


# The lower bound


def test_a_bound_is_shown_where_it_is_proved_only():
    def place(d, accuracy):
        return Search("S4", d, 1.0, "dimfree known", accuracy, 10**6, 1000, 1)

    assert c_lower_bound.lower_bound(place(100, 0.01)) > 50  # |S|·σ_S/(24·α·ε'·log2 d), ε' = sinh(1)·e^(1/2)/2
    assert c_lower_bound.lower_bound(place(10_000, 100.0)) == 0  # the counterexample of the errata


# Figures


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    found, done = measured([*FIGURES], "tiny", 1, Way("figures", "benchmarks.figures", keep=folder))
    assert len(list(folder.iterdir())) == len(found) == len(done.cells)
    assert complete([*FIGURES], "tiny", found) == [*FIGURES]
    return found


def test_a_figure_for_which_there_was_no_time_is_not_drawn():
    found, done = measured(["a"], "tiny", 1, Way("figures", "benchmarks.figures", minutes=0.0))
    assert complete(["a"], "tiny", found) == []
    assert len(done.left_out) == len(a_dimension.tasks("tiny"))


@pytest.mark.parametrize("letter", FIGURES)
def test_every_figure_is_drawn_from_what_is_written_down(letter, results, tmp_path):
    (figure,) = figures([letter], "tiny", results)
    run = provenance("benchmarks.figures", [], 1)
    write_figure(tmp_path, figure, run, measurements(letter, "tiny", results))
    written = read_numbers(tmp_path / "figures" / f"{figure.name}.json.gz")
    drawn = chart(written).to_dict()
    assert written["rows"] == figure.rows
    assert all(math.isfinite(one["x"]) and one["y"] > 0 for one in written["rows"])
    assert {one["kind"] for one in written["rows"]} <= {MEASURED, MORE, GUIDE}
    assert [*drawn["datasets"].values()] == [written["rows"]]  # one set of rows for all layers
    assert all("data" not in layer for layer in drawn["layer"])
    assert (tmp_path / "figures" / f"{figure.name}.svg").read_text().startswith("<svg")
    assert written["run"]["seed"] == 1
    assert len(written["measurements"]) == len(FIGURES[letter].tasks("tiny"))
    text = "\n".join(write_page(tmp_path))
    for words in (figure.claim, figure.found, f"figures/{figure.name}.svg", *figure.table[0]):
        assert words in text


def test_rows_are_the_measurements(results):
    for name, module in {"a": a_dimension, "b": b_example, "e": e_decay, "f": f_free}.items():
        (figure,) = figures([name], "tiny", results)
        shown = [one["y"] for one in figure.rows if one["kind"] == MEASURED]
        found = [results[task] for task in module.tasks("tiny")]
        if name == "a":
            expected = [one["errors"][who] for who in (a_dimension.OURS, *a_dimension.PEERS) for one in found]
        elif name == "b":
            expected = [one["records"] for one in found]
        elif name == "e":
            expected = [e_decay.ratio(one) for one in found]
        else:
            tasks = module.tasks("tiny")
            expected = [
                one["errors"][f_free.OURS] / sampling_error(task.spectrum, task.dimension, task.count)
                for task, one in zip(tasks, found, strict=True)
            ]
        assert shown == [value for value in expected if value is not None]


def test_finished_measurements_are_taken_over(results, tmp_path, monkeypatch):
    way = Way("figures", "benchmarks.figures", keep=tmp_path)
    first = measured(["f"], "tiny", 1, way)
    monkeypatch.setattr(Spot, "measure", lambda *_: pytest.fail("measured again"))
    assert measured(["f"], "tiny", 1, way) == first


def test_the_regime_of_the_theorem():
    inside = Search("S1", 1000, 1.0, "dimfree", 1.0, 1, 1, 1)
    assert d_unknown.in_regime(inside)
    assert not d_unknown.in_regime(Search("S1", 1000, 1.0, "dimfree", 0.3, 1, 1, 1))
    for name, accuracy, _ in d_unknown.PLANS["full"].series:
        for d in d_unknown.PLANS["full"].dimensions:
            assert d_unknown.in_regime(Search(name, d, 1.0, "dimfree", accuracy, 1, 1, 1))


def test_the_effective_dimension():
    assert f_free.effective_dimension("S4", 40) == pytest.approx(40)
    assert f_free.effective_dimension("S1", 1000) == pytest.approx(12, abs=0.1)


def test_failures_are_said():
    refused = {name: [None, 1.0] for name in (a_dimension.OURS, *a_dimension.PEERS)}
    assert "Not met" in a_dimension._sentence(a_dimension.PLANS["tiny"], refused)
    grown = {**{name: [1.0, 9.0] for name in a_dimension.PEERS}, a_dimension.OURS: [1.0, 1.6]}
    assert "NOT met" in a_dimension._sentence(a_dimension.PLANS["tiny"], grown)
    of = b_example.searches("full", "dimfree known")
    grown = {search: {"records": 100 * search.dimension**0.1, "most": 9} for search in of}
    assert "NOT flat" in b_example._verdict({"dimfree known": of}, grown)
    flat = {search: {"records": 100.0 + at % 2, "most": 9} for at, search in enumerate(of)}
    assert "no growth" in b_example._verdict({"dimfree known": of}, flat)
    ended = {**grown, of[0]: {"records": None, "most": 9}}
    assert "not met" in b_example._verdict({"dimfree known": of}, ended)
    far = dict.fromkeys(e_decay._spots("tiny"), 2.0)
    assert "NOT within" in e_decay._sentence("tiny", far)
    dear = dict.fromkeys(f_free._spots("tiny"), 1.2)
    assert "NOT reached" in f_free._sentence(dear, dict.fromkeys(dear, 3.0))


def test_an_unknown_letter_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "a,z"])
    assert "got z" in capsys.readouterr().err


def test_sizes_stay_within_their_means():
    largest = [task for module in FIGURES.values() for task in module.tasks("full") if task.entries > 170_000_000]
    assert [(task.dimension, task.count) for task in largest] == [(100_000, 4000)]
    assert all(task.entries <= 8_000_000 for module in FIGURES.values() for task in module.tasks("quick"))
    assert page([])[0].startswith("# ")
