"""A report is written whole or not at all, and never over another file."""

import sys

import pytest
from pages import released

import dimfree
from dimfree.errors import InvalidFile, InvalidParameter
from dimfree.report import page

RELEASE = released([1.0, 2.0])


def test_report_is_written_and_not_over_another(tmp_path):
    place = tmp_path / "report.html"
    dimfree.write_report(RELEASE, place, title="Mine")
    first = place.read_text(encoding="utf-8")
    assert first.startswith("<!doctype html>")
    assert "<h1><bdi>Mine</bdi></h1>" in first
    with pytest.raises(InvalidFile, match="--force"):
        dimfree.write_report(RELEASE, place)
    assert place.read_text(encoding="utf-8") == first
    dimfree.write_report(RELEASE, place, force=True)
    assert "Mine" not in place.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("name", ["report.pdf", "report", "nowhere/report.html"])
def test_wrong_place_is_told_before_the_page_is_made(tmp_path, monkeypatch, name):
    monkeypatch.setattr(page, "report_html", lambda *_, **__: pytest.fail("made in vain"))
    with pytest.raises(InvalidFile):
        dimfree.write_report(RELEASE, tmp_path / name)


@pytest.mark.parametrize("missing", ["jinja2", "altair", "vl_convert"])
def test_missing_package_names_the_extra(tmp_path, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InvalidParameter, match=r"pip install 'altair>=.* 'jinja2>="):
        dimfree.write_report(RELEASE, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
