"""The short audit that every `make test` runs, and the rules of a run: order, time, verdicts, words."""

import json
from dataclasses import replace
from time import sleep

import pytest
from audit.twins import EPSILON, WRONG, row_of
from stats import sampling

from dimfree.accounting.budget import Neighbours
from dimfree.audit.lower_bound import epsilon_at_least
from dimfree.audit.mechanisms.clipped_mean import clipped_mean
from dimfree.audit.registry import subjects
from dimfree.audit.report import to_html, to_json, to_markdown
from dimfree.audit.row import SKIPPED, VIOLATED, Check, Row, Time
from dimfree.audit.run import FAILURE, audit, checks, names
from dimfree.audit.sampling import AMPLE, fewest, sample
from dimfree.noise import SeededNoise

DRAWS = 300  # of either table of the worst pair, and half as many of every pair before


@pytest.mark.slow
@sampling(1e-6)
def test_the_short_audit_finds_nothing():
    """Everything exact, searched and numerical at epsilon 1, and the quick mechanisms, so many draws whatever time they
    take: few, but enough to see one that tells everything."""
    kinds = ("exact", "numerics", "timing", "searched")
    rows = list(audit(5.0, [check for check in checks(epsilons=(1.0,)) if check.how in kinds]))
    quick = [subject for subject in subjects(1.0) if "release" not in subject.name]
    failure = 1e-6 / len(quick)
    rows += [sample(subject, AMPLE, failure, most=_draws(subject)) for subject in quick]
    assert [row.mechanism for row in rows if row.verdict not in ("held", "reported")] == []
    assert [row.mechanism for row in rows if row.verdict == "reported"] == ["time of a release"]
    assert all(row.lower_bound <= row.epsilon for row in rows if row.epsilon)
    assert {row.how for row in rows} == {*kinds, "sampled"}


def _draws(subject):
    """Fewer where one takes milliseconds and there are many pairs."""
    return 100 if "core" in subject.name or "variance" in subject.name else DRAWS


def test_the_order_is_fixed_and_every_mechanism_has_a_check():
    assert [(c.mechanism, c.how) for c in checks()] == [(c.mechanism, c.how) for c in checks()]
    for word in ("count", "bit", "histogram", "sparse", "basic", "clipped", "scores", "radius"):
        assert any(word in name for name in names()), word
    released = {name.split(":")[1].split(",")[0].strip() for name in names() if name.startswith("release")}
    assert released >= {"soft", "basic", "stable", "recentred", "cheapest", "unknown scale", "auto", "paper"}


def test_no_time_is_said():
    rows = list(audit(1e-9, [check for check in checks() if check.how == "sampled"][:5]))
    assert {row.verdict for row in rows} == {SKIPPED}
    assert all(row.lower_bound is None for row in rows)


def test_time_is_shared_by_weight():
    """What has no weight takes what it needs, before the clock starts."""
    given = []

    def check(weight, takes=0.0):
        return Check("x", "sampled", lambda time: (given.append(time), sleep(takes), ROW)[-1], weight)

    list(audit(8.0, [check(0.0, takes=0.5), check(1.0), check(3.0)]))
    assert [time.share for time in given] == pytest.approx([0.0, 2.0, 8.0], abs=0.1)
    assert [time.left for time in given] == pytest.approx([8.0, 8.0, 8.0], abs=0.1)


def test_a_look_too_short_to_find_anything_is_not_taken():
    assert Time(1.0, 10.0).enough(0.5) == 1.0
    assert Time(1.0, 10.0).enough(7.0) == 7.0
    assert Time(1.0, 10.0).enough(11.0) is None


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_fewest_samples_can_show_a_violation(epsilon):
    """A mechanism that tells everything is seen with as many, and with half as many its row could not have failed."""
    count = fewest(epsilon, 1e-2, 1e-9)
    assert epsilon_at_least((count, count, 0, count), 1e-2, 1e-9) > epsilon
    assert epsilon_at_least((count // 2, count // 2, 0, count // 2), 1e-2, 1e-9) < 1.3 * epsilon


def test_a_check_that_breaks_off_is_a_finding_and_the_others_go_on():
    def broken(time):
        raise AssertionError("not the law")

    rows = list(audit(1.0, [Check("a", "exact", broken), Check("b", "exact", lambda time: ROW)]))
    assert [row.verdict for row in rows] == [VIOLATED, "held"]
    assert rows[0].detail == "broke off: AssertionError: not the law"


def test_a_run_on_seeded_noise_repeats_itself(seed):
    subject = clipped_mean(3.0, Neighbours.ADD_REMOVE)
    found = [sample(subject, AMPLE, 1e-6, SeededNoise(seed), 300) for _ in range(2)]
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
    assert document["confidence"] == 1 - FAILURE
    page = to_html([ROW, replace(ROW, verdict="violated")], "0")
    assert "a &lt;b&gt;" in page
    assert "1 held, 1 violated" in page
    assert "<b>" not in page
    assert "| a <b> | exact | 1 | 0 | 0.5 | 2 | – | held | x & y |" in to_markdown([ROW], "0")


@sampling(1e-6)
def test_a_violated_row_names_its_pair(seed):
    found = row_of(WRONG["groups by index"](), seed)
    assert found.detail.startswith("first record leaves, by")
    assert found.epsilon == EPSILON
