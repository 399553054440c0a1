"""What an arm puts into the agent's home, beside the settings that the tool itself writes there.

A file that both write, such as ``.codex/config.toml`` with an MCP server, has the settings of both.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillgym_action.model.arm import Arm, OverlayFile
    from skillgym_action.workspaces.workspace import SessionWorkspace

_FIRST_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


class HomeConflictError(Exception):
    """A file of the arm does not go together with the one that the tool writes; the message says why."""


def write_home(workspace: SessionWorkspace, arm: Arm | None, own: Mapping[Path, str]) -> None:
    """Write the files of the arm into the session's home, but those that the tool writes (``own``). Raises OSError."""
    for file in arm.home if arm else ():
        if workspace.home / file.path not in own:
            workspace.write_home(file.path, file.content, file.mode)


def with_arm_settings(own: Mapping[Path, str], home: Path, arm: Arm | None) -> Mapping[Path, str]:
    """The files that the tool writes, with what the arm adds to them. Raises HomeConflictError."""
    added = {home / file.path: file for file in arm.home} if arm else {}
    if arm is None or added.keys().isdisjoint(own):
        return own
    return {path: _merged(text, added[path], arm) if path in added else text for path, text in own.items()}


def _merged(own: str, file: OverlayFile, arm: Arm) -> str:
    where = f"arms.{arm.name}.home: {file.path}"
    try:
        text = file.content.decode()
        if file.path.endswith(".json"):
            return json.dumps(_united(json.loads(own), json.loads(text), ()))
        if file.path.endswith(".toml"):
            return _toml(own, text)
    except _SetTwiceError as error:
        raise HomeConflictError(f"{where} sets {error}, which skillgym-action sets itself; leave it out") from error
    except (ValueError, RecursionError) as error:
        message = f"{where} cannot be joined with the settings that skillgym-action writes: {error}"
        raise HomeConflictError(message) from error
    raise HomeConflictError(f"{where} is written by skillgym-action itself; leave it out")


class _SetTwiceError(Exception):
    """The key is set to different values."""


def _united(own: Any, added: Any, at: tuple[str, ...]) -> Any:
    """Both values: mappings key by key, lists one after the other. Raises _SetTwiceError."""
    if isinstance(own, dict) and isinstance(added, dict):
        both = {key: _united(own[key], added[key], (*at, key)) for key in own if key in added}
        return {**own, **added, **both}
    if isinstance(own, list) and isinstance(added, list):
        return [*own, *(item for item in added if item not in own)]
    if own != added:
        raise _SetTwiceError(".".join(at) or "another value")
    return own


def _toml(own: str, added: str) -> str:
    """Both texts: keys of the arm that are in no table come before the first table.

    Raises TOMLDecodeError, _SetTwiceError; ValueError if the joined text would say something else than both.
    """
    import tomllib

    both = _united(tomllib.loads(own), tomllib.loads(added), ())
    first = _FIRST_TABLE.search(added)
    keys, tables = (added[: first.start()], added[first.start() :]) if first else (added, "")
    text = f"{keys.rstrip()}\n{own.rstrip()}\n\n{tables}" if keys.strip() else f"{own.rstrip()}\n\n{tables}"
    if tomllib.loads(text) != both:  # a line of a text of several lines may look like the beginning of a table
        raise ValueError("a line that begins with [ is in a text of several lines")
    return text
