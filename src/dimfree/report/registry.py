"""A release as an entry for a registry of deployments of differential privacy: JSON, from public values alone.

The sections and names follow the public registries of such deployments (deployment, flavour, privacy loss, model,
accounting, implementation); docs/command_line.md lists them. What nobody stated is null. Nothing is sent anywhere.
"""

import json
from datetime import date
from typing import Any

from dimfree.accounting.budget import Neighbours
from dimfree.report.charges import gathered
from dimfree.report.meanings import method_meaning
from dimfree.report.origin import PAPER, fingerprint, versions
from dimfree.report.tradeoff import Tradeoff
from dimfree.results.grouped import Means
from dimfree.results.release import Release

_UNPROTECTED = {Neighbours.ADD_REMOVE: [], Neighbours.REPLACE_ONE: ["number of records"]}


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
    said = {"title": title, "dataset": dataset, "purpose": purpose, "owner": owner}
    entry = {
        "name": title,
        "deployment": _deployment(release, said, written),
        "dp_flavor": _flavour(release),
        "privacy_loss": _loss(release),
        "model": {"model_name": "central", "actors": [owner] if owner else []},
        "accounting": {
            "composition": [{"for": what, "how": how, "cost": cost} for what, how, cost in gathered(release.ledger)],
            "post_processing": "Everything in the release follows from the charged outputs and public parameters.",
        },
        "implementation": {
            "mechanisms": ["discrete Gaussian"],
            "method": _method(release),
            "software": dict(versions()),
            "justification": PAPER,
        },
        "additional_information": {"sha256_of_release_record": fingerprint(release)},
    }
    return json.dumps(entry, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _deployment(release: Release | Means, said: dict[str, str | None], written: date) -> dict[str, Any]:
    one = release if isinstance(release, Release) else next(iter(release.values()))
    groups = f" in each of {len(release)} groups" if isinstance(release, Means) else ""
    return {
        "name": said["title"],
        "dataset": said["dataset"],
        "data_curator": said["owner"],
        "intended_use": said["purpose"],
        "data_product_type": f"mean of {one.dimension} columns{groups}",
        "publication_date": written.isoformat(),
        "released": not release.refused if isinstance(release, Release) else len(release.refused) < len(release),
    }


def _flavour(release: Release | Means) -> dict[str, Any]:
    return {
        "name": "approximate differential privacy" if release.guarantee.private else "none: the noise was seeded",
        "bound_neighbours": str(release.guarantee.neighbours),
        "unprotected_quantities": _UNPROTECTED[release.guarantee.neighbours],
    }


def _loss(release: Release | Means) -> dict[str, Any]:
    promise, curve = release.guarantee, Tradeoff.of(release.ledger)
    return {
        "privacy_unit": promise.unit,
        "privacy_unit_description": promise.who,
        "privacy_parameters": {"epsilon": promise.epsilon, "delta": promise.delta},
        "privacy_parameters_description": promise.statement(),
        "spent_delta_at_epsilon": release.ledger.delta(),
        "closest_gaussian_mu": None if curve is None else curve.mu,
        "largest_difference_of_trade_off_curves": None if curve is None else curve.apart,
    }


def _method(release: Release | Means) -> str:
    first = release if isinstance(release, Release) else release.overall or next(iter(release.values()))
    return f"{first.method}: {method_meaning(first)}"
