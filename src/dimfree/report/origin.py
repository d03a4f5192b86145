"""How a release was made: code or command, versions, digest of the record, citation."""

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version

from dimfree.accounting.budget import Neighbours
from dimfree.accounting.guarantee import Guarantee
from dimfree.results.grouped import Means, shape_source
from dimfree.results.release import Release

PACKAGES = ("dimfree", "numpy", "scipy", "opendp")

PAPER = (
    "Yuval Dagan, Michael I. Jordan, Xuelin Yang, Lydia Zakynthinou, Nikita Zhivotovskiy: Dimension-free Private Mean "
    "Estimation for Anisotropic Distributions. Advances in Neural Information Processing Systems 37 (NeurIPS 2024). "
    "arXiv:2411.00775."
)
_BIBTEX = """@inproceedings{dagan2024dimension,
  title     = {Dimension-free Private Mean Estimation for Anisotropic Distributions},
  author    = {Dagan, Yuval and Jordan, Michael I. and Yang, Xuelin and Zakynthinou, Lydia and Zhivotovskiy, Nikita},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {37},
  year      = {2024}
}
@software{dimfree,
  title   = {dimfree: differentially private means},
  version = {%s}
}"""


def bibtex() -> str:
    return _BIBTEX % dict(versions()).get("dimfree", "unknown")


def versions() -> list[tuple[str, str]]:
    """Versions of the software that wrote the page. A record does not say which version made it."""
    return [("Python", platform.python_version()), *((name, _version(name)) for name in PACKAGES)]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a source tree
        return "not installed as a package"


def fingerprint(release: Release | Means) -> str:
    """SHA-256 of the release record as --json writes it: it shows that a page and a record belong together."""
    return hashlib.sha256(release.to_json().encode("utf-8")).hexdigest()


def code_of(release: Release | Means) -> str:
    """A call that makes such a release. What the record does not contain is an ellipsis."""
    call, first = ("release_mean", release) if isinstance(release, Release) else ("release_means", release.overall)
    known = first is not None and first.method in ("recentred", "stable", "soft", "basic")
    if isinstance(release, Means):
        known = shape_source(release) == "given"
    lines = [f"    epsilon={release.guarantee.epsilon!r}, delta={release.guarantee.delta!r},"]
    if call == "release_means":
        lines.insert(0, _groups_line(release))
    if known:
        lines.append("    covariance=…,  # public knowledge of the spread")
    if first is not None and first.method == "paper":
        lines.append('    shape="paper",')
    return "\n".join(["import dimfree", "", f"release = dimfree.{call}(", "    X,  # the table",
                      *lines, *_promise_lines(release.guarantee), ")"])  # fmt: skip


def _groups_line(release: Release | Means) -> str:
    if isinstance(release, Means) and release.key_costs is not None:
        return '    groups=…, keys="private",  # the column of the groups; their names are released, too'
    return "    groups=…, keys=[…],  # the column of the groups, and their public names"


def _promise_lines(guarantee: Guarantee) -> list[str]:
    lines = []
    if guarantee.neighbours is not Neighbours.ADD_REMOVE:
        lines.append(f'    neighbours="{guarantee.neighbours}",')
    if guarantee.unit == "person":
        lines.append(
            f"    unit={guarantee.unit_column!r}," if guarantee.unit_column else "    unit=…,  # whose each row is"
        )
    if guarantee.unit_rows is not None:
        lines.append(f"    unit_rows={guarantee.unit_rows},")
    if guarantee.each_column:
        lines.append('    on_missing="column",')
    return lines
