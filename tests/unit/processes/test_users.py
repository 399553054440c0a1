from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from skillgym_action.model.errors import UsageError
from skillgym_action.processes.users import image_user, job_user


def me() -> str:
    return pwd.getpwuid(os.geteuid()).pw_name


def test_without_a_name_it_is_the_images_user(tmp_path):
    assert job_user(None, tmp_path) == job_user("", tmp_path) == image_user()


def test_the_owner_of_the_workspace_is_refused(tmp_path):
    with pytest.raises(UsageError, match="owns the workspace, and could read what is closed to agents"):
        job_user(me(), tmp_path)


@pytest.mark.parametrize("by", ["user", "group"])
def test_who_may_use_the_container_engine_is_refused(by, tmp_path):
    """The engine's socket is a file of that user or group; any file shows it."""
    other = next(user for user in pwd.getpwall() if user.pw_uid not in {0, os.geteuid()} and user.pw_gid)
    socket = Path("/")  # of root
    named = "root"
    workspace = tmp_path
    if os.geteuid() == 0:
        socket, named = tmp_path / "docker.sock", other.pw_name
        socket.touch()
        os.chown(socket, *((other.pw_uid, 0) if by == "user" else (0, other.pw_gid)))
    with pytest.raises(UsageError, match=f"{named} may use the container engine"):
        job_user(named, workspace, engine=socket)


def test_another_user_is_taken_and_one_that_is_not_there_is_told_later(tmp_path):
    (tmp_path / "docker.sock").touch()
    other = next(
        user for user in pwd.getpwall() if user.pw_uid not in {0, os.geteuid()} and user.pw_gid != os.getegid()
    )
    assert job_user(other.pw_name, tmp_path, engine=tmp_path / "docker.sock") == other.pw_name
    assert job_user("nobody-like-that", tmp_path) == "nobody-like-that"
