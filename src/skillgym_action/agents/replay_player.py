"""The player of recorded sessions; run as a program: ``replay.py SESSIONS WORKSPACE KEY...``.

Applies what a recorded session changed to the workspace, then prints its session report with the recorded workspace's
path replaced by the present one; over many lines, since readers cut long ones. The last part of KEY is ``repeat-N``,
the one before it the runner. Standard input: a JSON object with the case's ``prompt``, its ``turns`` (a list of texts,
empty unless it is a conversation) and ``root``, the path of the repository that it is read from, or "".
Standard library only. Exit codes: 66 no recording of this case with this prompt, 65 one that cannot be played.
"""

# pathlib would add to the time this takes to start, and it starts once for each session.
# ruff: noqa: PTH101, PTH103, PTH106, PTH108, PTH112, PTH113, PTH114, PTH115, PTH116, PTH118, PTH119, PTH120, PTH123, PTH211

from __future__ import annotations

import json
import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NO_RECORDING, UNPLAYABLE = 66, 65
# Not in limits.py: this program runs without the package.
MAX_FILE_CHARACTERS = 16 * 1024 * 1024
MAX_FILE_BRACKETS, MAX_FILE_COMMAS = 500_000, 1_000_000
REPORTS = ("report.json", "partial-report.json")  # the latter of sessions that were ended in the middle
MASK = "***"  # what secrets in recordings are replaced with
LAST_SAID = "@[User]:\n"  # before the last message in the prompt of a later turn, which repeats what was said


def main(argv: list[str]) -> int:
    """The exit code."""
    sessions, workspace, *key = argv
    try:
        case = json.loads(sys.stdin.read())
        folder = recording(sessions, key)
        report = read_report(folder)
        check_prompt(report, case, os.path.relpath(folder, sessions))
        apply(os.path.join(folder, "changes"), deleted_in(folder), os.path.realpath(workspace))
        link(links_in(folder), os.path.realpath(workspace))
        text = json.dumps(moved(report, report.get("cwd"), workspace), indent=0)
    except LookupError as error:
        sys.stderr.write(f"{error.args[0]}\n")
        return NO_RECORDING
    except (OSError, ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        sys.stderr.write(f"the recording cannot be played: {reason}\n")
        return UNPLAYABLE
    sys.stdout.write(text + "\n")
    return 0


def recording(sessions: str, key: list[str]) -> str:
    """The folder of a recording. Raises LookupError, naming the folder looked for.

    Another runner's recording is played where it is the only one, the first repetition where there are not as many,
    and the last session of a repetition, which decided it.
    """
    *above, runner, repetition = key
    case = os.path.join(sessions, *above)
    wanted = os.path.join(case, runner, repetition)
    if not sessions:
        raise LookupError("no folder of recorded sessions is set (agent.sessions)")
    runners = folders(case)
    if runner not in runners and len(runners) == 1:
        runner = runners[0]
    for name in (repetition, "repeat-1"):
        found = os.path.join(case, runner, name)
        retries = sorted(folders(found, r"session-\d+"), key=lambda name: int(name.rpartition("-")[2]))
        found = os.path.join(found, *retries[-1:])
        if any(os.path.isfile(os.path.join(found, name)) for name in REPORTS):
            return found
    raise LookupError(f"no recorded session in {wanted}")


def read_report(folder: str) -> dict[str, object]:
    """The recorded session report. Raises OSError, ValueError."""
    name = next((name for name in REPORTS if os.path.isfile(os.path.join(folder, name))), REPORTS[0])
    report = read_json(os.path.join(folder, name))
    if isinstance(report, dict):
        return report
    raise ValueError(f"{name} is not a session report")


def check_prompt(report: Mapping[str, Any], case: Mapping[str, Any], name: str) -> None:
    """Raises LookupError for a recording of another prompt than the case has now. ``name``: of its folder."""
    if not is_of_case(report, case):
        raise LookupError(
            "recorded with another prompt than the case has now; run the case again, or record it again: the recording "
            f"is {name}"
        )


def is_of_case(report: Mapping[str, Any], case: Mapping[str, Any]) -> bool:
    """Whether the agent of the recorded session got the case's prompt, in a conversation that of each of its turns.

    A recording that does not say which prompt it got is one of the case.
    """
    cwd, root, turns = report.get("cwd"), case["root"], case["turns"]
    exchanges = report.get("exchanges")
    exchanges = exchanges if turns and isinstance(exchanges, list) else []
    recorded = [one.get("prompt") if isinstance(one, dict) else None for one in exchanges]
    pairs = [(recorded[0] if recorded else report.get("prompt"), case["prompt"])]
    for prompt, turn in zip(recorded[1:], turns[1:], strict=False):
        if isinstance(prompt, str) and turn.strip():
            pairs.append((prompt.rpartition(LAST_SAID)[2].strip(), turn.rpartition(LAST_SAID)[2].strip()))
    return len(recorded) <= len(turns) and all(
        not isinstance(prompt, str) or not prompt or same_prompt(prompt, now, cwd, root) for prompt, now in pairs
    )


def same_prompt(recorded: str, now: str, cwd: object, root: str) -> bool:
    """Whether two prompts are equal, apart from what differs between machines and in recordings.

    That is: the path of the repository, the path ``cwd`` of the recorded workspace, and the secrets in the recording.
    """
    return (
        recorded == now
        or (isinstance(cwd, str) and is_renamed(recorded, cwd, now))
        or is_renamed(now, root, recorded)
        or is_masked(recorded, now)
    )


def is_renamed(text: str, folder: str, other: str) -> bool:
    """Whether ``other`` is the text with another absolute path in place of ``folder``, the same one everywhere."""
    pieces = text.split(folder) if len(folder) > 1 else [text]
    begin, count = len(pieces[0]), len(pieces) - 1
    if not count:
        return False
    name = other[begin : begin + max(0, len(other) - sum(map(len, pieces))) // count]
    return name.startswith("/") and "\n" not in name and name.join(pieces) == other


def is_masked(recorded: str, now: str) -> bool:
    """Whether the recorded text is the present one with masks in place of parts of it."""
    first, *pieces = recorded.split(MASK)
    if not pieces or not now.startswith(first):
        return False
    at = len(first)
    for piece in pieces[:-1]:
        found = now.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return now.endswith(pieces[-1]) and at + len(pieces[-1]) <= len(now)


def folders(path: str, pattern: str = ".+") -> list[str]:
    """Names of the folders in a folder; none when there is no such folder."""
    if not os.path.isdir(path):
        return []
    return [entry.name for entry in os.scandir(path) if entry.is_dir() and re.fullmatch(pattern, entry.name)]


def deleted_in(folder: str) -> list[str]:
    """Paths that the session deleted. Raises ValueError when not all of its changes are in the recording."""
    summary = summary_of(folder)
    if not summary.get("complete", True):
        raise ValueError("the recording lacks files that the session changed")
    deleted = summary.get("deleted", [])
    if not isinstance(deleted, list) or not all(isinstance(path, str) for path in deleted):
        raise ValueError("workspace.json: deleted is not a list of paths")
    return deleted


def links_in(folder: str) -> dict[str, str]:
    """The links out of the workspace that the session made: path -> target."""
    links = summary_of(folder).get("links", {})
    if not isinstance(links, dict) or not all(isinstance(target, str) for target in links.values()):
        raise ValueError("workspace.json: links is not an object with paths")
    return links


def summary_of(folder: str) -> Any:
    """What changed in the session's workspace; empty if the recording does not have it. Raises OSError, ValueError."""
    file = os.path.join(folder, "workspace.json")
    summary = read_json(file) if os.path.isfile(file) else {}
    if isinstance(summary, dict):
        return summary
    raise ValueError("workspace.json is not an object")


def apply(changes: str, deleted: list[str], workspace: str) -> None:
    """Delete, then copy; symbolic links are copied as such. Raises ValueError for a path that leads out."""
    for path in deleted:
        remove(inside(workspace, path))
    for folder, names, others in os.walk(changes):
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]
        for name in sorted([*others, *links]):
            source = os.path.join(folder, name)
            copy(source, inside(workspace, os.path.relpath(source, changes)))


def link(links: dict[str, str], workspace: str) -> None:
    """Make links, replacing what is there. Raises ValueError for a path outside of the workspace."""
    for path, target in links.items():
        location = inside(workspace, path)
        remove(location)
        os.makedirs(os.path.dirname(location), exist_ok=True)
        os.symlink(target, location)


def inside(workspace: str, path: str) -> str:
    """The absolute path in the workspace; only its last part may be a symbolic link."""
    location = os.path.normpath(os.path.join(workspace, path))
    parent = os.path.realpath(os.path.dirname(location))
    if not location.startswith(workspace + os.sep) or os.path.commonpath([parent, workspace]) != workspace:
        raise ValueError(f"{path} leads out of the workspace")
    return location


def copy(source: str, target: str) -> None:
    """One file or symbolic link, with its permissions, replacing what is there.

    A file can be changed in a folder that is not writable, hence that is opened for as long as it takes.
    """
    folder = os.path.dirname(target)
    os.makedirs(folder, exist_ok=True)
    mode = os.stat(folder).st_mode & 0o7777
    if mode != mode | 0o300:
        os.chmod(folder, mode | 0o300)
    try:
        remove(target)
        if os.path.islink(source):
            os.symlink(os.readlink(source), target)
            return
        with open(source, "rb") as recorded, open(target, "xb") as file:
            while chunk := recorded.read(1024 * 1024):
                file.write(chunk)
        os.chmod(target, os.stat(source).st_mode & 0o777)
    finally:
        if mode != mode | 0o300:
            os.chmod(folder, mode)


def remove(path: str) -> None:
    """Copy a file, a symbolic link or a folder; do nothing if it does not exist."""
    if os.path.isdir(path) and not os.path.islink(path):
        for entry in list(os.scandir(path)):
            remove(entry.path)
        os.rmdir(path)
    elif os.path.lexists(path):
        os.unlink(path)


def moved(value: object, before: object, after: str) -> object:
    """The value with the folder ``before`` renamed to ``after`` in all its strings."""
    if not isinstance(before, str) or len(before) <= 1:
        return value
    folder = re.compile(re.escape(before) + r"(?![\w-])")

    def renamed(value: object) -> object:
        if isinstance(value, str):
            return folder.sub(lambda _: after, value)
        if isinstance(value, list):
            return [renamed(item) for item in value]
        return {key: renamed(item) for key, item in value.items()} if isinstance(value, dict) else value

    return renamed(value)


def read_json(path: str) -> Any:
    """The JSON value of a file. Raises OSError, ValueError; RecursionError for what is nested too deeply."""
    with open(path, encoding="utf-8") as file:
        text = file.read(MAX_FILE_CHARACTERS + 1)
    if (
        len(text) > MAX_FILE_CHARACTERS
        or sum(map(text.count, "[{")) > MAX_FILE_BRACKETS
        or text.count(",") > MAX_FILE_COMMAS
    ):
        raise ValueError(f"{os.path.basename(path)} is too large")
    return json.loads(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
