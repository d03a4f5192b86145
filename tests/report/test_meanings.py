"""What stands beside the parameters and error bars of a page is true of this release, whatever else the page shows."""

from dataclasses import replace

import numpy as np
from pages import Page, released

from dimfree.bases import NAMED
from dimfree.kernel.rows.bases import Given
from dimfree.programs.learn.coordinates import LEARNED, OWN, SPHERICAL
from dimfree.report.context import parameter_rows
from dimfree.report.page import report_html
from dimfree.report.rendering import words
from dimfree.results.error_model import LearnedDirections, LearnedShape


def page_of(release):
    return Page(report_html(release))


def found_directions(shares, angles, **parameters):
    """A release whose noise followed so many directions."""
    found = LearnedDirections(np.eye(8)[: len(shares)], np.array(shares), np.radians(angles), np.ones(8))
    shape = LearnedShape(np.ones(8), np.zeros(8), found)
    return replace(released(np.zeros(8), method="auto", **parameters), shape=shape)


def meanings(release):
    return {name: meaning for name, _, meaning in parameter_rows(release)}


def test_the_basis_is_told_by_its_value():
    chosen = (SPHERICAL, OWN, LEARNED, Given.name, *NAMED)
    told = [meanings(released([1.0], method="auto", basis=name))["basis"] for name in chosen]
    assert len(set(told)) == len(chosen) == len(words()["bases"])
    assert told[0] == "the same noise in all columns: no shape was predicted to reduce it"
    assert all(words()["parameters"]["basis"] not in text for text in told)
    assert meanings(released([1.0], basis="unheard of"))["basis"] == words()["parameters"]["basis"]


def test_directions_are_told_with_shares_and_angles_rounded_up():
    release = found_directions([0.32, 0.16, 0.004], [10.2, 23.0, 90.0], basis="learned", directions=3)
    told = (
        "32 % of the spread, turned by at most 11°; 16 % of the spread, turned by at most 23°; "
        "below 1 % of the spread, turned by at most 90°"
    )
    assert meanings(release)["directions"] == f"directions that are stronger than the noise: {told}"
    assert told in page_of(release).text


def test_many_directions_are_cut_short_and_left_out_ones_named():
    many = found_directions(np.full(8, 0.1), np.full(8, 30.0), basis="learned", directions=8)
    assert meanings(many)["directions"].count("turned") == 5
    assert meanings(many)["directions"].endswith("; and 3 more")
    fewer = found_directions([0.3], [5.0], basis="learned", directions=2)
    assert meanings(fewer)["directions"].endswith("error of the released centre are left out")
    none = released([1.0], method="auto", basis="learned", directions=1)
    assert meanings(none)["directions"].endswith(
        "noise: those that consist mostly of the error of the released centre are left out"
    )
    unused = released([1.0], method="auto", basis="own axes", directions=1)
    assert meanings(unused)["directions"].endswith("; they were predicted to reduce the noise too little to be used")
