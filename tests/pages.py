"""Releases for reports, a reader of pages, and hostile column names."""

from html.parser import HTMLParser

import numpy as np

from dimfree.accounting.budget import Budget, Neighbors
from dimfree.accounting.events import Bounded, Costs
from dimfree.accounting.guarantee import Guarantee
from dimfree.results.error_model import Clipping, ErrorModel, EstimatedVariances
from dimfree.results.grouped import GroupMeans
from dimfree.results.release import Release

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{7*7}}",
    "</style></svg><script>alert(3)</script>",
    "{% include 'style.css' %}",
    "مرحبا بالعالم",
    "\u202egnp.exe",
    "x" * 5000,
    "a\x00b\x01c",
    "two\nlines",
    "",
    "javascript:alert(4)",
    "https://example.org/x.js",
    "\ud800 alone",
    "@name0@",
    "&amp;",
)


def common(dimension, columns=None, *, epsilon=1.0, relation="add-remove", private=True, method="stable", **parameters):
    relation = Neighbors.parse(relation)
    return {
        "guarantee": Guarantee(epsilon, 1e-6, relation, private),
        "charges": Costs(Budget(epsilon, 1e-6), relation, (), (Bounded(0.1, 1e-9),)),
        "method": method,
        "dimension": dimension,
        "columns": columns,
        "parameters": parameters,
    }


def released(mean, noise=0.25, columns=None, *, sd=None, records=None, **rest):
    """Return a release of made-up public numbers."""
    mean = np.asarray(mean, dtype=float)
    model = ErrorModel(record_stddev=None if sd is None else np.full(len(mean), sd), records=records)
    return Release.released(
        mean=mean,
        noise_stddev=np.full(len(mean), noise),
        error_model=model,
        **common(len(mean), columns, **rest),
    )


def by_columns(sd, over=0.05, columns=None, unresolved=(), mean=None, without_interval=(), **rest):
    """Return a release of the per-column estimator; `over` is noise / SD."""
    sd = np.asarray(sd, dtype=float)
    log_stddev = np.full(len(sd), 0.1)
    log_stddev[[*unresolved, *without_interval]] = np.inf
    flags = np.isin(np.arange(len(sd)), without_interval) if without_interval else None
    mean = 3 * sd if mean is None else np.asarray(mean, dtype=float)
    return Release.released(
        mean=mean,
        noise_stddev=over * sd,
        error_model=ErrorModel(record_stddev=sd, records=500.0, without_interval=flags),
        estimated_variances=EstimatedVariances(sd**2, log_stddev, log_above=np.full(len(sd), 0.1)),
        clipping=Clipping(6.0, mean, sd),
        **common(len(sd), columns, method="columns", **{"objective": "relative", **rest}),
    )


def refused(reason, **rest):
    return Release.from_refusal(reason, **common(3, **rest))


def hostile():
    return released(np.linspace(-1, 1, len(HOSTILE)), columns=HOSTILE)


def of_groups(names=("north", "<b>south</b>"), reason="Too few records."):
    """Return group means; the last group is refused."""
    done = {name: released([1.0, 0.0], columns=("a", "b")) for name in names[:-1]}
    last = Release.from_refusal(reason, **common(2, ("a", "b")))
    return GroupMeans(last.guarantee, {**done, names[-1]: last})


class Page(HTMLParser):
    """The tags, headings and visible text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.headings, self.words, self.styles, self._open = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        (self.styles if "style" in self._open else self.words).append(data)
        if self._open and any(tag in self._open for tag in ("h1", "h2", "h3")):
            self.headings.append(data.strip())

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def attributes(self, name):
        return [attributes[name] for _, attributes in self.tags if name in attributes]

    def count(self, tag):
        return sum(name == tag for name, _ in self.tags)
