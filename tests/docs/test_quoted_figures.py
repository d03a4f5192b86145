"""Every figure that README and docs quote stands on a results page, to the digit.

A passage quotes a page if a mark stands before it, `<!-- figures: field -->`, or if the line after a table begins with
"From `python -m benchmarks.…`" and links to the page. `<!-- old figures: gpu -->` is for pages of an earlier version,
and the passage's section has to say so.
"""

import re
from pathlib import Path

import pytest
from benchmarks.pages import FOLDER, MARK, READERS, SOURCE, quoted_in

ROOT = Path(__file__).parents[2]
PAGES = [path for pattern in READERS for path in sorted(ROOT.glob(pattern))]
FIGURE = re.compile(r"(?<![\w.])\d+\.\d+(?:e[+-]?\d+)?(?![\w.])|(?<![\w.])\d+e[+-]?\d+(?!\w)")
WITHOUT_MEASUREMENTS = {  # pages with tables of figures that come from elsewhere
    "docs/tutorial/python.md": "printed by blocks that other tests run",
    "docs/explanation/how-it-works.md": "printed by the command beside it",
    "docs/reference/compatibility.md": "numbers of versions",
}


def passages(text: str) -> list[tuple[str, str]]:
    """(results page, passage): from a mark to the next empty line, and tables with the line that names their source."""
    blocks = re.split(r"\n\s*\n", text)
    found = []
    for place, block in enumerate(blocks):
        if mark := MARK.search(block):
            rest = block[mark.end() :]
            found.append((mark[2], rest if rest.strip() else blocks[place + 1]))
        elif source := SOURCE.match(block):
            table = next(b for b in reversed(blocks[:place]) if b.startswith("|"))
            found.append((source[1], table))
    return found


QUOTES = [(path, name, passage) for path in PAGES for name, passage in passages(path.read_text(encoding="utf-8"))]


def stands_in(figure: str, page: str) -> bool:
    """As it is, or as some number of the page reads with as many decimals."""
    numbers = set(FIGURE.findall(page))
    if figure in numbers or "e" in figure:
        return figure in numbers
    decimals = len(figure.partition(".")[2])
    return any(f"{float(number):.{decimals}f}" == figure for number in numbers)


@pytest.mark.parametrize(("path", "name", "passage"), QUOTES, ids=lambda value: str(value)[-20:].strip())
def test_every_quoted_figure_stands_on_the_page(path, name, passage):
    page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    assert [figure for figure in FIGURE.findall(passage) if not stands_in(figure, page)] == []


def test_tables_of_figures_say_where_they_come_from():
    unmarked = []
    for path in PAGES:
        name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
        quoted = [passage for _, passage in passages(text)]
        tables = [block for block in re.split(r"\n\s*\n", text) if block.startswith("|")]
        measured = [block for block in tables if any(figures_of(row) > 1 for row in block.splitlines())]
        unmarked += [name for block in measured if name not in WITHOUT_MEASUREMENTS and block not in quoted]
    assert unmarked == []


def figures_of(row: str) -> int:
    """How many cells of a table's row begin with a figure; sentences with a figure in them are no measurements."""
    return sum(bool(FIGURE.match(cell.strip(" *"))) for cell in row.split("|"))


def test_what_is_old_is_called_so():
    for path in PAGES:
        for section in re.split(r"^#+ ", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            assert "<!-- old figures" not in section or "an earlier version" in section, path


def test_the_marks_are_read():
    source = "From `python -m benchmarks.x`: [f](../benchmarks/results/field.md)."
    text = f"<!-- figures: few -->\n1.25 and 2.5\n\nno 9.9\n\n| a |\n| 3.5 |\n\n{source}"
    assert passages(text) == [("few", "\n1.25 and 2.5"), ("field", "| a |\n| 3.5 |")]
    assert quoted_in(text) == {"few", "field"}
    assert quoted_in("<!-- old figures: gpu -->\n1.5") == set()
    assert stands_in("1.25", "it was 1.25 [1.1, 1.4]")
    assert stands_in("1.2", "it was 1.234")
    assert not stands_in("1.24", "it was 1.234")
    assert not stands_in("1.9e+03", "it was 1.85e+03")


# The tables of the field and of ordinary tables, cell by cell
