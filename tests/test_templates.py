from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from jinja2 import nodes
from markupsafe import Markup

from builders import run_report
from skillgym_action.reporters.markdown import environment
from skillgym_action.reporters.view import view_of

TEMPLATES = sorted((Path(__file__).parents[1] / "templates").glob("*.md.j2"))
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


def test_there_are_templates():
    assert [path.name for path in TEMPLATES] == ["comment.md.j2", "summary.md.j2"]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_holds_no_logic(path):
    assert logic(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source", ["{{ a | safe }}", "{% set a = 1 %}", "{{ a + 1 }}", "{% if a == 1 %}{% endif %}", "{{ a() }}"]
)
def test_logic_is_seen(source):
    assert logic(source) != []


def test_every_block_has_a_name_of_the_view():
    (source,) = [path.read_text(encoding="utf-8") for path in TEMPLATES if path.name == "summary.md.j2"]
    assert [block.name for block in environment().parse(source).find_all(nodes.Block)] == [
        "head", "runners", "failed", "unexpected", "errored", "warnings", "skipped", "expected", "passed", "provenance",
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
    view = view_of(
        run_report("edit passed\nfix failed\nold unexpected-passed\nslow errored\noff skipped\nwarning: x"), 65_000
    )
    assert {type(text) for text in strings(view)} == {Markup}
