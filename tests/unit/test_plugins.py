"""The interface of plug-ins: what it has, and its checks, which the tool's own agents, formats and reporters pass."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from captured import AGENTS, FOLDER
from goldens import interface_of_plug_ins
from paths import GOLDENS, REPOSITORY
from scratch import case, suite, written
from skillgym_action import plugins
from skillgym_action.agents import agent_named
from skillgym_action.model.plugin_table import PluginTable
from skillgym_action.plugins import Transcript, Trouble, check_agent, check_format, check_reporter
from skillgym_action.reports import REPORTERS, reporter_named
from skillgym_action.suites import format_named


def test_the_interface_is_as_it_was():
    """A change is a decision: if a plug-in may fail after it, ``API`` rises. ``tools/goldens.py`` writes the file."""
    assert interface_of_plug_ins() == (GOLDENS / "plug-ins.txt").read_text(encoding="utf-8")


# --- the checks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*AGENTS, "command"])
def test_agents_of_the_tool_pass(name):
    recorded = [file.read_text() for file in sorted(FOLDER.glob(f"{name}/*/stdout.jsonl"))]
    assert check_agent(agent_named(name), recorded or ["an answer"]) == []


@pytest.mark.parametrize("name", REPORTERS)
def test_reporters_of_the_tool_pass(name):
    assert check_reporter(reporter_named(name)) == []


FORMATS = {
    "x-bench": ("a.bench.json", suite(case()), {"b.bench.json": suite(case()).replace("prompt", "promt")}),
    "agentv": ("a.eval.yaml", "tests:\n- id: a\n  input: b\n  criteria: c\n", {"b.eval.yaml": "tests:\n- id: a\n"}),
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats_of_the_tool_pass(tmp_path, name):
    path, text, mistakes = FORMATS[name]
    written(tmp_path, {path: text, **mistakes})
    assert check_format(format_named(name), tmp_path, [path], mistakes) == []


def changed(agent: object, **changes: object) -> SimpleNamespace:
    """An agent of the tool in which some functions are others."""
    names = ("invocation", "transcript", "trouble", "progress", "event_reader", "resume")
    return SimpleNamespace(**{name: getattr(agent, name) for name in names} | changes)


COMMAND = agent_named("command")


def raises(*_: object) -> None:
    raise ValueError("no")


AGENT_MISTAKES = {
    "another folder": (
        {"invocation": lambda session: replace(COMMAND.invocation(session), cwd=session.home)},
        ["invocation: the folder or the timeout is not that of the session"],
    ),
    "no prompt": (
        {"resume": lambda session, _: replace(COMMAND.invocation(session), stdin=None)},
        ["resume: the prompt is not in the arguments, on stdin, or in a file"],
    ),
    "no event": (
        {"transcript": lambda capture, session: replace(COMMAND.transcript(capture, session), events=("a",))},
        ["'said': 'a' is not an event"],
    ),
    "an unknown trouble": (
        {"trouble": lambda *_: Trouble(kind="other", message="a")},
        ["'said': the trouble other is unknown"],
    ),
    "reads nothing": (
        {"transcript": lambda *_: Transcript(events=())},
        ["'said': nothing was read", "a process that was killed and printed nothing has no trouble"],
    ),
}


@pytest.mark.parametrize(("changes", "expected"), AGENT_MISTAKES.values(), ids=AGENT_MISTAKES)
def test_a_mistake_of_an_agent_is_found(changes, expected):
    found = check_agent(changed(COMMAND, **changes), ["said"])
    assert [line for line in expected if line not in found] == []


def test_what_a_plug_in_raises_is_raised():
    for functions in ({"progress": raises}, {"event_reader": raises}, {"transcript": raises}):
        with pytest.raises(ValueError, match="no"):
            check_agent(changed(COMMAND, **functions), ["said"])
    with pytest.raises(ValueError, match="no"):
        check_reporter(raises)


def test_a_mistake_of_a_reporter_is_found():
    found = check_reporter(lambda report: [report.warnings[0].message])
    assert found == ["the text has the control characters ['\\x00', '\\r', '\\x1b']"]


def test_mistakes_of_a_format_are_found(tmp_path):
    written(tmp_path, {"good.bench.json": suite(case("one")), "bad.bench.json": "{", "other.txt": "a"})
    xbench = format_named("x-bench")
    found = check_format(xbench, tmp_path, ["bad.bench.json", "other.txt"], ["good.bench.json"])
    assert {line.partition(":")[0] for line in found} == {"bad.bench.json", "other.txt", "good.bench.json"}
    assert {"other.txt: is not accepted", "good.bench.json: the mistake is not reported with its place"} < {*found}
    broken = SimpleNamespace(accepts=xbench.accepts, suite=raises)
    with pytest.raises(ValueError, match="no"):
        check_format(broken, tmp_path, ["good.bench.json"], [])


# --- the table --------------------------------------------------------------------------------------


def test_a_table_has_its_own_names_and_no_others_without_a_package():
    table = PluginTable("agents", {"a": 1}, (), lambda _: 2)
    assert (dict(table), table.get("b"), "b" in table, None in table, len(table)) == ({"a": 1}, None, False, False, 1)
    with pytest.raises(KeyError):
        table["b"]


def test_the_number_of_the_interface_is_in_the_example_and_in_the_page():
    texts = [file.read_text() for file in (REPOSITORY / "examples" / "plugin").glob("*.py")]
    texts.append((REPOSITORY / "docs" / "how-to" / "plug-ins.md").read_text())
    assert [text for text in texts if f"\nAPI = {plugins.API}\n" not in text] == []
