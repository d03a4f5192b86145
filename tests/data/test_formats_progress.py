"""The bar of a release: begins anew with every pass, names the stage, and is nowhere but on a terminal."""

import io

from rich.console import Console
from rich.progress import Progress

from dimfree.cli import progress
from dimfree.progress import during, report_progress


def test_every_pass_begins_anew_under_the_name_of_its_stage():
    bar, shown = progress.Bar(Console(file=io.StringIO())), []
    bar.stage("Releasing")
    for part, done in (("", 50), ("", 100), ("stage 1", 10), ("stage 1", 100), ("stage 2", 100)):
        bar.rows(part, done, 100)
        shown.append((bar._progress.tasks[0].description, bar._progress.tasks[0].percentage))
    assert shown == [
        ("Releasing", 50.0),
        ("Releasing", 100.0),
        ("Releasing: stage 1", 10.0),
        ("Releasing: stage 1", 100.0),
        ("Releasing: stage 2", 100.0),
    ]
    bar.steps("group 2", 1, 4)
    bar.rows("stage 1", 99, 100)  # of that group: the steps show
    assert (bar._progress.tasks[0].description, bar._progress.tasks[0].percentage) == ("Releasing: group 2", 25.0)


def test_no_words_outside_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.show_progress("Releasing"), during("stage 1"):
        report_progress(3, 271828)
    report_progress(4, 271828)
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_on_a_terminal_the_stage_shows_and_the_number_of_rows_does_not(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr("rich.console.Console.is_terminal", property(lambda console: True))
    monkeypatch.setenv("TERM", "xterm")
    started = progress.threading.Event()
    original = Progress.start
    monkeypatch.setattr(Progress, "start", lambda bar: (original(bar), started.set()))
    with progress.show_progress("Releasing"), during("stage 1"):
        assert started.wait(5)
        report_progress(3, 271828)
    shown = capsys.readouterr().err
    assert "stage 1" in shown
    assert "271828" not in shown
