"""What is tested was not looked at before, no clock decides how much of it there is, and failures add up to one."""

from dataclasses import dataclass, field
from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest

import dimfree.audit.run as run
import dimfree.audit.sampling as module
from dimfree.accounting.budget import Neighbours
from dimfree.audit.audited import Subject
from dimfree.audit.pairs.pair import Pair
from dimfree.audit.row import HELD, VIOLATED, Time
from dimfree.audit.sampling import sample
from dimfree.noise import SeededNoise

ADD = Neighbours.ADD_REMOVE
HERE, THERE = np.array([[1.0]]), np.zeros((0, 1))
FAILURE = 1e-6


@dataclass
class Stage:
    """A made-up mechanism that moves a made-up clock and knows whether the tests of its pair have been chosen."""

    scouted_seconds: float = 0.01
    tested_seconds: float = 0.01
    telling: tuple[bool, bool] = (True, False)  # while scouted, and after
    now: float = 0.0
    has_chosen: bool = False
    noises: list[tuple[bool, object]] = field(default_factory=list)  # and whether it was after the choice

    def draw(self, table, noise):
        self.noises.append((self.has_chosen, noise))
        self.now += self.tested_seconds if self.has_chosen else self.scouted_seconds
        return np.array([float(len(table)) if self.telling[self.has_chosen] else 0.0])

    def subject(self):
        pairs = (Pair("somebody leaves", ADD, HERE, THERE),)
        return Subject("made up", 1.0, ADD, self.draw, lambda: pairs)


@pytest.fixture
def play(monkeypatch):
    """`sample` on a stage, by its clock."""
    choose = module.choose_tests

    def played(stage, *, noise=None, most=3000):
        def chosen(*args):
            stage.has_chosen = True
            return choose(*args)

        monkeypatch.setattr(module, "choose_tests", chosen)
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: stage.now))
        return sample(stage.subject(), Time(30.0, 30.0), FAILURE, noise, most)

    return played


def test_what_was_scouted_is_not_tested(play):
    """Everything is told until the tests are chosen, and nothing after."""
    found = play(Stage(), noise=SeededNoise(1))
    assert found.lower_bound == 0
    assert found.verdict == HELD


def test_what_was_not_scouted_is_tested(play):
    """The same stage, told to the end."""
    found = play(Stage(telling=(True, True)), noise=SeededNoise(1))
    assert found.lower_bound > 1
    assert found.verdict == VIOLATED


def test_no_clock_stops_what_is_tested(play):
    """Tested outputs that take a thousand times longer, or no time at all, are as many as the scouted ones let expect;
    they are all drawn, and all count."""
    stages = [Stage(tested_seconds=seconds) for seconds in (0.01, 10.0, 0.0)]
    found = [play(stage, noise=SeededNoise(1)).samples for stage in stages]
    drawn = [sum(after for after, _ in stage.noises) for stage in stages]
    assert found == drawn
    assert len(set(found)) == 1


def test_what_scouted_outputs_cost_says_how_many_are_tested(play):
    quick, slow = (play(Stage(scouted_seconds=seconds), noise=SeededNoise(1)).samples for seconds in (0.01, 0.02))
    assert quick == pytest.approx(2 * slow, rel=0.05)
    assert 1000 < quick < 2 * 3000  # neither the fewest nor the most


def test_tested_outputs_have_noise_of_their_own(play):
    """Nothing that a pool kept from scouting is handed to a tested output."""
    stage = Stage()
    play(stage)
    scouting, testing = ([noise for after, noise in stage.noises if after == late] for late in (False, True))
    assert len({id(noise) for noise in testing}) == 1
    assert not any(noise is testing[0] for noise in scouting)
    assert all(noise.private for noise in (scouting[0], testing[0]))


class Handed(Exception):
    """The failure that a check hands on."""


def telling(function):
    """Raises what it is given as `failure`."""
    form = signature(function)

    def told(*args, **kwargs):
        raise Handed(form.bind(*args, **kwargs).arguments["failure"])

    return told


def test_the_failures_of_all_rows_sum_to_that_of_the_run(monkeypatch):
    monkeypatch.setattr(run, "sample", telling(run.sample))
    monkeypatch.setattr(run, "CANARIES", {name: telling(play) for name, play in run.CANARIES.items()})
    handed = []
    for check in run.checks():
        if check.how in (run.SAMPLED, run.ONE_RUN):
            with pytest.raises(Handed) as told:
                check.run(Time(1.0, 1.0))
            handed.append(told.value.args[0])
    assert len(handed) > 3 * len(run.CANARIES)
    assert run.FAILURE / 2 < sum(handed) <= run.FAILURE * (1 + 1e-9)
