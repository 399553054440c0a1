"""Users' report templates: what is read of their folder, and what the process that renders them can do."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from jinja2 import meta
from jinja2.filters import FILTERS

from action_step import step
from builders import run_report
from github_server import JOB_TOKEN
from markdown_structure import shown
from scratch import case, config, repository, runner, skillgym, started, suite, written
from showcase import showcase
from skillgym_action.model.errors import ConfigError, Problem
from skillgym_action.reports.markdown.report import PACKAGED, comment, environment, summary
from skillgym_action.reports.user_templates.renderer import PARTS, template_sources
from users_templates import rendered_elsewhere
from waiting import LIMIT, until

SECRET = "s3cret-value-of-the-job"
TOP = "summary.md.j2"
GREEN = run_report("edit passed")
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}\n{% for c in range(99999) %}"
ENDLESS += "{% endfor %}{% endfor %}{% endfor %}"
ENDS = "; correct the report template; the built-in one is used instead"


# --- the folder ---------------------------------------------------------------------------------------


def link(name, target):
    def make(root):
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    return make


def large(name, size):
    return lambda root: written(root, {name: "x" * size})


def several_large(root):
    written(root, {f"tpl/{number}.txt": "x" * 1_000_000 for number in range(9)})


def many(root):
    written(root, {f"tpl/{number}.txt": "" for number in range(501)})


def deep(root):
    (root / "tpl" / Path(*"abcdefghijklmnopqrstu")).mkdir(parents=True)


def fifo(root):
    (root / "tpl").mkdir()
    os.mkfifo(root / "tpl/pipe.j2")


def file(root):
    written(root, {"tpl": "x"})


REFUSED = [
    pytest.param(link("tpl/environ", "/proc/self/environ"), "tpl", "tpl/environ: a symbolic link", id="link to a file"),
    pytest.param(link("tpl/inner.j2", "summary.md.j2"), "tpl", "tpl/inner.j2: a symbolic link", id="link inside"),
    pytest.param(link("tpl/sub/all", "/proc/self"), "tpl", "tpl/sub/all: a symbolic link", id="link to a folder"),
    pytest.param(link("tpl", "/proc/self"), "tpl", "--template-dir tpl: tpl is a symbolic link", id="the folder"),
    pytest.param(
        link("a", "/proc"), "a/self", "--template-dir a/self: a is a symbolic link", id="a component in the middle"
    ),
    pytest.param(link("a", "."), "a/tpl/../tpl", "a is a symbolic link", id="a link to where it is"),
    pytest.param(link("tpl", ".git"), "tpl", "--template-dir tpl: tpl is a symbolic link", id="link to .git"),
    pytest.param(large(".git/x", 1), ".git", ".git leads into .git", id=".git"),
    pytest.param(large("sub/.GIT/x/y", 1), "sub/.GIT/x", "sub/.GIT leads into .git", id="below .git"),
    pytest.param(fifo, "tpl", "tpl/pipe.j2: not a regular file", id="a FIFO"),
    pytest.param(file, "tpl", "tpl: this folder of report templates cannot be read: Not a directory", id="a file"),
    pytest.param(several_large, "tpl", "tpl/8.txt: report templates have at most 8,388,608 bytes", id="large together"),
    pytest.param(many, "tpl", "tpl: more than 500 files and folders", id="many"),
    pytest.param(deep, "tpl", "folders of report templates are at most 20 deep", id="deep"),
]


@pytest.mark.parametrize(("make", "named", "message"), REFUSED)
def test_what_a_commit_must_not_put_into_the_folder_ends_the_run_before_anything_is_spent(
    tmp_path, make, named, message
):
    root = repository(tmp_path / "repo")
    make(root)
    ran = skillgym("run", "--output", "out", "--template-dir", named, cwd=root, API_TOKEN=SECRET)
    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert message in ran.err.splitlines()[0]
    assert not (root / "out").exists()
    assert SECRET not in ran.out + ran.err


def test_a_device_is_not_opened(tmp_path):
    written(tmp_path, {"tpl/x": ""})
    with pytest.raises(ConfigError, match=r"^/dev/\w+: (not a regular file|a symbolic link)"):
        template_sources(Path("/dev"), tmp_path, committed=False)


@pytest.mark.parametrize("named", ["../outside", "/proc/self", "/etc"])
def test_a_configuration_of_the_checkout_names_no_folder_outside(tmp_path, named):
    written(tmp_path, {f"outside/{TOP}": "outside"})
    with pytest.raises(ConfigError, match="outside the repository; move it into the repository, or name it with"):
        template_sources(tmp_path / "repo" / named, tmp_path / "repo", committed=True)


def test_the_configuration_and_the_actions_input_are_refused_alike(tmp_path):
    config = 'report: {templates: ../x}\nrunners: {sh: {agent: {type: command, command: "echo > out.txt"}}}\n'
    root = repository(tmp_path / "repo", {"skillgym.config.yaml": config})
    ran = skillgym("run", "--output", "out", cwd=root)
    assert (ran.code, (root / "out").exists()) == (2, False)
    assert "report.templates: .. leads out of the checkout" in ran.err
    other = repository(tmp_path / "other")
    link("tpl/environ", "/proc/self/environ")(other)
    done = step(other, inputs={"template-dir": "tpl", "mode": "run"})
    assert done.code == 2
    assert "tpl/environ: a symbolic link among the report templates; use a real folder or file" in done.said
    assert JOB_TOKEN not in done.log + done.said + done.summary


def test_what_the_workflow_names_outside_the_checkout_is_read(tmp_path):
    written(tmp_path, {f"outside/{TOP}": "outside", "outside/sub/a.j2": "a", "repo/x": ""})
    (tmp_path / "other").symlink_to("outside")
    for name in ("outside", "other"):
        found = template_sources(tmp_path / name, tmp_path / "repo", committed=False)
        assert found.texts == {TOP: "outside", "sub/a.j2": "a"}


def test_a_way_into_the_checkout_from_outside_is_walked_like_any_other(tmp_path):
    written(tmp_path, {f"repo/tpl/{TOP}": "x", "repo/x": ""})
    (tmp_path / "repo/bad").symlink_to("/etc")
    (tmp_path / "way").symlink_to("repo")
    assert template_sources(tmp_path / "way/tpl", tmp_path / "repo", committed=True).texts == {TOP: "x"}
    with pytest.raises(ConfigError, match="bad: a symbolic link on the way"):
        template_sources(tmp_path / "way/bad", tmp_path / "repo", committed=False)


def test_the_top_of_a_repository_may_be_the_folder_without_what_is_gits(tmp_path):
    written(tmp_path, {TOP: "x", ".git/config": "authorization"})
    assert template_sources(tmp_path, tmp_path, committed=True).texts == {TOP: "x"}


@pytest.mark.slow
def test_a_picture_beside_templates_is_no_error_unless_it_is_rendered(tmp_path):
    written(tmp_path, {TOP: '{% include "logo.png" %}', "comment.md.j2": "fine", "logo.png": b"\x89PNG\xff"})
    with rendered_elsewhere(tmp_path) as templates:
        assert shown(comment, GREEN, templates=templates).endswith("fine\n")
        with pytest.raises(ConfigError, match=r"^logo\.png:1: this file is not UTF-8 text;"):
            shown(summary, GREEN, templates=templates)


@pytest.mark.parametrize(
    ("files", "named", "message"),
    [
        pytest.param(
            {}, "typo", "typo: there is no such folder of report templates; "
            "create it, or leave out template-dir (report.templates in the configuration)",
            id="no folder",
        ),
        pytest.param(
            {"templates/summary.md.j2": "x"}, "template", "template: there is no such folder of report templates; "
            "did you mean 'templates'?", id="a similar folder",
        ),
        pytest.param(
            {"tpl/readme": ""}, "tpl", "tpl: no file in this folder has the name of a report template; "
            "known: summary.md.j2, comment.md.j2, running.md.j2, report.html.j2", id="no template",
        ),
        pytest.param(
            {"tpl/comment.j2": ""}, "tpl", "tpl: no file in this folder has the name of a report template; "
            "rename 'comment.j2' to 'comment.md.j2'", id="a misspelt template",
        ),
        pytest.param(
            {"tpl/sub/comment.md.j2": ""}, "tpl", "tpl: no file in this folder has the name of a report template; "
            "move 'sub/comment.md.j2' to 'comment.md.j2'", id="a template in a folder of its own",
        ),
    ],
)  # fmt: skip
def test_a_folder_without_a_report_template_ends_the_run_before_anything_is_spent(tmp_path, files, named, message):
    root = repository(tmp_path / "repo", files)
    ran = skillgym("run", "--output", "out", "--template-dir", named, cwd=root)
    assert (ran.code, (root / "out").exists()) == (2, False)
    assert f"error: {message}\n" in ran.err


# --- what templates reach -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["../canary", "sub/../../canary", "/etc/passwd", "/proc/self/environ", "proc/self/environ", "{absolute}", ".git/x"],
)
def test_a_template_includes_nothing_but_templates(tmp_path, name):
    written(tmp_path, {"canary": SECRET, "tpl/.git/x": SECRET})
    name = name.format(absolute=tmp_path / "canary")
    written(tmp_path / "tpl", {TOP: f'\n{{% include "{name}" %}}'})
    with rendered_elsewhere(tmp_path / "tpl") as templates, pytest.raises(ConfigError) as caught:
        shown(summary, GREEN, templates=templates)
    assert str(caught.value) == f"{TOP}:2: there is no report template '{name}'{ENDS}"


ESCAPES = (
    "{{ view.__class__.__mro__ }}",
    "{{ view.title.__init__.__globals__ }}",
    "{{ ''.format.__self__ }}",
    "{{ '{0.__class__.__init__.__globals__}'.format(view) }}",
    "{{ cycler.__init__.__globals__.os.environ }}",
    "{{ lipsum.__globals__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ view.reasons.append(1) }}",
    "{% set a = [] %}{{ a.append(1) }}",
)


@pytest.mark.parametrize("source", ESCAPES)
def test_a_template_does_not_get_out_of_the_sandbox(tmp_path, source):
    written(tmp_path, {TOP: source})
    with rendered_elsewhere(tmp_path) as templates, pytest.raises(ConfigError, match=r"unsafe|no attribute"):
        shown(summary, GREEN, templates=templates)


@pytest.mark.slow
def test_a_filter_does_not_carry_a_secret_past_redaction(tmp_path):
    report = replace(GREEN, warnings=(Problem(message=f"it printed {SECRET}"),))
    loop = "{% for line in view.warnings.lines %}{{ line | FILTER }}{% endfor %}"
    for number, tried in enumerate(("reverse", "list | join('-')", "upper", "urlencode", "replace('s', 'z')")):
        written(tmp_path, {f"{number}/{TOP}": loop.replace("FILTER", tried)})
        with rendered_elsewhere(tmp_path / str(number)) as templates:
            whole = shown(summary, report, templates=templates)
        with rendered_elsewhere(tmp_path / str(number), SECRET) as templates:
            text = shown(summary, report, templates=templates)
        assert len(text) < len(whole)
        assert not {text, text.replace("-", "")} & {SECRET, SECRET[::-1]}
        assert "value" not in text.lower().replace("-", "")
        assert "eulav" not in text


def test_what_a_template_makes_is_redacted(tmp_path):
    half, rest = SECRET[:9], SECRET[9:]
    root = repository(tmp_path / "repo", {f"tpl/{TOP}": f"{{{{ '{half}' ~ '{rest}' }}}} {{{{ view.title }}}}"})
    ran = skillgym("run", "--output", "out", "--template-dir", "tpl", cwd=root, API_TOKEN=SECRET)
    assert ran.code == 0
    assert (root / "out/summary.md").read_text() == "*** ✅ one passes\n"
    assert (root / "out/comment.md").read_text().endswith("\n*** ✅ one passes\n")


def test_templates_are_those_that_were_there_before_agents_were(tmp_path):
    agent = runner(f"echo > out.txt; echo evil > tpl/{TOP}; ln -s /proc/self/environ tpl/comment.md.j2")
    files = {f"tpl/{TOP}": "good", "skillgym.config.yaml": config(agent, run={"cwd": "."})}
    root = repository(tmp_path / "repo", files)
    assert skillgym("run", "--output", "out", "--template-dir", "tpl", cwd=root).code == 0
    assert (root / f"tpl/{TOP}").read_text() == "evil\n"
    assert (root / "out/summary.md").read_text() == "good\n"
    assert (root / "out/comment.md").read_text().endswith("\ngood\n")


# --- the process --------------------------------------------------------------------------------------


def renderers(tool=None):
    """The processes that render report templates for a process, or for this one."""
    found = []
    for child in psutil.Process(tool).children(recursive=True):
        with suppress(psutil.Error):
            if any("render_program" in word for word in child.cmdline()):
                found.append(child)
    return found


@pytest.fixture
def member_of_groups():
    """This process is a member of groups, which it can only be given as root."""
    before = os.getgroups()
    if os.geteuid() == 0:
        os.setgroups([4, 27])
    yield
    if os.geteuid() == 0:
        os.setgroups(before)


@pytest.mark.usefixtures("member_of_groups")
def test_it_has_no_rights_no_environment_and_no_files(tmp_path):
    written(tmp_path, {TOP: "{{ view.title }}"})
    with rendered_elsewhere(tmp_path) as templates, templates.stage():
        shown(summary, GREEN, templates=templates)
        pid = renderers()[0].pid
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        own = (65534, 65534) if os.geteuid() == 0 else (os.getuid(), os.getgid())
        assert [set(map(int, status[name].split())) for name in ("Uid", "Gid")] == [{own[0]}, {own[1]}]
        if os.geteuid() == 0:
            assert (status["Groups"].split(), int(status["CapEff"], 16), int(status["CapPrm"], 16)) == ([], 0, 0)
        assert (status["NoNewPrivs"], status["Threads"]) == ("1", "1")
        assert Path(f"/proc/{pid}/environ").read_bytes() == b""
        assert sorted(path.name for path in Path(f"/proc/{pid}/fd").iterdir()) == ["0", "1", "2"]
        lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
        limits = {line[:26].strip(): line[26:].split()[:2] for line in lines}
        assert limits["Max address space"] == ["536870912"] * 2
        assert limits["Max cpu time"] == ["5"] * 2
        assert limits["Max open files"] == ["3"] * 2
        assert [limits[f"Max {name}"] for name in ("file size", "core file size", "processes")] == [["0"] * 2] * 3


@pytest.mark.slow
def test_one_process_renders_all_of_a_report_and_then_ends(tmp_path):
    written(tmp_path, {TOP: "{{ view.title }}", "running.md.j2": "x"})
    with rendered_elsewhere(tmp_path) as templates:
        with templates.stage():
            assert renderers() == []
            shown(summary, GREEN, templates=templates)
            first = renderers()
            shown(comment, showcase(), templates=templates)
            assert renderers() == first != []
        assert renderers() == []
        shown(summary, GREEN, templates=templates)
        assert renderers() == []


def test_without_a_template_that_takes_part_there_is_no_process(tmp_path):
    written(tmp_path, {"running.md.j2": "x", "README.md": "x"})
    with rendered_elsewhere(tmp_path) as templates, templates.stage():
        assert shown(summary, GREEN, templates=templates) == shown(summary, GREEN)
        assert shown(comment, GREEN, templates=templates) == shown(comment, GREEN)
        assert renderers() == []


def test_which_templates_take_part_is_what_the_packaged_ones_refer_to():
    def reached(name):
        source = environment().parse((PACKAGED / name).read_text(encoding="utf-8"))
        return {name}.union(*map(reached, meta.find_referenced_templates(source)))

    of_the_tool = {"error.md.j2", "trend.html.j2"}  # users do not replace these
    packaged = {path.name for path in PACKAGED.glob("*.j2")} - of_the_tool
    assert {name: reached(name) for name in packaged} == {name: set(parts) for name, parts in PARTS.items()}


@pytest.mark.parametrize("report", [GREEN, showcase()], ids=["green", "everything"])
def test_packaged_templates_are_rendered_as_in_the_tool_itself(tmp_path, report):
    written(tmp_path, {TOP: '{% extends "packaged/summary.md.j2" %}'})
    with rendered_elsewhere(tmp_path) as templates, templates.stage():
        assert shown(summary, report, templates=templates) == shown(summary, report)
        for limit in (65_000, 2_000, 500):
            assert shown(comment, report, templates=templates, limit=limit) == shown(comment, report, limit=limit)


@pytest.mark.slow
def test_packaged_always_means_the_packaged_one(tmp_path):
    written(tmp_path, {TOP: '{% include "packaged/summary.md.j2" %}', "packaged/summary.md.j2": "not this"})
    with rendered_elsewhere(tmp_path) as templates:
        assert shown(summary, GREEN, templates=templates) == shown(summary, GREEN)


GIVEN = {
    "abs": "-1", "attr": "view", "batch": "[1]", "dictsort": "{'a': 1}", "filesizeformat": "1", "first": "[1]",
    "groupby": "[{'a': 1}]", "items": "{'a': 1}", "join": "[1]", "last": "[1]", "map": "[1]", "max": "[1]",
    "min": "[1]", "random": "[1]", "reject": "[1]", "rejectattr": "[{'a': 1}]", "round": "1.5", "select": "[1]",
    "selectattr": "[{'a': 1}]", "slice": "[1]", "sort": "[1]", "sum": "[1]", "unique": "[1]", "xmlattr": "{'a': 1}",
}  # fmt: skip
ARGUMENTS = {
    "attr": "'title'", "batch": "1", "format": "1", "groupby": "'a'", "map": "'string'", "reject": "'odd'",
    "rejectattr": "'a'", "replace": "'a', 'b'", "select": "'odd'", "selectattr": "'a'", "slice": "1",
}  # fmt: skip


def test_every_filter_works_although_nothing_can_be_imported_any_more(tmp_path):
    lines = []
    for name in FILTERS:
        given = GIVEN.get(name, "'%s' | safe" if name == "format" else "'<b>a b</b> http://a.example'")
        lines.append(f"{name} {{{{ ({given}) | {name}({ARGUMENTS.get(name, '')}) }}}}\n")
    lines.append("lipsum {{ lipsum(1, False) }} {{ 'é' }} {{ 'a\\n' }} {{ 'a&amp;b' | safe | striptags }}")
    written(tmp_path, {TOP: "".join(lines)})
    with rendered_elsewhere(tmp_path) as templates:
        text = shown(summary, GREEN, templates=templates)
    assert {line.split()[0] for line in text.splitlines() if line} >= {*FILTERS, "lipsum"}


# --- what goes wrong ----------------------------------------------------------------------------------

TOO_DEEP = "templates, calls or expressions are nested without end, or too deep"
TOO_LONG = [
    pytest.param("a\n" + ENDLESS, f"{TOP}:3: rendering takes longer than 4 s", id="endless loops"),
    pytest.param("{{ (10**10)**(10**9) }}", f"{TOP}: rendering takes longer than 4 s", id="endless arithmetic"),
]
WRONG = [
    pytest.param("\n{{ 'x' * 10**10 }}", f"{TOP}:2: rendering takes more than 512 MiB of memory", id="10 GB"),
    pytest.param(
        "{% set n = namespace(x='x' * 1000) %}\n{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        f"{TOP}:2: rendering takes more than 512 MiB of memory",
        id="more and more memory",
    ),
    pytest.param("\n\n{{ range(10**9) | list }}", f"{TOP}:3: Range too big", id="a large range"),
    pytest.param('{% include "summary.md.j2" %}', f"{TOP}:1: {TOO_DEEP}", id="includes itself"),
    pytest.param('{% extends "summary.md.j2" %}', f"{TOP}:1: {TOO_DEEP}", id="extends itself"),
    pytest.param("{% macro a() %}\n{{ a() }}{% endmacro %}{{ a() }}", f"{TOP}:2: {TOO_DEEP}", id="a macro"),
    pytest.param("{{ " + "(" * 9_000, f"{TOP}: {TOO_DEEP}", id="deep expressions"),
    pytest.param("{% if 1 %}" * 9_000, f"{TOP}: {TOO_DEEP}", id="deep blocks"),
    pytest.param(
        "{% for a in [1] %}" * 30 + "{% endfor %}" * 30,
        f"{TOP}: it cannot be compiled: too many statically nested blocks",
        id="loops in loops",
    ),
    pytest.param(
        "{% for a in range(99) %}{{ 'x' * 99999 }}{% endfor %}", f"{TOP}: it makes more than 4 MiB", id="much text"
    ),
    pytest.param("{{ 'é' * 2200000 }}", f"{TOP}: it makes more than 4 MiB", id="much text in bytes"),
    pytest.param("{{ 1 // 0 }}", f"{TOP}:1: integer division or modulo by zero", id="division by zero"),
    pytest.param("{{ 'a'.encode('rot13') }}", f"{TOP}:1: unknown encoding: rot13", id="a codec"),
]


def told_three_times(templates, message):
    for _ in range(3):
        with pytest.raises(ConfigError) as caught:
            shown(summary, GREEN, templates=templates)
        assert str(caught.value).startswith(message)
        assert str(caught.value).endswith(ENDS)


@pytest.mark.parametrize(("source", "message"), WRONG)
def test_whatever_a_template_does_is_an_error_with_its_place(tmp_path, source, message):
    written(tmp_path, {TOP: source})
    with rendered_elsewhere(tmp_path, seconds=LIMIT) as templates, templates.stage():
        told_three_times(templates, message)


@pytest.mark.timed
@pytest.mark.parametrize(("source", "message"), TOO_LONG)
def test_a_template_without_end_is_an_error_with_its_place_within_5_seconds(tmp_path, source, message):
    written(tmp_path, {TOP: source})
    with rendered_elsewhere(tmp_path) as templates, templates.stage():
        began = time.monotonic()
        told_three_times(templates, message)
        assert time.monotonic() - began < 5


def test_an_error_takes_no_process_and_no_other_template_with_it(tmp_path):
    written(tmp_path, {TOP: "{{ 'x' * 10**10 }}", "comment.md.j2": "mine {{ view.title }}"})
    with rendered_elsewhere(tmp_path) as templates, templates.stage():
        with pytest.raises(ConfigError):
            shown(summary, GREEN, templates=templates)
        assert "mine ✅ edit passes" in shown(comment, GREEN, templates=templates)


@pytest.mark.slow
def test_a_process_that_is_killed_is_an_error_and_the_next_report_has_another(tmp_path):
    written(tmp_path, {TOP: "{{ view.title }}"})
    with rendered_elsewhere(tmp_path) as templates:
        with templates.stage():
            shown(summary, GREEN, templates=templates)
            renderers()[0].kill()
            for _ in range(2):
                with pytest.raises(ConfigError, match=r"renders report templates ended by SIGKILL"):
                    shown(summary, GREEN, templates=templates)
                assert renderers() == []
        assert shown(summary, GREEN, templates=templates) == "✅ edit passes\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "place"),
    [
        pytest.param(
            "a\n" + ENDLESS, f"{TOP}:3: rendering takes longer than 4 s", id="endless", marks=pytest.mark.timed
        ),
        pytest.param('{% include "summary.md.j2" %}', f"{TOP}:1: {TOO_DEEP}", id="includes itself"),
    ],
)
def test_the_verdict_stays_and_the_built_in_templates_are_used(tmp_path, source, place):
    files = {f"tpl/{TOP}": source, "bench/core.json": suite(case(), case("two", ("file:no exists",)))}
    root = repository(tmp_path / "repo", files)
    ran = skillgym("run", "--output", "out", "--template-dir", "tpl", cwd=root)
    assert ran.code == 1
    notes = [line for line in ran.err.splitlines() if line.startswith("note: ")]
    assert len(notes) == 1
    assert notes[0].startswith(f"note: tpl/{place}")
    for name in ("summary", "comment"):
        assert "## ❌ 1 of 2 results passes, 1 fails for 1 reason" in (root / f"out/{name}.md").read_text()


# --- cancellation -------------------------------------------------------------------------------------


def rendering_of(process):
    """What renders for a tool, once it is at it."""

    def at_it():
        for child in renderers(process.pid):
            with suppress(psutil.Error):
                if child.cpu_times().user > 0.3:
                    return child
        return None

    return until(at_it, "a process that renders")


@pytest.mark.timed
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("source", [ENDLESS, "{{ (10**10)**(10**9) }}"], ids=["loops", "arithmetic"])
def test_a_signal_ends_a_rendering_at_once(tmp_path, number, source):
    root = repository(tmp_path / "repo", {f"tpl/{TOP}": source})
    child = started("run", "--output", "out", "--template-dir", "tpl", cwd=root)
    renderer = rendering_of(child)
    child.send_signal(number)
    began = time.monotonic()
    _, err = child.communicate(timeout=30)
    assert time.monotonic() - began < 2
    assert child.returncode == 130
    assert "the run was cancelled while report templates were rendered" in err
    assert "cancelled" in (root / "out/summary.md").read_text()
    assert not renderer.is_running()


@pytest.mark.timed
def test_a_cancelled_run_still_has_a_second_for_its_templates(tmp_path):
    written(tmp_path, {f"good/{TOP}": "mine", f"bad/{TOP}": ENDLESS})
    with rendered_elsewhere(tmp_path / "good", cancelled=True) as templates:
        assert shown(summary, GREEN, templates=templates) == "mine\n"
    with rendered_elsewhere(tmp_path / "bad", cancelled=True) as templates, templates.stage():
        began = time.monotonic()
        for _ in range(3):
            with pytest.raises(ConfigError, match="1 s once the run is cancelled"):
                shown(summary, GREEN, templates=templates)
        assert time.monotonic() - began < 2


@pytest.mark.timed
def test_it_ends_with_the_tool_however_that_ends(tmp_path):
    root = repository(tmp_path / "repo", {f"tpl/{TOP}": ENDLESS})
    child = started("run", "--output", "out", "--template-dir", "tpl", cwd=root)
    renderer = rendering_of(child)
    child.kill()
    child.communicate(timeout=30)
    renderer.wait(2)  # raises when it goes on


@pytest.mark.slow
def test_threads_render_side_by_side(tmp_path):
    written(tmp_path, {TOP: "{{ view.title }}"})
    made = []
    with rendered_elsewhere(tmp_path) as templates, templates.stage():
        shown(summary, GREEN, templates=templates)
        thread = threading.Thread(target=lambda: made.append(shown(summary, GREEN, templates=templates)))
        thread.start()
        thread.join()
        assert len(renderers()) == 1
        shown(summary, GREEN, templates=templates)
    assert made == ["✅ edit passes\n"]
