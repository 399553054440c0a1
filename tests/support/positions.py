"""From where attacks are tried, and what comes of each there: the rows are ``attempts``, the columns positions.

In the first positions a shell runs, which tries all lines in one play. The others name files that the tool itself then
reads or writes; there each attempt that is for a file is tried as a symbolic link, an inclusion or a forged artifact.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from attempts import ATTEMPTS, POSSIBLE, REFUSED, VARIES, script
from scratch import case, suite

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from attempts import Attempt, Kept

Setting = Literal["root", "container", "composite action", "ordinary user"]
SETTINGS: tuple[Setting, ...] = ("root", "container", "composite action", "ordinary user")
IN_JOBS = frozenset({"container", "composite action"})
IN_PLAY = ("bootstrap", "agent", "test command", "grader", "hook", "suite program")
SECOND_RUN = "second run"
BY_SHELL = (*IN_PLAY, SECOND_RUN)
OF_SUITES = frozenset({"bootstrap", "grader", "hook", "suite program"})
BY_NAME = ("committed link", "template", "report template", "artifact")
POSITIONS = (*BY_SHELL, *BY_NAME)
READING = frozenset(BY_NAME)
WRITING = frozenset({"committed link"})
MEANINGS = {
    "bootstrap": "the command `workspace.bootstrap`, which runs before the agent",
    "agent": "the agent, while it works on a case",
    "test command": "a `test:` assertion that runs a program written by the agent",
    "grader": "a grader program of an AgentV suite",
    "hook": "the hook `after_each`, which runs after the session is judged and before its workspace is archived",
    "suite program": "a check of a suite in Python",
    "second run": "the agent, after another run in the same checkout has started and ended",
    "committed link": "symbolic links in the commit, in place of suites and of the run directory",
    "template": "symbolic links in a workspace template; `file:` assertions name them, and the tool archives them",
    "report template": "`include` in a report template, and symbolic links in the folder of the template",
    "artifact": "the artifact of the first workflow of a fork, with a symbolic link in place of `results.json`",
}


def attempts_of(setting: Setting) -> tuple[Attempt, ...]:
    """What is tried there by whoever has a shell."""
    return tuple(attempt for attempt in ATTEMPTS if setting in IN_JOBS or not attempt.step)


def applies(attempt: Attempt, position: str, setting: Setting) -> bool:
    """Whether the position can try it there: one by name needs a file to name."""
    if attempt.step and setting not in IN_JOBS:
        return False
    if position == SECOND_RUN:
        return setting not in IN_JOBS
    if setting == "composite action":  # by names the tool is led there as on the command line
        return position in IN_PLAY
    if position in BY_NAME:
        return bool((attempt.path and position in READING) or (attempt.folder and position in WRITING))
    return True


def expected(attempt: Attempt, position: str, setting: Setting) -> Kept:
    """What comes of it."""
    if position in BY_NAME:
        return REFUSED
    if setting == "ordinary user":
        return attempt.ordinary
    by_design = (attempt.suites and position in OF_SUITES) or (attempt.judges and position == "suite program")
    return POSSIBLE if by_design else REFUSED


def kept_of(tried: Iterable[Attempt], reached: Collection[str]) -> dict[str, Kept]:
    """What came of each attempt, by its words."""
    return {attempt.words: POSSIBLE if attempt.words in reached else REFUSED for attempt in tried}


def disagreements(found: Mapping[str, Mapping[str, Kept]], setting: Setting) -> list[str]:
    """Where something else came of an attempt than is documented."""
    told = []
    for position, cells in found.items():
        for attempt in ATTEMPTS:
            kept = cells.get(attempt.words)
            wanted = expected(attempt, position, setting)
            if kept is not None and wanted not in {kept, VARIES}:
                told.append(f"{position}: {attempt.words}: {kept} and not {wanted}")
    return told


# --- the play ---------------------------------------------------------------------------------------

BESIDE, PART = ("leave", "work"), "bench/2-attack.json"
PROGRAM = """\
import subprocess
import sys
from skillgym_action import Suite

suite = Suite("program")

@suite.case("judged", prompt="rest")
def judged(report, ctx):
    command = ["sh", "attack.sh", "attack", "suite program"]
    subprocess.run(command, cwd=report.cwd, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=True)
"""
JUDGES = """\
from skillgym_action import Suite

suite = Suite("program")

@suite.case("judged", prompt="rest")
def judged(report, ctx):
    pass
"""


def play(attempts: Iterable[Attempt], mark: str, **places: str | Path) -> dict[str, str | None]:
    """The files of a checkout in which everybody attacks, one after the other, beside an agent that works.

    ``places``: see ``attempts.script``. To be run two sessions at a time.
    """
    text = script(attempts, mark, **places)
    attack = "sh attack.sh attack"
    graded = ["sh", "-c", f'cd "$AGENTV_WORKSPACE_PATH" && {attack} grader >&2 && echo \'{{"score": 1}}\'']
    hooked = ["sh", "-c", f'cd "$SKILLGYM_WORKSPACE" && {attack} hook']
    agentv = {
        "tests": [{"id": "graded", "input": "rest", "assertions": [{"type": "code-grader", "command": graded}]}],
        "workspace": {"template": "template", "hooks": {"after_each": {"command": hooked}}},
    }
    attacked = case("attacked", ({"test": f"{attack} 'test command'"},), prompt="attack agent")
    return {
        "skillgym.config.yaml": _runner(text),
        "attack.sh": text,
        "bench/1-beside.json": suite(*(case(part, ("no-file:nothing",), prompt=part) for part in BESIDE)),
        PART: suite(attacked, workspace={"bootstrap": f"{attack} bootstrap"}),
        "bench/3/EVAL.yaml": json.dumps(agentv),
        "bench/3/template/attack.sh": text,
        "bench/4_suite.py": PROGRAM,
        "bench/5-end.json": suite(case("finish", ("no-file:nothing",), prompt="finish")),
        "bench/checks.py": "ANSWER = 42",
        "bench/core.json": None,
    }


def play_of_two(attempts: Iterable[Attempt], mark: str, **places: str | Path) -> dict[str, str | None]:
    """The same for an agent that begins once it is told that another run has ended."""
    waits = case("attacked", ("no-file:nothing",), prompt=f"wait_and_attack {SECOND_RUN}")
    text = script(attempts, mark, **places)
    return {
        "skillgym.config.yaml": _runner(text),
        "bench/1-beside.json": suite(*(case(part, ("no-file:nothing",), prompt=part) for part in BESIDE)),
        PART: suite(waits),
        "bench/5-end.json": suite(case("finish", ("no-file:nothing",), prompt="finish")),
        "bench/4_suite.py": JUDGES,
        "bench/checks.py": "ANSWER = 42",
        "bench/core.json": suite(case("second", ("no-file:nothing",), prompt="rest")),
    }


def _runner(text: str) -> str:
    """An agent that is told its part by the prompt. It is no file, which would have to be reached."""
    told = 'part=${1%% *}; position=${1#"$part"}; set -- "$part" ${position:+"${position# }"}'
    return json.dumps(
        {
            "runners": {
                "sh": {"agent": {"type": "command", "command": ["sh", "-c", f"{told}\n{text}", "sh", "{prompt}"]}}
            }
        }
    )


# --- tables -----------------------------------------------------------------------------------------


def of_positions() -> Iterator[tuple[str, ...]]:
    """The columns, for the documentation."""
    yield "Position", "Meaning"
    yield from MEANINGS.items()


def of_attempts() -> Iterator[tuple[str, ...]]:
    """The table of the documentation."""
    yield "Attempt", *POSITIONS
    for attempt in ATTEMPTS:
        yield f"{attempt.area}: {attempt.words}", *(_cell(attempt, position) for position in POSITIONS)


def _cell(attempt: Attempt, position: str) -> str:
    """``R``, ``U``, ``P`` or nothing; see the legend in the documentation."""
    settings = [setting for setting in SETTINGS if applies(attempt, position, setting)]
    if not settings:
        return "–"  # noqa: RUF001
    found = {setting: expected(attempt, position, setting) for setting in settings}
    own = {kept for setting, kept in found.items() if setting != "ordinary user"}
    if POSSIBLE in own:
        return "P"
    return {POSSIBLE: "U", VARIES: "M"}.get(found.get("ordinary user", REFUSED), "R")


# --- from inside the containers of sessions ---------------------------------------------------------

IN_CONTAINER = ("bootstrap", "agent", "test command")
"""The positions that are in the container of a session; graders and checks run outside of it, as without one."""
OWN_OF_USER = frozenset({"reopen the log file of the attacker's own output through `/proc/PID/fd`"})  # a pipe there
OWN_OF_ROOT = OWN_OF_USER | {
    "become root with `sudo`, `su` or `doas`",
    "change Node.js, npm, git, Python or the shell",
    "change user accounts, the loader or the startup files of shells",
    "schedule a program with cron",
    "move the attacker's process to another control group",  # in a folder in memory; the groups in it are read-only
    "add a program to a folder in `PATH`",
    "read `/etc/shadow`",
    "in the attacker's own session, replace the folders that the tool reads",
    "gain privileges from a setuid or setgid program",
}
SEARCH = "  until found_other; do sleep 0.1; done\n  found_host\n"


def of_the_container(user: str) -> frozenset[str]:
    """What succeeds there by design: it reaches the container itself, which is removed after the session."""
    return OWN_OF_ROOT if user == "0:0" else OWN_OF_USER


def in_container(attempts: Iterable[Attempt], mark: str, user: str, **places: str | Path) -> dict[str, str | None]:
    """A checkout whose only session runs in a container, and attacks from there.

    No process of the machine can be found there, so the script is given what it would have found: ``pid`` in ``places``
    is one of the machine, ``others`` a folder that an agent of the machine works in.
    """
    pid, others = places.pop("pid"), places.pop("others")
    known = f"  TOOL={pid} SUPERVISOR={pid} OTHER={pid} HOST={pid} OTHERS_WORKSPACE={others}\n"
    text = script(attempts, mark, **places)
    assert SEARCH in text
    text = text.replace(SEARCH, known)
    attacked = case("attacked", ({"test": "sh attack.sh attack 'test command'"},), prompt="attack agent", timeout=240)
    bootstrap = "sh attack.sh attack bootstrap"
    workspace = {"image": "python:3.12-slim", "network": "none", "user": user, "bootstrap": bootstrap}
    return {
        "skillgym.config.yaml": _runner(text),
        "attack.sh": text,
        PART: suite(attacked, workspace=workspace),
        "bench/checks.py": "ANSWER = 42",
        "bench/core.json": None,
    }


def of_containers() -> Iterator[tuple[str, ...]]:
    """The table of the documentation: what succeeds in a container, which reaches the container alone."""
    yield "Attempt", "as root in the container", "as another user of the image"
    for attempt in ATTEMPTS:
        if attempt.words in OWN_OF_ROOT | OWN_OF_USER:
            cells = ("P" if attempt.words in own else "R" for own in (OWN_OF_ROOT, OWN_OF_USER))
            yield f"{attempt.area}: {attempt.words}", *cells
