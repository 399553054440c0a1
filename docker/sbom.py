"""Prints what the image holds, as CycloneDX: Debian's packages, Python's, Node.js and npm's. Run inside the image.

It looks at what is there, not at what was asked for. Nothing but Python is needed, since every user of the action
builds the image: ``python sbom.py NAME NODE_FOLDER``.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from importlib.metadata import distributions, version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
FIELDS = "${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\n"


def main(name: str, node: Path) -> None:
    """Print it, sorted and without the time, so that equal images have equal lists."""
    image = {"type": "container", "name": name, "version": version(name)}
    found = [*_debian(), *_python(), *_node(node)]
    unique = {component["purl"]: component for component in found}
    bom = {**FORMAT, "metadata": {"component": image}, "components": [unique[purl] for purl in sorted(unique)]}
    json.dump(bom, sys.stdout, indent=1)


def _component(kind: str, name: str, of: str, group: str = "", qualifiers: str = "") -> dict[str, str]:
    """``kind`` is the type of its package URL, ``group`` what comes before its name there."""
    path = "/".join(quote(part, safe="") for part in (kind, *filter(None, [group]), name))
    purl = f"pkg:{path}@{quote(of, safe=':')}{qualifiers}"
    told = {"type": "library", "bom-ref": purl, "name": name, "version": of, "purl": purl}
    return {**told, "group": group} if group and kind != "deb" else told


def _debian() -> Iterator[dict[str, str]]:
    release = platform.freedesktop_os_release()
    listed = subprocess.run(("dpkg-query", "--show", "-f", FIELDS), check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        status, name, of, architecture = line.split("\t")
        if status.startswith("ii"):
            qualifiers = f"?arch={architecture}&distro={release['ID']}-{release['VERSION_ID']}"
            yield _component("deb", name, of, release["ID"], qualifiers)


def _python() -> Iterator[dict[str, str]]:
    yield _component("generic", "python", platform.python_version())
    for one in distributions():
        yield _component("pypi", one.name.lower().replace("_", "-").replace(".", "-"), one.version)


def _node(folder: Path) -> Iterator[dict[str, str]]:
    told = subprocess.run((folder / "bin" / "node", "--version"), check=True, capture_output=True, text=True).stdout
    yield _component("generic", "node", told.strip().removeprefix("v"))
    for file in folder.glob("lib/node_modules/**/package.json"):
        package = json.loads(file.read_text(encoding="utf-8"))
        inside = file.parent.as_posix().rpartition("node_modules/")[2]
        if "version" in package and package.get("name") == inside:  # else it only says how a folder is to be read
            group, _, name = inside.rpartition("/")
            yield _component("npm", name, package["version"], group)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
