"""`dimfree report` and `dimfree mean --report`: a page beside the release, and never instead of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from pages import of_groups, released
from typer.testing import CliRunner

from dimfree.cli import app
from dimfree.report import page

BUDGET = ["--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture(autouse=True)
def folder(folder, seed):
    table = np.random.default_rng(seed).normal(size=(2000, 2))
    np.savetxt("people.csv", table, delimiter=",", header="<b>age</b>,income", comments="")
    np.savetxt("few.csv", table[:40], delimiter=",", header="<b>age</b>,income", comments="")
    np.save("variances.npy", np.ones(2))
    return folder


def run(*words, expect=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == expect, result.output
    assert "Traceback" not in result.output
    return result


def mean(*words, data="people.csv", expect=0):
    return run("mean", data, *BUDGET, "--covariance", "variances.npy", *words, expect=expect)


def test_page_comes_with_the_mean_and_shows_the_command_without_folders(folder):
    result = mean("-o", folder / "mean.csv", "--report", folder / "page.html", "--tails", "gaussian")
    text = Path("page.html").read_text(encoding="utf-8")
    flags = ["--epsilon 1.0", "--delta 1e-06", "--covariance variances.npy", "--tails gaussian", "--out mean.csv"]
    command = " \\\n    ".join(["dimfree mean people.csv", *flags, "--report page.html"])
    assert f"<code>{command}</code>" in text
    assert str(folder) not in text
    assert "&lt;b&gt;age&lt;/b&gt;" in text
    assert "written" in result.stderr
    assert Path("mean.csv").exists()


def test_refusal_has_a_page_and_no_mean():
    mean("-o", "mean.csv", "--report", "page.html", data="few.csv", expect=3)
    assert "What to do next" in Path("page.html").read_text(encoding="utf-8")
    assert not Path("mean.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--report", "old.html"], "already exists"),
        (["--report", "page.pdf"], ".html"),
        (["--report", "nowhere/page.html"], "folder does not exist"),
        (["--report", "old.html", "--json", "old.html", "--force"], "ending"),
    ],
)
def test_wrong_place_is_told_before_anything_is_spent(words, said):
    Path("old.html").write_text("mine")
    result = mean("-o", "mean.csv", *words, expect=2)
    assert said in result.stderr
    assert not Path("mean.csv").exists()
    assert Path("old.html").read_text() == "mine"


def test_page_that_cannot_be_made_does_not_lose_the_release(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("271828")

    whole = page.render_report
    monkeypatch.setattr(page, "render_report", fail)
    result = mean("-o", "mean.csv", "--report", "page.html", expect=4)
    assert "The outputs failed (ZeroDivisionError). The release was made anyway" in result.stderr
    assert "271828" not in result.output
    monkeypatch.setattr(page, "render_report", whole)
    [record] = Path().glob("dimfree-rescue-*.json")
    run("report", record, "page.html")


def test_groups_have_one_page():
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    lines = [f"{a},{b},{'north' if i % 2 else 'south'}" for i, (a, b) in enumerate(rows.tolist())]
    Path("staff.csv").write_text("age,income,region\n" + "\n".join(lines) + "\n")
    Path("regions.txt").write_text("north\nsouth\n")
    words = ["--by", "region", "--groups", "regions.txt", "--report", "page.html", "-o", "means.csv"]
    mean(*words, data="staff.csv")
    text = Path("page.html").read_text(encoding="utf-8")
    assert "Private means of 2 groups" in text
    assert "--by region \\\n    --groups regions.txt" in text


@pytest.mark.parametrize("record", [released([1.0, 2.0]), of_groups()], ids=["mean", "groups"])
def test_page_from_a_record(record):
    Path("release.json").write_text(record.to_json(), encoding="utf-8")
    result = run("report", "release.json", "page.html", "--title", "<i>Mine</i>")
    assert "&lt;i&gt;Mine&lt;/i&gt;" in Path("page.html").read_text(encoding="utf-8")
    assert "page.html" in result.stderr
    assert result.stdout == ""
    run("report", "release.json", "page.html", expect=2)
    run("report", "release.json", "page.html", "--force")


def test_no_record_no_page():
    Path("release.json").write_text("{}")
    assert "release.json" in run("report", "release.json", "page.html", expect=2).stderr
    assert "cannot be read" in run("report", "missing.json", "page.html", expect=2).stderr
    assert not Path("page.html").exists()


def test_a_ledger_tells_purpose_and_state_and_a_registry_entry_is_written():
    run("ledger", "create", "study.db", "--dataset", "trial-7", "--epsilon", "3", "--delta", "1e-5")
    charged = ["--ledger", "study.db", "--dataset", "trial-7", "--purpose", "annual report"]
    mean("-o", "mean.csv", "--json", "release.json", "--report", "page.html", *charged)
    first = Path("page.html").read_text(encoding="utf-8")
    later = ["--ledger", "study.db", "--dataset", "trial-7", "--owner", "Data office", "--registry", "entry.json"]
    run("report", "release.json", "later.html", *later)
    second = Path("later.html").read_text(encoding="utf-8")
    for text in (first, second):
        top = text.partition("The released mean")[0]
        assert "<bdi>trial-7</bdi>" in top
        assert "<bdi>annual report</bdi>" in top
        assert "Head:" in top
    entry = json.loads(Path("entry.json").read_text(encoding="utf-8"))
    assert entry["deployment"]["basic"]["data_curators"][0]["data_curator_name"] == "Data office"
    assert entry["deployment"]["basic"]["intended_use"] == "annual report"


def test_title_and_owner_of_a_mean_are_on_its_page():
    words = ["--title", "Annual means", "--owner", "Data office"]
    mean("-o", "mean.csv", "--report", "page.html", *words)
    top = Path("page.html").read_text(encoding="utf-8").partition("The released mean")[0]
    assert "Annual means" in top
    assert "<bdi>Data office</bdi>" in top
    for flag, text in zip(words[::2], words[1::2], strict=True):
        assert f"--report PAGE with {flag}" in mean("-o", "other.csv", flag, text, expect=2).stderr


def test_words_that_are_no_text_do_not_fail_the_page_after_the_charge():
    mean("-o", "mean.csv", "--report", "page.html", "--title", "a\udcff")
    assert "--title a?" in Path("page.html").read_text(encoding="utf-8").replace("&#39;", "").replace("'", "")


def test_a_purpose_needs_no_ledger_and_a_data_set_does():
    mean("-o", "mean.csv", "--report", "page.html", "--purpose", "annual report")
    assert "<bdi>annual report</bdi>" in Path("page.html").read_text(encoding="utf-8").partition("The released mean")[0]
    said = mean("-o", "other.csv", "--purpose", "p", expect=2).stderr
    assert "--report PAGE with --purpose" in said
    forgotten = mean("-o", "other.csv", "--report", "other.html", "--dataset", "trial-7", expect=2).stderr
    assert "--ledger FILE and --dataset NAME" in forgotten


def test_a_registry_entry_is_checked_before_the_page_is_written():
    Path("release.json").write_text(released([1.0, 2.0]).to_json(), encoding="utf-8")
    for registry, said in (
        ("page.html", "differ from OUTPUT"),
        ("release.json", "differ from RELEASE"),
        ("a.x", "ending"),
    ):
        assert said in run("report", "release.json", "page.html", "--registry", registry, expect=2).stderr
    assert "--dataset" in run("report", "release.json", "page.html", "--ledger", "study.db", expect=2).stderr
    assert not Path("page.html").exists()
