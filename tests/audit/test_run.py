"""The short audit that every `make test` runs, and the rules of a run: order, time, verdicts, words."""

import json
from dataclasses import replace

import pytest
from audit.twins import EPSILON, WRONG, row_of
from stats import sampling

from dimfree.audit.report import to_html, to_json
from dimfree.audit.run import SKIPPED, Check, Row, audit, checks, names, sample
from dimfree.audit.subjects import clipped_mean, subjects
from dimfree.budget import Neighbours
from dimfree.noise import SeededNoise

DRAWS = 600  # of either table of the worst pair, and half as many of every pair before


@sampling(1e-6)
def test_the_short_audit_finds_nothing():
    """Everything exact and numerical at epsilon 1; the quick mechanisms at 3, so many draws whatever time they take."""
    rows = list(audit(1.0, [check for check in checks(epsilons=(1.0,)) if check.how != "sampled"]))
    quick = [subject for subject in subjects(3.0) if "release" not in subject.name]
    draws = {"soft core": 150, "stable core": 150}  # milliseconds each, and many pairs
    failure = 1e-6 / len(quick)
    rows += [sample(subject, float("inf"), failure, most=draws.get(subject.name, DRAWS)) for subject in quick]
    assert [row.mechanism for row in rows if row.verdict != "held"] == []
    assert all(row.lower_bound <= row.epsilon for row in rows if row.epsilon)
    assert {row.how for row in rows} == {"exact", "numerics", "sampled"}


def test_the_order_is_fixed_and_every_mechanism_has_a_check():
    assert [(c.mechanism, c.how) for c in checks()] == [(c.mechanism, c.how) for c in checks()]
    for word in ("count", "bit", "histogram", "sparse", "top-k", "quantile", "basic", "clipped", "scores", "radius"):
        assert any(word in name for name in names()), word
    released = {name for name in names() if name.startswith("release")}
    assert {name.split(":")[1].split(",")[0].strip() for name in released} == {
        "soft",
        "basic",
        "stable",
        "recentred",
        "auto",
        "paper",
    }


def test_no_time_is_said():
    rows = list(audit(1e-9, [check for check in checks() if check.how == "sampled"][:5]))
    assert {row.verdict for row in rows} == {SKIPPED}
    assert all(row.lower_bound is None for row in rows)


def test_time_is_shared_by_weight():
    given = []

    def check(weight):
        return Check("x", "sampled", lambda seconds: given.append(seconds), weight)

    list(audit(8.0, [check(1.0), check(3.0)]))
    assert given[0] == pytest.approx(2.0, abs=0.1)
    assert given[1] == pytest.approx(8.0, abs=0.1)


def test_a_run_on_seeded_noise_repeats_itself(seed):
    subject = clipped_mean(3.0, Neighbours.ADD_REMOVE)
    found = [sample(subject, float("inf"), 1e-6, SeededNoise(seed), 300) for _ in range(2)]
    assert replace(found[0], seconds=0) == replace(found[1], seconds=0)
    assert found[0].pairs == 4


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_every_subject_can_be_drawn(epsilon):
    """One draw from either table of the first pair; rows of one length, refusals included."""
    for subject in subjects(epsilon):
        if "release" in subject.name and epsilon < 1:
            continue
        pair = subject.pairs()[0]
        here, there = (subject.draw(table, SeededNoise(1)) for table in (pair.here, pair.there))
        assert here.shape == there.shape
        assert here.ndim == 1


ROW = Row("a <b>", "exact", 1.0, 0.0, 0.5, 2, 0, "held", "x & y", 0.1)


def test_reports():
    document = json.loads(to_json([ROW], "0"))
    assert document["rows"][0]["mechanism"] == "a <b>"
    assert document["confidence"] == 1 - 1e-6
    page = to_html([ROW, replace(ROW, verdict="violated")], "0")
    assert "a &lt;b&gt;" in page
    assert "1 held, 1 violated" in page
    assert "<b>" not in page


@sampling(1e-6)
def test_a_violated_row_names_its_pair(seed):
    found = row_of(WRONG["groups by index"](), seed)
    assert found.detail.startswith("first record leaves, by")
    assert found.epsilon == EPSILON
