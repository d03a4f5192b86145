"""Writing: whole or not at all, and never over another file."""

import errno
import os
import sys

import pytest

from dimfree.errors import InvalidFileError
from dimfree.results import writing
from dimfree.results.writing import check_target, write_file


def refusal_of(action, *args, **kwargs):
    with pytest.raises(InvalidFileError) as caught:
        action(*args, **kwargs)
    return str(caught.value)


def failing(number):
    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.fixture(params=[True, False], ids=["links", "no links"])
def links(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(os, "link", failing(errno.EPERM))


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_missing_pyarrow_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'pyarrow>=" in refusal_of(check_target, tmp_path / "out.parquet")


@pytest.mark.parametrize("content", ["new", b"new"])
def test_nothing_is_overwritten_without_force(tmp_path, links, content):
    write_file(tmp_path / "m.csv", "old")
    assert "--force" in refusal_of(write_file, tmp_path / "m.csv", content)
    assert contents(tmp_path) == {"m.csv": "old"}
    write_file(tmp_path / "m.csv", content, force=True)
    assert contents(tmp_path) == {"m.csv": "new"}


def test_a_file_that_appears_after_the_check_survives(tmp_path, monkeypatch, links):
    whole = writing._link_draft

    def link(draft, target):
        target.write_text("theirs")
        return whole(draft, target)

    monkeypatch.setattr(writing, "_link_draft", link)
    assert "already exists" in refusal_of(write_file, tmp_path / "m.csv", "ours")
    assert contents(tmp_path) == {"m.csv": "theirs"}


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("old", [{}, {"m.csv": "old"}])
def test_a_full_disk_leaves_everything_as_it_was(tmp_path, monkeypatch, step, old):
    for name, text in old.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(os, step, failing(errno.ENOSPC))
    message = refusal_of(write_file, tmp_path / "m.csv", "new", force=True)
    assert "no space left" in message
    assert str(tmp_path / "m.csv") in message
    assert contents(tmp_path) == old


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("old")
    seen, whole = [], os.replace
    monkeypatch.setattr(os, "replace", lambda old, new: (seen.append(new.read_text()), whole(old, new)))
    write_file(tmp_path / "a.csv", "new", force=True)
    assert (seen, contents(tmp_path)) == (["old"], {"a.csv": "new"})

    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "r.json", "text")
    assert contents(tmp_path) == {"a.csv": "new"}


def test_a_link_stays_a_link_and_permissions_follow_the_umask(tmp_path):
    target, link = tmp_path / "real.csv", tmp_path / "link.csv"
    target.write_text("old")
    mode = target.stat().st_mode
    link.symlink_to(target)
    write_file(link, "new", force=True)
    assert link.is_symlink()
    assert (target.read_text(), target.stat().st_mode) == ("new", mode)


def test_targets_are_checked_before_anything_is_spent(tmp_path, monkeypatch):
    check_target(tmp_path / "m.csv")
    assert contents(tmp_path) == {}
    assert "unknown ending" in refusal_of(check_target, tmp_path / "m.txt")
    assert "unknown ending" in refusal_of(check_target, tmp_path / "m.csv", endings=(".json",))
    assert "folder does not exist" in refusal_of(check_target, tmp_path / "none" / "m.csv")
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
    assert "no space left" in refusal_of(check_target, tmp_path / "m.csv")
    assert contents(tmp_path) == {}
    (tmp_path / "d.csv").mkdir()
    assert "is a folder" in refusal_of(check_target, tmp_path / "d.csv", force=True)


def test_drafts_of_yesterday_are_removed_and_nothing_else(tmp_path):
    old, others = tmp_path / ".dimfree-1-1.part", [".dimfree-2-2.part", ".dimfree-mine", "a.part"]
    for name in (old.name, *others):
        (tmp_path / name).write_text("x")
    os.utime(old, (0, 0))
    os.utime(tmp_path / "a.part", (0, 0))
    check_target(tmp_path / "a.csv")
    assert sorted(contents(tmp_path)) == sorted(others)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    assert "not writable" in refusal_of(check_target, tmp_path / "closed" / "m.csv")
