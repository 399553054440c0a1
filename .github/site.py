"""Builds the documentation site: ``python .github/site.py``; the pages are in ``.cache/site/html``.

The site is made of the files of ``docs/``, of README.md as its first page, and of the JSON Schemas that the tool
prints. Links to other files of the repository lead to GitHub.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from skillgym_action.cli.commands.schema import SCHEMAS
from skillgym_action.text.documents.json_schemas import SCHEMA_FOLDER

ROOT = Path(__file__).resolve().parents[1]
DOCS, BUILT = ROOT / "docs", ROOT / ".cache" / "site"
SETTINGS = ROOT / "mkdocs.yml"
BRANCH = "blob/main"
FIRST_PAGE = "index.md"
ASKS_GITHUB = 'data-md-component="source"'  # the theme's script then requests the numbers of stars from GitHub
LINK = re.compile(r"(\]\(|\b(?:src|srcset|href)=\")(?!\w+:|#)([^)\"#\s]+)(#[^)\"\s]*)?")


def main() -> int:
    """Build the site; the exit code of the generator, which fails on links that lead nowhere."""
    shutil.rmtree(BUILT, ignore_errors=True)
    shutil.copytree(DOCS, BUILT / "docs")
    repository = yaml.load(SETTINGS.read_text(encoding="utf-8"), yaml.BaseLoader)["repo_url"]  # noqa: S506 - plain text
    for page in BUILT.glob("docs/**/*.md"):
        original = DOCS / page.relative_to(BUILT / "docs")
        page.write_text(with_site_links(original, original, repository), encoding="utf-8")
    (BUILT / "docs" / FIRST_PAGE).write_text(
        with_site_links(ROOT / "README.md", DOCS / FIRST_PAGE, repository), encoding="utf-8"
    )
    folder = BUILT / "docs" / SCHEMA_FOLDER
    folder.mkdir(parents=True)
    for name, make in SCHEMAS.items():
        schema = make()
        if isinstance(schema, dict):
            (folder / f"{name}.json").write_text(f"{json.dumps(schema, indent=2)}\n", encoding="utf-8")
    program = Path(sys.executable).with_name("zensical")
    command = [program, "build", "--strict", "--config-file", SETTINGS]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    for page in BUILT.glob("html/**/*.html"):
        page.write_text(page.read_text(encoding="utf-8").replace(ASKS_GITHUB, ""), encoding="utf-8")
    return code


def with_site_links(original: Path, page: Path, repository: str) -> str:
    """The text of a Markdown file whose relative links are right on a page: ``page``, a path in ``docs/``."""

    def link(found: re.Match[str]) -> str:
        target = (original.parent / found[2]).resolve()
        anchor = found[3] or ""
        if target == ROOT / "README.md":
            target = DOCS / FIRST_PAGE
        if target.is_relative_to(DOCS) and not target.is_dir():
            up = "../" * (len(page.relative_to(DOCS).parts) - 1)
            return f"{found[1]}{up}{target.relative_to(DOCS).as_posix()}{anchor}"
        if target.is_relative_to(ROOT) and target.exists():
            return f"{found[1]}{repository}/{BRANCH}/{target.relative_to(ROOT).as_posix()}{anchor}"
        return found[0]

    return LINK.sub(link, original.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
