"""Packages with plug-ins, installed without a network: what an installer writes, in a folder of PYTHONPATH."""

from __future__ import annotations

import shutil
import tomllib
from typing import TYPE_CHECKING

from paths import REPOSITORY
from scratch import written

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = REPOSITORY / "examples" / "plugin"
Points = dict[str, dict[str, str]]
"""Kind, such as ``agents`` -> name -> module."""

ECHO = (EXAMPLE / "skillgym_echo.py").read_text()
TAP = (EXAMPLE / "skillgym_tap.py").read_text()


def installed(
    site: Path, points: Points, modules: dict[str, str], *, package: str = "of-a-test", version: str = "1.0"
) -> Path:
    """The folder, with a package in it. ``modules``: name -> source."""
    folder = f"{package.replace('-', '_')}-{version}.dist-info"
    groups = (
        f"[skillgym_action.{kind}]\n" + "".join(f"{name} = {module}\n" for name, module in names.items())
        for kind, names in points.items()
    )
    files = {
        f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n",
        f"{folder}/entry_points.txt": "\n".join(groups),
        **{f"{name}.py": source for name, source in modules.items()},
    }
    return written(site, files)


def without(site: Path, package: str) -> None:
    """Uninstall what says that a package is installed."""
    for folder in site.glob(f"{package.replace('-', '_')}-*.dist-info"):
        shutil.rmtree(folder)


def example_installed(site: Path) -> Path:
    """The folder, with the package of the example in it, as its pyproject.toml describes it."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())
    described = project["project"]
    points = {group.partition(".")[2]: names for group, names in described["entry-points"].items()}
    modules = {name: (EXAMPLE / f"{name}.py").read_text() for name in project["tool"]["setuptools"]["py-modules"]}
    return installed(site, points, modules, package=described["name"], version=described["version"])
