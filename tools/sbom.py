"""The packages of requirements.lock as a software bill of materials (CycloneDX 1.6): `make sbom`.

The same lock gives the same file, byte for byte: no time of day, and a serial number that is a digest of the lock.
"""

import json
import re
import tomllib
import uuid
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUT = ROOT / "dist" / "sbom.cdx.json"
ENTRY = re.compile(
    r"^(?P<name>[a-z0-9._-]+)==(?P<version>[^\s;\\]+)(?: ; (?P<marker>[^\\\n]+?))? \\\n"
    r"(?P<hashes>(?:    --hash=.*\n)+)",
    re.MULTILINE,
)


def main() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(bill(lock, project), indent=2) + "\n", encoding="utf-8")
    print(OUT.relative_to(ROOT))


def bill(lock: str, project: dict[str, Any]) -> dict[str, Any]:
    itself = {"type": "library", **identity(project["name"], project["version"])}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, project['version'] + lock)}",
        "version": 1,
        "metadata": {"component": itself | {"licenses": [{"license": {"id": project["license"]}}]}},
        "components": [component(entry) for entry in ENTRY.finditer(lock)],
    }


def component(entry: re.Match[str]) -> dict[str, Any]:
    """A locked package. The hashes are those of all its files, of which an installation takes one."""
    hashes = sorted(re.findall(r"sha256:([0-9a-f]{64})", entry["hashes"]))
    marker = [{"name": "python:marker", "value": entry["marker"]}] if entry["marker"] else []
    return {
        "type": "library",
        **identity(entry["name"], entry["version"]),
        "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
        **({"properties": marker} if marker else {}),
    }


def identity(name: str, version: str) -> dict[str, str]:
    address = f"pkg:pypi/{name}@{version}"
    return {"bom-ref": address, "name": name, "version": version, "purl": address}


if __name__ == "__main__":
    main()
