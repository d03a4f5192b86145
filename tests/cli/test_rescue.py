"""`dimfree mean`: what would stop the writing stops before the charge; what stops it later loses no release."""

import errno
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dimfree import PrivacyLedger, Release
from dimfree.cli import app, output
from dimfree.errors import InvalidFileError, InvalidParameterError
from dimfree.results import writing
from dimfree.results.grouped import GroupMeans
from dimfree.results.tables import format_csv

PRIVATE = "271828"


@pytest.fixture(autouse=True)
def folder(people):
    PrivacyLedger("study.json", "trial-7", epsilon=9, delta=1e-4)
    return people


def run(*words, grouped=False, expect):
    options = ["staff.csv", "--by", "region", "--groups", "regions.txt"]
    options = options if grouped else ["people.csv"]
    options += ["--epsilon", "2", "--delta", "1e-6", "--covariance", "variances.npy"]
    options += ["--ledger", "study.json", "--dataset", "trial-7"]
    result = CliRunner().invoke(app, ["mean", *options, *words])
    assert result.exit_code == expect, result.output
    assert "Traceback" not in result.output
    return result


def debits():
    return PrivacyLedger("study.json", "trial-7").account().debits


def full_from(nth, monkeypatch):
    calls, whole = [], os.fsync

    def fsync(descriptor):
        calls.append(1)
        if len(calls) >= nth:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        whole(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "study.json", "--force"], "differ from --ledger"),
        (["--json", "study.json", "--force"], "differ from --ledger"),
        (["--json", "link.json", "--force"], "differ from --ledger"),
        (["-o", "people.csv", "-o", "staff.csv", "--force"], "differ from DATA"),
        (["--report", "nowhere/page.html"], "folder does not exist"),
        (["--report", "folder.html"], "is a folder"),
        (["--json", "pipe.json", "--force"], "not a regular file"),
    ],
)
def test_places_that_cannot_be_written(grouped, words, said):
    Path("link.json").symlink_to("study.json")
    Path("folder.html").mkdir()
    os.mkfifo("pipe.json")
    words = ["-o", "people.csv", "--force"] if "staff.csv" in words and not grouped else words
    assert said in run(*words, grouped=grouped, expect=2).stderr
    assert debits() == 0


def test_standard_output_that_is_closed(monkeypatch):
    monkeypatch.setattr(output.sys, "stdout", None)
    with pytest.raises(InvalidParameterError, match="Standard output is closed"):
        output.Places("-", None, None, False).check({})
    output.Places("m.csv", None, None, False).check({})


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("pyarrow", ["-o", "m.parquet"]),
        ("pyarrow.parquet", ["-o", "m.parquet"]),  # there, but broken
        ("jinja2", ["--report", "p.html"]),
        ("vl_convert", ["--report", "p.html"]),
    ],
)
def test_packages_that_cannot_be_loaded(monkeypatch, grouped, package, words):
    monkeypatch.setitem(sys.modules, package, None)
    assert "install" in run(*words, grouped=grouped, expect=2).stderr
    assert debits() == 0


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_disk_that_is_full_already(monkeypatch, folder, grouped, nth):
    before = sorted(path.name for path in folder.iterdir())
    full_from(nth, monkeypatch)
    result = run("-o", "m.csv", "--json", "r.json", "--report", "p.html", grouped=grouped, expect=2)
    assert "no space left" in result.stderr
    assert (debits(), sorted(path.name for path in folder.iterdir())) == (0, before)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_disk_that_fills_in_the_meantime(monkeypatch, folder, grouped):
    before = sorted(path.name for path in folder.iterdir())
    full_from(3, monkeypatch)  # two proofs, two drafts
    result = run("-o", "m.csv", "--json", "r.json", grouped=grouped, expect=4)
    record, _, sentence = result.stderr.rpartition("}")
    assert not (GroupMeans if grouped else Release).from_json(record + "}").refused
    words = " ".join(sentence.split())
    for said in (
        "r.json could not be written and was left unchanged: no space left on device",
        "Its release file (JSON) is above, on standard error: keep it",
        "epsilon=2.0 and delta=1e-06, entry 1 of 'trial-7'",
    ):
        assert said in words
    assert (debits(), sorted(path.name for path in folder.iterdir())) == (1, before)


def test_what_fails_after_the_record_is_made_from_it(monkeypatch, folder):
    """Two proofs; the record and its folder; then the table."""
    full_from(5, monkeypatch)
    words = run("-o", "m.csv", "--json", "r.json", expect=4).stderr
    assert "Its release file (JSON) is in 'r.json'" in words
    assert "Written: r.json." in words
    assert not Path("m.csv").exists()
    monkeypatch.undo()
    os.chdir(folder)
    for name in ("m.csv", "m.npz", "m.svg"):
        assert CliRunner().invoke(app, ["report", "r.json", name]).exit_code == 0
    assert Path("m.csv").read_text() == format_csv(Release.from_json(Path("r.json").read_text()))
    assert CliRunner().invoke(app, ["report", "r.json", "half.csv", "--level", "0.5"]).exit_code == 0
    assert Path("half.csv").read_text() != Path("m.csv").read_text()
    assert "unknown ending" in CliRunner().invoke(app, ["report", "r.json", "m.txt"]).stderr


def test_a_refusal_is_kept_as_well(monkeypatch, folder):
    np.savetxt("people.csv", np.zeros((3, 2)), delimiter=",", header="age,income", comments="")
    whole = writing.write_file
    monkeypatch.setattr(writing, "write_file", lambda path, *rest, **more: whole(appeared(path), *rest, **more))
    run("-o", "m.csv", "--json", "r.json", expect=4)
    [rescued] = folder.glob("dimfree-rescue-*.json")
    assert Release.from_json(rescued.read_text()).refused
    assert Path("r.json").read_text() == "theirs"


def appeared(path):
    """A file of somebody else's, since the check."""
    if path == Path("r.json"):
        path.write_text("theirs")
    return path


class Broken:
    """A standard output that takes nothing."""

    encoding = "utf-8"

    def write(self, text):
        raise OSError(errno.EPIPE, os.strerror(errno.EPIPE))

    def flush(self):
        pass

    def fileno(self):
        raise OSError


def broken_stdout(monkeypatch):
    """From the moment at which the release is made."""
    from dimfree.ledger.ledger import Charged

    whole = Charged.note_outcome

    def note_outcome(self, **known):
        whole(self, **known)
        monkeypatch.setattr(sys, "stdout", Broken())

    monkeypatch.setattr(Charged, "note_outcome", note_outcome)


def test_standard_output_that_breaks_leaves_a_named_file(monkeypatch, folder):
    broken_stdout(monkeypatch)
    result = run(expect=4)
    [rescued] = folder.glob("dimfree-rescue-*.json")
    assert not Release.from_json(rescued.read_text()).refused
    assert f"in {str(rescued)!r}" in result.stderr


def test_standard_output_that_breaks_beside_a_record(monkeypatch, folder):
    broken_stdout(monkeypatch)
    result = run("--json", "r.json", expect=4)
    assert not Release.from_json(Path("r.json").read_text()).refused
    assert not list(folder.glob("dimfree-rescue-*"))
    assert "Written: r.json. Charged to the ledger: epsilon=2.0" in result.stderr


def test_neither_disk_nor_standard_output(monkeypatch, folder):
    """The folder for temporary files, and in the end standard error."""
    broken_stdout(monkeypatch)
    (folder / "spare").mkdir()
    monkeypatch.setattr(output.tempfile, "gettempdir", lambda: str(folder / "spare"))
    whole = writing.write_file

    def write_file(path, text):
        if path.parent.name != "spare":
            raise InvalidFileError("It cannot be written.")
        whole(path, text)

    monkeypatch.setattr(writing, "write_file", write_file)
    run(expect=4)
    assert len(list((folder / "spare").iterdir())) == 1
