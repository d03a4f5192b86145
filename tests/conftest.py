"""Fixtures of every test: one seed, one false-alarm account, no luck."""

import os
import sys

import hypothesis
import numpy as np
import pytest
from stats import DECLARED, MARK, declared_rates

import dimfree.noise
import dimfree.request  # others are patched where they are loaded
from dimfree.noise import SeededNoise, SystemNoise, open_noise

OPENERS = {"dimfree.request"}


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=None, help="seed of reproducible randomness; any of 0-99 must pass")


def pytest_configure(config):
    config.addinivalue_line("markers", f"{MARK}(false_alarm): a sampling test and the chance that it fails by bad luck")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    config.stash[DECLARED] = declared_rates(items)  # before anything is deselected


@pytest.fixture(scope="session")
def seed(request) -> int:
    """42 by default; `--seed` or DIMFREE_TEST_SEED choose another. Any of 0–99 must pass."""
    chosen = request.config.getoption("--seed")
    return int(os.environ.get("DIMFREE_TEST_SEED", "42")) if chosen is None else chosen


@pytest.fixture
def rng(seed) -> np.random.Generator:
    return np.random.default_rng(seed)


class Repeatable(SeededNoise):
    """Draws that repeat and call themselves private: what a release prints is what a private one prints."""

    private = True


@pytest.fixture(autouse=True)
def no_test_hangs_on_luck(request, monkeypatch):
    """A release may refuse by bad luck, up to its failure probability; one that a test gives no noise repeats.

    Sampling tests and those marked `system_noise` draw as users do; so does a release in another process, or in a
    fixture of a wider scope.
    """
    if any(request.node.get_closest_marker(name) for name in (MARK, "system_noise")):
        return
    noise = Repeatable(2026)

    def repeatable(given):
        own = given is not None or dimfree.noise.SystemNoise is not SystemNoise  # the test's own, or put in its place
        return open_noise(given if own else noise)

    for user in OPENERS & set(sys.modules):
        monkeypatch.setattr(f"{user}.open_noise", repeatable)


@pytest.fixture(autouse=True)
def no_cluster_of_another_test():
    """A Client that lost its cluster may close late, or never; dask would go on naming it as the scheduler in force."""
    if "distributed" in sys.modules:
        sys.modules["dask"].config.config.pop("scheduler", None)
        sys.modules["distributed.client"]._global_clients.clear()


# `make test` draws the same examples every time; `make test-all` draws fresh ones (the profile `fresh`). How long
# an example takes depends on who else uses the machine, so there is no deadline.
hypothesis.settings.register_profile("fresh", deadline=None)
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.load_profile("repeatable")
