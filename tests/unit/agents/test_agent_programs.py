"""Programs of agents that need another Node.js, whose package has another name now, or that lack another program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from agent_clis import search_path
from scratch import environment
from skillgym_action.agents import AGENTS
from skillgym_action.agents.installation import AgentInstalls, allows, check_with_node, notes_on_program, package_of
from skillgym_action.model.errors import InstallError
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher
from table_rows import each_row

if TYPE_CHECKING:
    from collections.abc import Iterator

PI, OLD_PI = "@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"
REMEDY = "put a Node.js of such a version on the PATH, or set a version of the agent that needs no newer one"
STARTS, DIES = "echo 1.6.0", "echo SyntaxError in pi-1.6.0, Node.js v20.20.2 >&2; exit 1"


def program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return folder / name


def installed(folder: Path, agent: str, script: str, **said: Any) -> Path:
    """The folder on the PATH with an agent's program, as npm installs it: a link to a file of its package."""
    package = folder / "lib" / "node_modules" / "a-package"
    file = program(package / "bin", "cli", script)
    known = {"name": AGENTS[agent].package, "version": "1.6.0"}
    (package / "package.json").write_text(json.dumps(known | said))
    (folder / "bin").mkdir()
    (folder / "bin" / str(AGENTS[agent].executable)).symlink_to(file)
    return folder / "bin"


@contextmanager
def door(*folders: Path) -> Iterator[AgentInstalls]:
    cancelled = Cancellation()
    env = environment(PATH=os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"]))
    with ProcessLauncher(environment=env, cancelled=cancelled) as processes:
        yield AgentInstalls(processes, env)
    cancelled.close()


def told(tmp_path: Path, script: str, node: str, *, agent: str = "pi", **said: Any) -> tuple[str, ...] | str:
    """The notes on an installed program, or why it does not work."""
    place = installed(tmp_path / "agent", agent, script, **said)
    with door(place, program(tmp_path / "node", "node", f"echo {node}").parent) as installs:
        try:
            return notes_on_program(installs, agent, (), None)
        except InstallError as error:
            return str(error).replace(str(place), "BIN")


NEEDS = f"{PI} 1.6.0 needs Node.js >=22.19.0, and PATH has 20.20.2"
ENGINES = {"engines": {"node": ">=22.19.0"}}


@pytest.mark.parametrize(
    ("script", "node", "said", "expected"),
    [
        pytest.param(STARTS, "v24.19.0", ENGINES, (), id="new enough"),
        pytest.param(DIES, "v20.20.2", ENGINES, f"pi: BIN/pi does not start: {NEEDS}; {REMEDY}", id="too old"),
        pytest.param(STARTS, "v20.20.2", ENGINES, (f"pi: {NEEDS}; it starts all the same",), id="too old, but starts"),
        pytest.param(
            DIES,
            "",
            ENGINES,
            f"pi: BIN/pi does not start: {NEEDS.replace('20.20.2', 'none')}; {REMEDY}",
            id="no Node.js",
        ),
        pytest.param(STARTS, "", ENGINES, (), id="no Node.js, and none is needed"),
        pytest.param(DIES, "v20.20.2", {}, (), id="a package that says nothing"),
        pytest.param(DIES, "v20.20.2", {"engines": {"node": "lts/*"}}, (), id="a range that is not understood"),
        pytest.param(DIES, "v20.20.2", {"engines": [], "name": PI}, (), id="engines of another type"),
        pytest.param(DIES, "v20.20.2", ENGINES | {"name": "other"}, (), id="of another package"),
        pytest.param(
            STARTS,
            "v24.19.0",
            ENGINES | {"name": OLD_PI},
            (f"pi: BIN/pi is of {OLD_PI}, which is now named {PI}",),
            id="of a package that was renamed",
        ),
    ],
)
def test_a_program_that_cannot_work_here_says_why(tmp_path, script, node, said, expected):
    found = told(tmp_path, script, node, **said)
    place = str(tmp_path / "agent" / "bin")
    assert (found if isinstance(found, str) else tuple(note.replace(place, "BIN") for note in found)) == expected


def test_the_search_path_of_the_sessions_decides(tmp_path):
    place = installed(tmp_path / "agent", "pi", DIES, **ENGINES)
    old = program(tmp_path / "old", "node", "echo v20.20.2").parent
    with door(program(tmp_path / "new", "node", "echo v24.19.0").parent) as installs:
        assert notes_on_program(installs, "pi", (str(place / "pi"),), None) == ()
        with pytest.raises(InstallError, match=r"PATH has 20\.20\.2"):
            notes_on_program(installs, "pi", (str(place / "pi"),), f"{old}:/usr/bin:/bin")


def test_a_program_in_a_container_is_tried_with_the_node_that_it_gets_there(tmp_path):
    cli = installed(tmp_path / "agent", "pi", DIES, **ENGINES) / "pi"
    old = program(tmp_path / "old", "node", f'[ "$1" = --version ] && echo v20.20.2 || {{ {DIES}; }}')
    new = program(tmp_path / "new", "node", '[ "$1" = --version ] && echo v24.19.0 || echo 1.6.0')
    with door() as installs:
        check_with_node(installs, "pi", cli, new)
        with pytest.raises(InstallError, match=r"does not start: .* needs Node.js >=22.19.0, and PATH has 20.20.2"):
            check_with_node(installs, "pi", cli, old)


OPENCODE = 'case "$*" in --version) echo 1.18.33;; "debug rg files --limit 1") exit {code};; *) exit 9;; esac'


@pytest.mark.parametrize(
    ("code", "has_rg", "expected"),
    [
        pytest.param(1, True, (), id="it is there"),
        pytest.param(
            0, False, ("opencode: rg is not on PATH, so the agent downloads it in each session",), id="downloaded"
        ),
        pytest.param(
            1,
            False,
            "opencode needs rg, which is not on PATH, and which it could not download; install rg where PATH finds it",
            id="neither",
        ),
    ],
)
def test_an_agent_without_a_program_that_it_needs(tmp_path, code, has_rg, expected):
    folder = installed(tmp_path / "agent", "opencode", OPENCODE.format(code=code))
    if has_rg:
        program(folder, "rg", "exit 0")
    node = program(tmp_path / "node", "node", "echo v24.0.0").parent
    with door(folder, node) as installs:
        path = f"{folder}:{node}"  # the machine may have one
        try:
            found: Any = notes_on_program(installs, "opencode", (str(folder / "opencode"),), path)
        except InstallError as error:
            found = str(error)
    assert found == expected


def test_only_a_program_under_the_agents_name_is_asked_for_what_it_needs(tmp_path):
    other = program(tmp_path, "wrapper", "exit 1")
    with door() as installs:
        assert notes_on_program(installs, "opencode", (str(other),), str(tmp_path)) == ()
        assert notes_on_program(installs, "command", ("sh", "-c", "true"), None) == ()


@each_row(
    [
        ("no JSON", "{"),
        ("not an object", "[]"),
        ("no version", '{"name": "a"}'),
        ("deep", "[" * 100_000),
        ("not text", b'\xff{"name": "a", "version": "1"}'),
    ]
)
def test_a_package_that_cannot_be_read_says_nothing(said):
    with TemporaryDirectory() as place:
        file = program(Path(place) / "a" / "bin", "cli", "exit 0")
        content = said if isinstance(said, bytes) else said.encode()
        (file.parents[1] / "package.json").write_bytes(content)
        assert package_of(file) is None


def test_the_package_of_a_program_is_the_nearest_with_a_name(tmp_path):
    file = program(tmp_path / "package" / "dist" / "bin", "cli", "exit 0")
    (tmp_path / "package" / "dist" / "package.json").write_text('{"type": "module"}')
    (tmp_path / "package" / "package.json").write_text('{"name": "a", "version": "1.0.0"}')
    (tmp_path / "package.json").write_text('{"name": "b", "version": "1.0.0"}')
    found = package_of(file)
    assert found is not None
    assert found.name == "a"


# --- ranges of versions -----------------------------------------------------------------------------

RANGES = (
    *("", "*", "x", "22", "22.x", "22.19", "22.19.x", "v22.19.0", "=22.19.0", "22.19.0"),
    *(">=22", ">=22.0.0", ">= 22.19", ">22", ">22.18", ">22.18.9", "<22", "<=22", "<22.19.0", "<=22.19.0", "<=22.18"),
    *("^22", "^22.18", "^22.18.5", "^0.3.1", "^0.0.3", "^0", "~22", "~22.18", "~22.18.5", "~0.3"),
    *(">=20 <22", ">=20.6.0 <23", "^20.19.0 || >=22.12.0", "18 || 20 || >=22", "^20.19||^22.12||>=24"),
)
VERSIONS = (
    "0.0.3",
    "0.3.1",
    "0.3.9",
    "16.0.0",
    "18.20.8",
    "20.6.0",
    "20.20.2",
    "21.7.3",
    "22.0.0",
    "22.12.0",
    "22.18.0",
)
VERSIONS += ("22.18.5", "22.18.9", "22.19.0", "22.19.1", "23.0.0", "24.19.0")
SEMVER = "const [, file, given] = process.argv; const { satisfies } = require(file)\n"
SEMVER += "const { ranges, versions } = JSON.parse(given)\n"
SEMVER += "console.log(JSON.stringify(ranges.map((range) => versions.map((version) => satisfies(version, range)))))"


@pytest.mark.slow
def test_ranges_mean_what_they_mean_to_npm():
    """npm's own module for ranges is the reference."""
    npm = shutil.which("npm", path=search_path())
    assert npm is not None
    module = Path(npm).resolve().parents[1] / "node_modules" / "semver"
    given = json.dumps({"ranges": RANGES, "versions": VERSIONS})
    command = ("node", "-e", SEMVER, str(module), given)
    printed = subprocess.run(command, env={"PATH": search_path()}, capture_output=True, text=True, check=True).stdout
    expected = {
        (wanted, version): is_in
        for wanted, row in zip(RANGES, json.loads(printed), strict=True)
        for version, is_in in zip(VERSIONS, row, strict=True)
    }
    assert {(wanted, version): allows(wanted, version) for wanted, version in expected} == expected


@each_row((text, text) for text in ("lts/*", "node 22", ">=22, <24", "20 - 22", ">=", "latest", ">=22.0.0-rc.1"))
def test_a_range_that_is_not_understood_decides_nothing(wanted):
    assert allows(wanted, "22.0.0") is None
    assert allows(f">=18 || {wanted}", "22.0.0") is None
