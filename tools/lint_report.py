"""Checks scripts and styles of HTML pages, and programs of the tests: rules with Biome, types with TypeScript.

Exit code 1 if one complains. ``python tools/lint_report.py`` installs both from npm once, in versions that do
not move.
"""

from __future__ import annotations

import subprocess
import sys

import modules_of_tests
from npm_packages import node_modules
from paths import REPOSITORY

BIOME, TYPESCRIPT = "2.6.8", "5.9.3"
RULES = REPOSITORY / "tests/browser"
SCRIPT = REPOSITORY / "templates/report.js"
STYLES = tuple(REPOSITORY / f"templates/{name}.css" for name in ("report", "trend"))
PROGRAMS = tuple(REPOSITORY / f"tests/support/{name}.mjs" for name in ("browser", "markdown", "palette"))
TYPES = ("--noEmit", "--checkJs", "--allowJs", "--strict", "--target", "es2022", "--lib", "es2023,dom,dom.iterable")


def main() -> int:
    """Run both, whatever the first one finds."""
    biome = node_modules(f"biome-{BIOME}", f"@biomejs/biome@{BIOME}") / "@biomejs/biome/bin/biome"
    typescript = node_modules(f"typescript-{TYPESCRIPT}", f"typescript@{TYPESCRIPT}") / "typescript/bin/tsc"
    rules = ("lint", "--error-on-warnings", f"--config-path={RULES}", *STYLES, SCRIPT, *PROGRAMS)
    commands = (("node", biome, *rules), ("node", typescript, *TYPES, SCRIPT))
    return max(min(subprocess.run(command, check=False).returncode, 1) for command in commands)


if __name__ == "__main__":
    sys.exit(main())
