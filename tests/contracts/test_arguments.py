"""The table of arguments and every call that takes them: the same names, the same defaults, the same words of help."""

import inspect
from dataclasses import fields

import pytest
import typer.main

import dimfree
import dimfree.cli
from dimfree.arguments import ARGUMENTS, ESTIMATOR, MEAN, MEANS, OPENDP, SCALER
from dimfree.opendp import make_private_mean
from dimfree.request import Request

CALLS = {  # with the arguments that a call has for itself
    MEAN: (dimfree.release_mean, {"X", "options"}),
    MEANS: (dimfree.release_group_means, {"X", "by", "groups", "options", "tell"}),
    ESTIMATOR: (dimfree.PrivateMean, set()),
    SCALER: (dimfree.PrivateStandardScaler, {"with_mean", "with_std"}),
    OPENDP: (make_private_mean, {"input_domain", "input_metric", "options"}),
}
OTHER_DEFAULTS = {(SCALER, "objective"): "relative"}


@pytest.mark.parametrize("door", CALLS)
def test_every_call_takes_what_the_table_says(door):
    call, own = CALLS[door]
    given = {name: each.default for name, each in inspect.signature(call).parameters.items() if name not in own}
    assert given == {
        name: OTHER_DEFAULTS.get((door, name), row.default) for name, row in ARGUMENTS.items() if door in row.doors
    }


def test_the_options_of_a_release_are_those_of_the_table():
    own = {"budget", "relation", "selection", "place", "options"}  # made of several arguments
    named = {field.name for field in fields(Request)} - own
    assert named <= set(ARGUMENTS)
    for field in fields(dimfree.Options):
        assert ARGUMENTS[field.name].default == field.default


@pytest.mark.parametrize("command", ["mean", "plan"])
def test_the_command_line_takes_what_the_table_says(command):
    options = {each.name: each for each in typer.main.get_command(dimfree.cli.app).commands[command].params}
    own = {"epsilon", "delta", "objective"} if command != "mean" else set()  # worded for records not seen yet
    shared = set(ARGUMENTS) & set(options) - own
    assert shared >= {"neighbors", "tails", "outliers", "failure_probability"}
    for name in shared:
        row = ARGUMENTS[name]
        assert options[name].help == row.help
        assert options[name].required or options[name].default == row.default
    if command == "mean":
        assert {name for name, row in ARGUMENTS.items() if row.kind is not None} <= set(options)
