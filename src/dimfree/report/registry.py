"""A release as a draft entry for the registry of deployments of differential privacy: JSON, from public values alone.

`templates/registry.json` holds the entry. Nothing is sent anywhere.
"""

import json
from datetime import date

from dimfree.report.charges import gathered
from dimfree.report.context import method_meaning
from dimfree.report.page import fingerprint
from dimfree.report.rendering import rendered, versions, words
from dimfree.report.tradeoff import Tradeoff
from dimfree.results.grouped import NO_GROUP, Means
from dimfree.results.release import Release


def registry_json(
    release: Release | Means,
    *,
    title: str | None = None,
    dataset: str | None = None,
    purpose: str | None = None,
    owner: str | None = None,
    written: date,
) -> str:
    """The entry as JSON text; a release with seeded noise says that it promises nothing."""
    first = release if isinstance(release, Release) else release.overall or next(iter(release.values()), None)
    text = rendered(
        "registry.json",
        title=title,
        dataset=dataset,
        purpose=purpose,
        owner=owner,
        written=written.isoformat(),
        release=release,
        one=isinstance(release, Release),
        no_group=NO_GROUP,
        guarantee=release.guarantee,
        curve=Tradeoff.of(release.ledger),
        spent=release.ledger.delta(),
        method=NO_GROUP if first is None else f"{first.method}: {method_meaning(first)}",
        charges="; ".join(f"{what}: {how}, {cost}" for what, how, cost in gathered(release.ledger)),
        paper=words("PAPER"),
        fingerprint=fingerprint(release),
        software=", ".join(f"{name} {version}" for name, version in versions()),
    )
    return json.dumps(json.loads(text), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
