"""Reports in a real browser: they render, say nothing on the console, ask for nothing, and hostile names do nothing.

Needs the Python package playwright and the system's chromium; skips, saying which is missing, elsewhere.
"""

import shutil
from functools import cache

import numpy as np
import pytest
from pages import HOSTILE, hostile, of_groups, refused, released

from dimfree.programs.run import TOO_FEW
from dimfree.report.page import render_report
from dimfree.results.mean_table import shorten_name

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PAGES = {
    "named": lambda: released([1.5, -2.0, 0.01], columns=("age", "income", "score"), sd=10.0, records=500.0),
    "wide": lambda: released(np.sin(np.arange(5000.0)), 0.05),
    "hostile": hostile,
    "refused": lambda: refused(TOO_FEW),
    "groups": of_groups,
}


@cache
def text_of(name):
    return render_report(PAGES[name]())


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield running
        running.close()


class Visit:
    """A page looked at, and everything it did."""

    def __init__(self, browser, path, **context):
        self.said, self.asked, self.dialogs = [], [], []
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", self._dismiss)
        self.page.goto(path.as_uri(), wait_until="load")

    def _dismiss(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def ask(self, expression):
        return self.page.evaluate(expression)


@pytest.fixture
def visit(browser, tmp_path):
    visits = []

    def go(text, **context):
        path = tmp_path / f"page{len(visits)}.html"
        path.write_text(text, encoding="utf-8")
        visits.append(Visit(browser, path, **context))
        return visits[-1]

    yield go
    for each in visits:
        each.context.close()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    ("width", "scheme", "media"), [(1280, "light", "screen"), (360, "dark", "screen"), (794, "dark", "print")]
)
def test_page_renders_in_silence_and_fits(visit, name, width, scheme, media):
    text = text_of(name).replace("<details>", "<details open>")
    seen = visit(text, color_scheme=scheme, viewport={"width": width, "height": 900})
    seen.page.emulate_media(media=media)
    wider = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1).length"
    assert seen.ask(wider) == 0
    assert seen.ask("document.documentElement.scrollWidth") <= width
    assert seen.ask("document.querySelector('h1').getBoundingClientRect().height") > 10
    for box in seen.ask("[...document.querySelectorAll('.plot svg')].map(s => s.getBoundingClientRect().height)"):
        assert box > 60
    assert seen.said == seen.dialogs == [url for url in seen.asked if not url.startswith("file:")] == []
    assert len(seen.asked) == 1
    if media == "print":
        assert seen.ask("getComputedStyle(document.querySelector('main')).backgroundColor") == "rgb(255, 255, 255)"


def test_reader_of_the_console_and_of_requests_is_not_deaf(visit):
    """The partner that must be caught: a page with a script, an image and no policy."""
    seen = visit("<!doctype html><img src='http://127.0.0.1:9/x.png'><script>console.log('here'); alert(1)</script>")
    assert "here" in seen.said
    assert seen.dialogs == ["1"]
    assert any("127.0.0.1" in url for url in seen.asked)


def test_policy_stops_a_script_even_if_one_got_in(visit):
    text = text_of("named").replace("</main>", "<script>document.title = 'taken'</script></main>")
    seen = visit(text)
    assert seen.page.title() == "Private means of 3 columns"
    assert any("Content Security Policy" in line for line in seen.said)


def test_hostile_names_are_shown_as_they_are(visit):
    seen = visit(render_report(hostile(), title=HOSTILE[0], spending=[(HOSTILE[1], HOSTILE[3])]))
    names = seen.ask("[...document.querySelectorAll('#noise ~ .scroll tbody th')].map(cell => cell.textContent)")
    assert names == [shorten_name(name) for name in HOSTILE]
    assert seen.page.title() == HOSTILE[0]
    assert seen.ask("document.querySelectorAll('script, img, iframe, a[href^=javascript]').length") == 0


def test_dark_page_is_dark_and_its_pictures_are_light_on_it(visit):
    sheet = "getComputedStyle(document.querySelector('main')).backgroundColor"
    label = "getComputedStyle([...document.querySelectorAll('.plot text')].find(t => t.textContent == 'age')).fill"

    def brightness(scheme):
        seen = visit(text_of("named"), color_scheme=scheme)
        colors = [seen.ask(place).strip("rgb()").split(",") for place in (sheet, label)]
        return [sum(int(part) for part in color) / 3 for color in colors]

    paper, ink = brightness("dark")
    assert paper < 60 < 150 < ink
    paper, ink = brightness("light")
    assert ink < 60 < 240 < paper
