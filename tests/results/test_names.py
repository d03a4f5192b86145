"""Names on a page are one short line each, whatever they hold."""

import pytest
from pages import HOSTILE

from dimfree.results.mean_table import shown_name, shown_names


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("age", "age"),
        ("two\nlines\t here", "two lines here"),
        ("a\x00b\x1bc", "a\ufffdb\ufffdc"),
        ("\ud800", "\ufffd"),
        ("\u202egnp.exe\u2066", "\ufffdgnp.exe\ufffd"),
        ("مرحبا", "مرحبا"),
        ("", "(no name)"),
        (" \n ", "(no name)"),
        (7, "7"),
        ("<b>", "<b>"),  # escaping is the template's work, not a matter of spelling
    ],
)
def test_name_becomes_one_visible_line(name, shown):
    assert shown_name(name) == shown


def test_long_names_are_cut_and_wide_letters_count_twice():
    assert shown_name("x" * 10, 10) == "x" * 10
    assert shown_name("x" * 11, 10) == "x" * 9 + "…"
    assert shown_name("名" * 11, 10) == "名" * 4 + "…"


def test_every_shown_name_can_be_written_to_a_file():
    for name in shown_names(HOSTILE, range(len(HOSTILE))):
        assert 0 < len(name.encode("utf-8")) <= 500
        assert "\n" not in name


def test_columns_without_names_are_numbered():
    assert shown_names(None, range(3)) == ["column 0", "column 1", "column 2"]
