"""The CLI of an agent as the content of a volume."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from skillgym_action.model.errors import InstallError
from skillgym_action.workspaces.session_containers import agent_bundle

if TYPE_CHECKING:
    from pathlib import Path


def installed(folder: Path) -> Path:
    """The program of a CLI in a folder, as npm installs it."""
    package, programs = folder / "node_modules/agent/bin", folder / "node_modules/.bin"
    package.mkdir(parents=True)
    programs.mkdir()
    (package / "agent").write_bytes(b"\x7fELF")
    (programs / "agent").symlink_to("../agent/bin/agent")
    return programs / "agent"


def test_a_program_is_brought_in_from_a_folder_that_is_reached_by_way_of_a_link(tmp_path):
    program = installed(tmp_path / "real" / "agent-1.0")
    (tmp_path / "agents").symlink_to("real")
    bundle = agent_bundle("agent", tmp_path / "agents" / program.relative_to(tmp_path / "real"), os.defpath)
    assert bundle.command == ("/opt/skillgym/agent/node_modules/agent/bin/agent",)
    assert "agent/node_modules/agent/bin/agent" in {entry.path for entry in bundle.entries()}


def test_a_program_outside_of_its_folder_is_refused(tmp_path):
    program = installed(tmp_path / "agent-1.0")
    program.unlink()
    program.symlink_to("/bin/sh")
    with pytest.raises(InstallError, match="leads out of"):
        agent_bundle("agent", program, os.defpath)
