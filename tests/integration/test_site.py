"""The documentation site: all documents are pages, links lead somewhere, and it has the JSON Schemas."""

from __future__ import annotations

import json
import posixpath
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import lxml.html
import pytest
import yaml

from built_site import build, built, copied
from paths import REPOSITORY
from scratch import git_in, skillgym
from skillgym_action.authoring.starter.suites import SUITE_FORMATS
from skillgym_action.cli.commands.schema import SCHEMAS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    return built(tmp_path_factory.mktemp("site"))


def test_every_document_is_a_page_and_in_the_navigation(site):
    documents = {path.relative_to(REPOSITORY / "docs").as_posix() for path in (REPOSITORY / "docs").rglob("*.md")}
    settings = yaml.load((REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)
    listed = {*re.findall(r"'([\w/.-]+\.md)'", str(settings["nav"]))}
    assert listed == documents | {"index.md"}
    assert [path for path in listed if not (site / path).with_suffix(".html").is_file()] == []


def test_the_first_page_is_the_readme_with_links_that_fit(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    assert "Test coding agents in your pull requests" in page
    assert 'href="reference/x-bench.html"' in page
    assert 'src="images/comment-light.png"' in page
    assert 'href="https://github.com/org/skillgym-action/blob/main/examples"' in page
    assert (site / "images/comment-light.png").is_file()


def test_pages_ask_no_other_server(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    assert 'data-md-component="source"' not in page
    loaded = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"?(https?://[^\"\s>]+)", page)
    assert [address for address in loaded if "org.github.io" not in address] == []


def test_the_schemas_are_published(site):
    for name, make in SCHEMAS.items():
        schema = make()
        if isinstance(schema, dict):
            assert json.loads((site / "schemas/v1" / f"{name}.json").read_text(encoding="utf-8")) == schema


def test_tables_have_names_for_all_columns_pictures_have_texts_and_no_heading_level_is_left_out(site):
    problems = []
    for path in sorted(site.rglob("*.html")):
        document = lxml.html.parse(path, lxml.html.HTMLParser(encoding="utf-8"))
        (main,) = document.xpath("//main") or [document.getroot()]
        found = [
            f"{one.tag} {one.get('src', '')}" for one in main.xpath(".//th[not(normalize-space())] | .//img[not(@alt)]")
        ]
        levels = [int(one.tag[1]) for one in main.xpath(".//article//*[self::h1 or self::h2 or self::h3 or self::h4]")]
        found += [f"h{below} below h{above}" for above, below in pairwise([0, *levels]) if below > above + 1]
        problems += [f"{path.relative_to(site)}: {one}" for one in found]
    assert problems == []


def test_every_page_is_at_most_two_clicks_from_the_first_one(site):
    page = lxml.html.parse(site / "index.html")
    linked = {posixpath.normpath(link) for link in page.xpath("//nav[contains(@class, 'md-nav--primary')]//a/@href")}
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - {"404.html", "index.html"}
    assert pages - linked == set()


@pytest.mark.parametrize("suite_format", [name for name in SUITE_FORMATS if name != "skill-evals"])
def test_the_addresses_that_init_writes_are_files_of_the_site(site, tmp_path, suite_format):
    """Also with the address of the site that its settings name."""
    git_in(tmp_path, "init", "--quiet")
    ran = skillgym("init", "--format", suite_format, "--agent", "claude-code", cwd=tmp_path)
    assert ran.code == 0, ran
    files = [path for path in tmp_path.rglob("*") if path.is_file() and ".git" not in path.parts]
    written = {address for path in files for address in re.findall(r"https://[^\s\"]+\.json", path.read_text())}
    settings = yaml.load((REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)
    assert len(written) == (2 if suite_format == "x-bench" else 1)
    for address in written:
        assert address.startswith(settings["site_url"])
        file = site / address.removeprefix(settings["site_url"])
        assert json.loads(file.read_text(encoding="utf-8"))["$id"] == address


@pytest.mark.parametrize("link", ["nowhere.md", "../reference/limits.md#nowhere"])
def test_a_link_that_leads_nowhere_is_an_error(tmp_path, link):
    folder = copied(tmp_path)
    page = folder / "docs/explanation/statistics.md"
    page.write_text(f"{page.read_text(encoding='utf-8')}\n[there]({link})\n", encoding="utf-8")
    assert build(folder).returncode == 1
