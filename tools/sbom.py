"""Parts of a wheel of graphio, as CycloneDX: tools/graphio-ml.cdx.json, which wheels carry.

python tools/sbom.py           writes it
python tools/sbom.py --check   says whether it is up to date

A wheel holds graphio and, linked into its native module, cinfer; nothing of others. Its metadata
has what it needs besides; `make sbom` lists that as it is installed.
"""

from __future__ import annotations

import argparse
import sys
import uuid

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from release import ROOT, found

SBOM = ROOT / "tools" / "graphio-ml.cdx.json"
#: any fixed number: the same contents give the same file
NAMESPACE = uuid.UUID("7c1d5c9e-64a4-4d5b-8f39-2b8f1a5a9c11")


def component(name: str, about: str, version: str) -> Component:
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=name,
        description=about,
        licenses=[LicenseExpression("Apache-2.0")],
    )


def contents() -> str:
    """The file's text."""
    match = found(ROOT, "pyproject.toml")
    assert match is not None
    version = match[1]
    package = component("graphio-ml", "Python package graphio", version)
    package.purl = PackageURL("pypi", None, "graphio-ml", version)
    library = component("cinfer", "C library, linked into graphio/cinfer/_native", version)
    bom = Bom(components=[library], serial_number=uuid.uuid5(NAMESPACE, version))
    bom.metadata.component = package
    bom.metadata.timestamp = None  # type: ignore[assignment]
    bom.register_dependency(package, [library])
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        SBOM.write_text(contents())
    elif SBOM.read_text() != contents():
        print(f"{SBOM.relative_to(ROOT)} is stale: python {sys.argv[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
