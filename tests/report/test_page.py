"""A page about a release: complete, harmless whatever columns are called, asking for nothing outside itself, whole."""

import datetime
import hashlib
import json
import re
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from pages import HOSTILE, Page, hostile, of_groups, refused, released

import dimfree
from dimfree import release_groups
from dimfree.accounting import events
from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Bounded, Costs, Gaussian
from dimfree.accounting.ladder import Ladder
from dimfree.accounting.losses import Approximate, Pure
from dimfree.accounting.several_runs import Composition
from dimfree.errors import InvalidFileError, InvalidParameterError
from dimfree.programs import run
from dimfree.report import page
from dimfree.report.context import REASONS
from dimfree.report.page import render_report
from dimfree.report.rendering import format_number, format_power, load_words, pluralize
from dimfree.report.summary import gather_charges
from dimfree.results.mean_table import format_digits, format_to_noise
from dimfree.results.release import Release

NAMED = released([1.5, -2.0, 0.01], columns=("age", "income", "score"), sd=10.0, records=500.0, count=512.0)


def page_of(release, **options):
    return Page(render_report(release, **options))


def test_page_tells_promise_spending_mean_plan_method_and_origin():
    page = page_of(NAMED, command="dimfree mean people.csv --epsilon 1 --delta 1e-6")
    assert page.headings == [
        "Private means of 3 columns", "Released means", "Noise relative to the SD", "Signs", "Privacy guarantee",
        "For one person", "In symbols", "Privacy budget", "Predicted and actual noise", "Method and parameters",
        "How to reproduce and cite", "Methods paragraph to quote", "Reproduce", "Cite", "Approval",
    ]  # fmt: skip
    assert NAMED.guarantee.statement() in page.text
    assert "dimfree mean people.csv --epsilon 1 --delta 1e-6" in page.text
    assert hashlib.sha256(NAMED.to_json().encode()).hexdigest() in page.text
    assert "A large δ." not in page.text
    assert "A large δ." in page_of(replace(NAMED, parameters={"count": 2e5})).text
    for name in NAMED.columns:
        assert page.text.count(name) >= 2  # beside the picture and in the table


def test_seeded_noise_is_called_not_private_and_states_no_guarantee():
    page = page_of(released([1.0], private=False))
    assert "Not private." in page.text
    assert "For one person" not in page.headings
    assert "Privacy guarantee" not in page.headings
    assert "so there is no privacy guarantee." in page.text.partition("Methods paragraph")[2]


def test_groups_have_a_table_on_top_and_a_section_each():
    page = page_of(of_groups(("north", "<b>south</b>", "<i>"), run.TOO_FEW))
    assert page.headings[:2] == ["Private means of 3 groups", "All groups"]
    assert [h for h in page.headings if h in ("north", "<b>south</b>", "<i>")] == ["north", "<b>south</b>", "<i>"]
    assert "2 of 3 released" in page.text
    assert run.TOO_FEW in page.text
    assert page.count("svg") == 3


def test_table_shows_the_released_numbers_to_two_digits_of_the_noise():
    page = page_of(NAMED)
    assert "age 1.50 ± 1.00 0.25 0.025 precise 6.00" in page.text
    assert "score 0.01 ± 1.00 0.25 0.025 precise 0.0400" in page.text
    assert "Noise is below 10% of the SD in 3 of 3 columns." in page.text


def test_page_is_the_same_when_made_from_the_record():
    options = {"written": datetime.date(2024, 5, 1)}
    assert render_report(Release.from_json(NAMED.to_json()), **options) == render_report(NAMED, **options)
    assert "2024-05-01" in render_report(NAMED, **options)


@pytest.mark.parametrize("release", [NAMED, hostile(), refused(run.TOO_FEW), of_groups()], ids=repr)
def test_nothing_is_asked_for_outside_the_page(release):
    page = page_of(release, title="https://example.org/t", spending=[("https://example.org", "<link href=//x>")])
    asking = {"script", "img", "link", "iframe", "object", "embed", "base", "form"}
    assert {tag for tag, _ in page.tags} & asking == set()
    assert page.attributes("src") == []
    assert all(target.startswith("#") for target in page.attributes("href"))
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import|http|expression\(", "".join(page.styles))
    assert not any("http" in str(value) for _, attributes in page.tags for value in attributes.values())
    [policy] = [a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    assert {target[1:] for target in page.attributes("href")} | set(page.attributes("aria-labelledby")) <= set(ids)
    assert page.count("table") == page.count("caption") > 0
    plots = [attributes for _, attributes in page.tags if attributes.get("class") == "plot"]
    assert len(plots) == page.count("svg") == page.count("figcaption") == sum("aria-label" in plot for plot in plots)
    assert page.count("main") == page.count("h1") == 1


def test_hostile_names_are_text_and_nothing_else():
    plain = released(np.linspace(-1, 1, len(HOSTILE)), columns=tuple("abcdefghijklmnop"))
    page = page_of(hostile(), title=HOSTILE[0], command=HOSTILE[1], spending=[(HOSTILE[0], HOSTILE[1])])
    tame = page_of(plain, title="t", command="c", spending=[("a", "b")])
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in tame.tags]
    for name in ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "{{7*7}}", "{% include 'style.css' %}"):
        assert name in page.text
    assert "49" not in page.text.split("{{7*7}}")[1][:5]
    assert "@name0@" in page.text  # a name that looks like our own mark stays a name
    assert "x" * 200 not in page.text
    stated = replace(NAMED.guarantee, privacy_unit="person", privacy_id="<img src=x onerror=alert(1)>")
    page = page_of(replace(NAMED, guarantee=stated))
    assert page.count("img") == 0
    assert "<img src=x onerror=alert(1)>" in page.text
    render_report(hostile()).encode("utf-8")


@pytest.mark.parametrize("reason", [*REASONS, "Something unheard of."])
def test_refusal_says_why_what_it_cost_and_what_next(reason):
    page = page_of(refused(reason))
    assert "Refused" in page.text
    assert reason in page.text
    assert "The budget of this release was charged" in page.text
    assert page.headings[1:3] == ["No mean was released", "What to do next"]
    for remedy in load_words()["remedies"][REASONS.get(reason, "other")]:
        assert remedy.replace("`", "").replace(" ", "") in page.text.replace(" ", "")
    assert page.count("svg") == 1, "of the guarantee alone"
    modules = {run: ("TOO_FEW", "UNSTABLE", "NO_SCALE", "OUT_OF_RANGE"), release_groups: ("NO_SHAPE",)}
    assert {getattr(module, name) for module, names in modules.items() for name in names} == set(REASONS)
    release = refused(reason, relation="replace-one")
    free = page_of(replace(release, charges=Costs(Budget(1.0, 1e-6), Neighbors.REPLACE_ONE, (), ())))
    assert "depends only on the public number of records" in free.text
    assert free.text.count("No budget was charged") == 2


def test_too_few_records_are_told_how_many_would_do():

    page = page_of(refused(run.TOO_FEW, method="auto", count=120.4))
    least = dimfree.plan(n=1000, spectrum=np.ones(3), epsilon=1.0, delta=1e-6).course.smallest_count
    assert f"The noisy count was 120 records; this budget and number of columns need about {least}." in page.text


def test_who_and_what_for_stand_at_the_top_and_charges_are_folded():
    words = {"dataset": "trial <7>", "purpose": "annual report", "owner": "Data office", "spending": [("left", "2.0")]}
    page = page_of(NAMED, title="GroupMeans", **words)
    top = page.text.partition("Released means")[0]
    assert "data set trial <7> purpose annual report owner Data office date 20" in top
    assert "left 2.0" in top
    text = render_report(NAMED, **words)
    assert text.index("Charges by purpose") > text.index('id="noise"')
    before = text[: text.index("μ: the Gaussian mechanism")]
    assert before.count("<details") == before.count("</details") + 1
    assert "Private means of 3 columns date 20" in page_of(NAMED).text
    assert "with all its releases" in text
    assert "are not included" in page_of(NAMED).text
    for name, wrong in {"purpose": 7, "level": 1.0, "command": 7, "rules": 7, "spending": [1]}.items():
        with pytest.raises(InvalidParameterError, match=name):
            render_report(NAMED, **{name: wrong})
    with pytest.raises(InvalidParameterError, match="Release or GroupMeans"):
        render_report(json.loads(NAMED.to_json()))


def test_the_methods_paragraph_states_guarantee_method_and_intervals():
    stated = replace(NAMED.guarantee, privacy_unit="person", privacy_id="patient")
    text = page_of(replace(NAMED, guarantee=stated), level=0.9).text.partition("paragraph to quote")[2]
    assert "Means of 3 columns were released with (ε, δ)-differential privacy (ε = 1.0, δ = 1e-06;" in text
    assert "privacy unit: all rows of one person (same 'patient')), using dimfree" in text
    assert "Each 90% confidence interval is for the population mean" in text
    assert "The list of groups was public." in page_of(of_groups()).text
    assert "no mean was released" in page_of(refused(run.TOO_FEW)).text.partition("paragraph to quote")[2]


def test_a_point_tells_the_name_of_its_column():
    wide = released(np.linspace(-1, 1, 400), 0.1, columns=tuple(f"<gene> {i}" for i in range(400)))
    titles = re.findall(r"<title>(&lt;gene&gt; \d+): [^<]*</title>", render_report(wide))
    assert len(set(titles)) == 300


def test_wide_release_stays_small_and_says_what_it_leaves_out(rng):
    d = 100_000
    wide = released(rng.normal(size=d), rng.uniform(0.01, 1, d), columns=tuple(f"gene {i}" for i in range(d)), sd=2.0)
    before = time.process_time()
    text = render_report(wide)
    assert time.process_time() - before < 10, "seconds of one core; 3 on an idle machine"
    page = Page(text)
    assert len(text) < 500_000
    assert "300 of 100000 columns" in page.text
    assert "60 of 100000 columns" in page.text
    assert "Noise / SD of the columns with a known SD" in page.text


def test_one_column_and_columns_in_any_units_are_drawn():
    for mean, noise in (([5.0], 1.0), ([46.0, 5e4], [1.0, 100.0]), ([0.0, 0.0], [1e-12, 1e9]), ([1e50], 1e40)):
        assert page_of(released(mean, noise)).count("svg") == 2


def test_charges_of_one_purpose_add_up_by_precision():
    stage = [Gaussian(f"refinement step {i}", 3e6, 3e8, 2, 1.0) for i in (1, 2)]
    release = released([1.0])
    ledger = replace(release.charges, chosen=0, after=(*stage, Gaussian("mean", 4e6, 2e8, 1, 1.0)))
    rows = gather_charges(ledger)
    assert [row[0] for row in rows] == [
        "lower bound on the weight of the records",
        "means of clipped records, one per refinement step",
        "mean of the stable core",
    ]
    assert rows[1][1:] == ("discrete Gaussian, 2 times", f"mu = {np.sqrt(2e-4):.4g} together")
    assert rows[2][1:] == ("discrete Gaussian, 1 value", "mu = 0.02")
    assert pluralize("3 value(s) in 1 group(s)") == "3 values in 1 group"


def test_prepared_tests_count_as_the_dearest_and_other_costs_are_listed_one_by_one():
    ladder = Ladder((0, 1, 2, 3))
    branches = (events.Tested(ladder, 0.1), events.Tested(ladder, 0.3), Bounded(0.2, 1e-9))
    rows = gather_charges(Costs(Budget(1.0, 1e-6), Neighbors.ADD_REMOVE, (), branches))
    assert rows[0] == ("stability test that was chosen", "one bit, 2 reserved", "then mu <= 0.3")
    assert len(rows) == 2
    losses = (Approximate("cells", 0.1, 1e-7), Pure("cells", 0.2), Pure("count", 0.5))
    listed = gather_charges(Composition(Budget(1.0, 1e-6), Neighbors.ADD_REMOVE, losses))
    assert [row[2] for row in listed] == [
        "epsilon = 0.1, delta = 1e-07",
        "epsilon = 0.2",
        "epsilon = 0.5",
    ]


def test_numbers_are_typeset():
    assert format_power(1e-6) == "10⁻⁶"
    assert format_power(2.5e-7) == "2.5 · 10⁻⁷"
    assert format_power(0.5) == "0.5"
    assert format_to_noise(0.1008, 12.2432) == "12.24"
    assert format_to_noise(105.0, 50031.4) == "50\u202f031"
    assert format_to_noise(0.2, -0.001) == "0.00"
    assert format_number(-1234567.0) == "\u22121\u202f235\u202f000"
    assert format_digits(31.0, 3) == "31.0"
    assert format_digits(475.2, 3) == "475"


def test_report_is_written_and_not_over_another(tmp_path):
    place = tmp_path / "report.html"
    NAMED.write_report(place, title="Mine")
    first = place.read_text(encoding="utf-8")
    assert first.startswith("<!doctype html>")
    assert "<h1><bdi>Mine</bdi></h1>" in first
    with pytest.raises(InvalidFileError, match="--force"):
        NAMED.write_report(place)
    assert place.read_text(encoding="utf-8") == first
    NAMED.write_report(place, force=True)
    assert "Mine" not in place.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("name", ["report.pdf", "report", "nowhere/report.html"])
def test_wrong_place_is_told_before_the_page_is_made(tmp_path, monkeypatch, name):
    monkeypatch.setattr(page, "render_report", lambda *_, **__: pytest.fail("made in vain"))
    with pytest.raises(InvalidFileError):
        NAMED.write_report(tmp_path / name)


@pytest.mark.parametrize("missing", ["jinja2", "altair", "vl_convert"])
def test_missing_package_names_the_extra(tmp_path, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InvalidParameterError, match=r"pip install 'altair>=.* 'jinja2>="):
        NAMED.write_report(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []
