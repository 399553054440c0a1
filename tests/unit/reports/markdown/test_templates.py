from __future__ import annotations

import dataclasses
import re

import pytest
from jinja2 import DictLoader, Environment, nodes
from markupsafe import Markup

from paths import REPOSITORY
from showcase import showcase
from skillgym_action.reports.markdown.failures import FailureGroup
from skillgym_action.reports.markdown.figures import ReportTotals
from skillgym_action.reports.markdown.report import CompiledTemplates, RunningView, environment, summary
from skillgym_action.reports.markdown.rows import COMMENT, SUMMARY, Part, Row, RowBudget
from skillgym_action.reports.markdown.sections import ChangedSuites, Edit, RowSection
from skillgym_action.reports.markdown.statements import Block, Table
from skillgym_action.reports.markdown.view import BaselineChanges, ChangeKind, View, verdict_of, view_of
from users_templates import rendered_elsewhere

TEMPLATES = sorted((REPOSITORY / "templates").glob("*.md.j2"))
ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Block, nodes.Include, nodes.Extends,
    nodes.Name, nodes.Getattr, nodes.Const,
)  # fmt: skip


def logic(source):
    """The nodes that do more than place what the view holds."""
    return [
        type(node).__name__
        for node in environment().parse(source).find_all(nodes.Node)
        if not isinstance(node, ALLOWED)
    ]


DOCUMENT = (REPOSITORY / "docs/reference/reports.md").read_text(encoding="utf-8")


def blocks(name):
    (source,) = [path.read_text(encoding="utf-8") for path in TEMPLATES if path.name == name]
    return [block.name for block in environment().parse(source).find_all(nodes.Block)]


def test_every_block_is_documented_and_no_other():
    table = DOCUMENT.split("| Block | Content |")[1].split("\n\n")[0]
    cells = [line.split(" | ")[0] for line in table.splitlines()]
    assert [name for cell in cells for name in re.findall(r"`(\w+)`", cell)] == blocks("summary.md.j2")
    assert set(blocks("running.md.j2")) == {"head", "facts"}


def test_every_value_is_documented_and_no_other():
    known = {field.name for field in dataclasses.fields(View)} | {
        field.name for field in dataclasses.fields(RunningView)
    }
    assert set(re.findall(r"`view\.(\w+)`", DOCUMENT)) == known
    parts = (Row, Part, RowSection, FailureGroup, Edit, Block, ChangedSuites, Table, BaselineChanges, ChangeKind)
    named = set(re.findall(r"`(\w+)`", DOCUMENT))
    assert {field.name for part in parts for field in dataclasses.fields(part)} - named == set()


@pytest.mark.slow
def test_the_example_of_the_document_works(tmp_path):
    (example,) = re.findall(r"```jinja\n(.*?)```", DOCUMENT, re.DOTALL)
    (tmp_path / "summary.md.j2").write_text(example)
    with rendered_elsewhere(tmp_path) as templates:
        markdown = "".join(summary(showcase(), templates=templates))
    assert markdown.startswith(
        "# Skills: ❌ Worse than run 0a1b2c: 78% →\u00a062% of attempts pass\n**1 of 14 results newly fails"
    )
    assert "\n### Why\n" in markdown


def test_there_are_templates():
    assert [path.name for path in TEMPLATES] == ["comment.md.j2", "error.md.j2", "running.md.j2", "summary.md.j2"]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_holds_no_logic(path):
    assert logic(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source", ["{{ a | safe }}", "{% set a = 1 %}", "{{ a + 1 }}", "{% if a == 1 %}{% endif %}", "{{ a() }}"]
)
def test_logic_is_seen(source):
    assert logic(source) != []


def test_every_block_has_a_name_of_the_view():
    assert blocks("summary.md.j2") == [
        "head", "table", "changes", "notes", "uplift", "leaks", "addressing", "suites_from", "changed_suites",
        "failed", "evidence", "unexpected", "no_result", "grid", "quarantined", "reused", "mixed",
        "warnings", "skipped", "expected", "passed", "left_out", "certainty", "facts", "provenance",
    ]  # fmt: skip


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from strings(item)
    else:
        for field in dataclasses.fields(value):
            yield from strings(getattr(value, field.name))


def test_every_string_of_the_view_is_escaped_already():
    figures = ReportTotals.of(showcase())
    views = [view_of(figures, RowBudget(65_000), extent) for extent in (SUMMARY, COMMENT)]
    assert {type(text) for view in (*views, verdict_of(figures)) for text in strings(view)} == {Markup}


def compiled_in(folder, source="{{ 1 }} of {{ 2 }}", *, writes=True):
    """What a template renders whose compiled form is kept in a folder, and the names of the files there."""
    env = Environment(loader=DictLoader({"a": source}), bytecode_cache=CompiledTemplates(folder, writes=writes))
    return env.get_template("a").render(), [path.name for path in folder.iterdir()] if folder.exists() else []


@pytest.fixture
def compiled(tmp_path):
    return tmp_path / "compiled"


def test_a_compiled_template_is_kept_and_used(compiled):
    text, (kept,) = compiled_in(compiled)
    before = (compiled / kept).stat().st_ino
    assert (text, *compiled_in(compiled)) == ("1 of 2", "1 of 2", [kept])
    assert (compiled / kept).stat().st_ino == before  # a template that is compiled again replaces the file


def test_a_compiled_template_of_another_content_is_not_used(compiled):
    compiled_in(compiled)
    assert compiled_in(compiled, "{{ 3 }}")[0] == "3"


@pytest.mark.parametrize("cut", [0, 10, 25, 60, -1])
def test_a_compiled_template_that_cannot_be_read_is_made_again(compiled, cut):
    _, (kept,) = compiled_in(compiled)
    whole = (compiled / kept).read_bytes()
    (compiled / kept).write_bytes(whole[:cut])
    assert compiled_in(compiled) == ("1 of 2", [kept])
    assert (compiled / kept).read_bytes() == whole


def test_no_compiled_template_is_written_where_python_writes_no_modules(compiled):
    assert compiled_in(compiled, writes=False) == ("1 of 2", [])


def test_a_folder_that_cannot_be_written_costs_only_time(compiled):
    compiled.parent.joinpath("file").write_text("")
    assert compiled_in(compiled.parent / "file" / "compiled") == ("1 of 2", [])
