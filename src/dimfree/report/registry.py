"""A release as a draft entry for the registry of deployments of differential privacy: JSON, from public values alone.

Sections and fields are named as in the template of that registry (repository opendp/deployments-registry-data, commit
057e5d8); the registry is young and may rename them. Which words it allows in a field was not checked. What nobody
stated is null. Nothing is sent anywhere.
"""

import json
from datetime import date
from typing import Any

from dimfree.accounting.budget import Neighbours
from dimfree.report.charges import gathered
from dimfree.report.meanings import method_meaning
from dimfree.report.origin import PAPER, fingerprint, versions
from dimfree.report.tradeoff import Tradeoff
from dimfree.results.grouped import NO_GROUP, Means
from dimfree.results.release import Release

_UNPROTECTED = {Neighbours.ADD_REMOVE: "none", Neighbours.REPLACE_ONE: "number of records"}
_AFTERWARDS = "Everything in the release follows from the charged outputs and public parameters."


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
    curators = [{"data_curator_name": owner, "data_curator_type": None}] if owner else []
    deployment = {
        "basic": {
            "name": title,
            "data_curators": curators,
            "description": _product(release) + (f", of the data set {dataset}" if dataset else ""),
            "intended_use": purpose,
            "data_product_type": "Summary statistics",
            "data_product_region": None,
            "data_product_sector": None,
            "publication_date": written.isoformat(),
        },
        "dp_variant": _variant(release),
        "privacy_loss": _loss(release),
        "deployment_model": _model(owner),
        "implementation": _implementation(release),
        "administrative": {"evidence_sources": {}, "status": "Draft", "registry_authors": [], "tier": None},
    }
    return (
        json.dumps({"url_slug": None, "deployment": deployment}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    )


def _product(release: Release | Means) -> str:
    if isinstance(release, Release):
        return f"mean of {release.dimension} columns" + (", refused" if release.refused else "")
    if not release:
        return f"means of groups. {NO_GROUP}"
    found = "" if release.key_costs is None else ", which were found under the same promise"
    refused = f"; {len(release.refused)} of them were refused" if release.refused else ""
    columns = next(iter(release.values())).dimension
    return f"mean of {columns} columns in each of {len(release)} groups{found}{refused}"


def _variant(release: Release | Means) -> dict[str, Any]:
    return {
        "variant_name": "Approximate DP" if release.guarantee.private else "none: the noise was seeded",
        "data_domain": f"tables of numbers; neighbours: {release.guarantee.neighbours}",
        "unprotected_quantities": _UNPROTECTED[release.guarantee.neighbours],
    }


def _loss(release: Release | Means) -> dict[str, Any]:
    promise, curve = release.guarantee, Tradeoff.of(release.ledger)
    closest = (
        "" if curve is None else f" Trade-off curve: within {curve.apart:.2g} of a Gaussian of mu = {curve.mu:.4g}."
    )
    return {
        "privacy_unit": promise.unit,
        "privacy_unit_details": promise.who,
        "number_of_privacy_units": 1,
        "privacy_parameters": {"epsilon": promise.epsilon, "delta": promise.delta},
        "privacy_parameters_details": f"{promise.statement()} Spent: delta = {release.ledger.delta():.4g}.{closest}",
    }


def _model(owner: str | None) -> dict[str, Any]:
    return {
        "model_name": "Central",
        "model_name_details": None,
        "trust_assumptions": "The curator sees the records, and adds the noise.",
        "actors": owner,
        "release_type": None,
        "release_type_details": "One release; the entry does not know of others about the same people.",
        "data_source_type": "Static",
        "data_source_type_details": None,
        "access_type": "Non-interactive",
        "access_type_details": None,
    }


def _implementation(release: Release | Means) -> dict[str, Any]:
    charges = "; ".join(f"{what}: {how}, {cost}" for what, how, cost in gathered(release.ledger))
    software = ", ".join(f"{name} {version}" for name, version in versions())
    return {
        "preprocessing_and_hyperparameter_tuning": "inside the budget, except for what is public",
        "mechanisms": f"discrete Gaussian. {_method(release)}",
        "composition": charges,
        "post_processing": _AFTERWARDS,
        "justification": PAPER,
        "utility": None,
        "additional_information": f"SHA-256 of the release record: {fingerprint(release)}. Software: {software}.",
    }


def _method(release: Release | Means) -> str:
    first = release if isinstance(release, Release) else release.overall or next(iter(release.values()), None)
    return NO_GROUP if first is None else f"{first.method}: {method_meaning(first)}"
